// Package fetch asks for the same document again and again.
package fetch

import (
	"github.com/loomext/loomext/prelude/cap/net"
	"github.com/loomext/loomext/prelude/ext"
)

type request struct {
	Times int `json:"times"`
}

const (
	url    = "https://origin.example.test/document"
	status = 200
	size   = 1 << 10
)

// Run holds each response against what the benchmark's origin answers.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	for range r.Times {
		response, err := net.Fetch(ctx, url)
		if err != nil {
			return ext.Outcome{}, err
		}
		if response.Status != status || len(response.Body) != size {
			return ext.Outcome{}, ext.Refuse("status %d with %d bytes", response.Status, len(response.Body))
		}
	}
	return ext.Text("done"), nil
})
