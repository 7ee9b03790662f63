// Package gate is a gate that falls over where it is asked about the tool trip.
package gate

import (
	"context"

	"github.com/loomext/loomext/prelude/ext/hook"
)

// OnToolCall allows, or panics.
func OnToolCall(_ context.Context, call hook.Call) (hook.Verdict, error) {
	if call.Tool == "trip" {
		go func() { panic("the gate tripped") }()
		select {}
	}
	return hook.Allow, nil
}
