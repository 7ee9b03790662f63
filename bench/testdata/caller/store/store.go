// Package store is the least that a tool with an effect can do: what is left of a call's time is the capability's.
package store

import (
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/ext"
)

type request struct {
	Times int `json:"times"`
}

const (
	key  = "value"
	size = 1 << 10
)

var value = make([]byte, size)

// Run sets one key again and again.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	for range r.Times {
		if err := kv.Set(ctx, key, value); err != nil {
			return ext.Outcome{}, err
		}
	}
	return ext.Text("done"), nil
})
