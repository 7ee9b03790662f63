// Package load gets the same value of the scratch again and again: as many bytes as package read reads, which no disk has.
package load

import (
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/ext"
)

type request struct {
	Times int `json:"times"`
}

const (
	key  = "file"
	size = 64 << 10
)

// Run puts the value there where it is not.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	for range r.Times {
		value, found, err := kv.Get(ctx, key)
		if err == nil && !found {
			value = make([]byte, size)
			err = kv.Set(ctx, key, value)
		}
		if err != nil {
			return ext.Outcome{}, err
		}
		if len(value) != size {
			return ext.Outcome{}, ext.Refuse("%d bytes", len(value))
		}
	}
	return ext.Text("done"), nil
})
