// Package read reads the same file of the workspace again and again.
package read

import (
	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/ext"
)

type request struct {
	Times int `json:"times"`
}

const (
	path = "src/file.txt"
	size = 64 << 10
)

// Run holds each text against its length.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	for range r.Times {
		text, err := fs.Read(ctx, path)
		if err != nil {
			return ext.Outcome{}, err
		}
		if len(text) != size {
			return ext.Outcome{}, ext.Refuse("%d bytes", len(text))
		}
	}
	return ext.Text("done"), nil
})
