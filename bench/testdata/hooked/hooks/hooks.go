// Package hooks does as little as hooks can: what is measured is the way to them.
package hooks

import (
	"context"
	"encoding/json"

	"github.com/loomext/loomext/prelude/ext/hook"
)

// OnToolCall allows.
func OnToolCall(context.Context, hook.Call) (hook.Verdict, error) { return hook.Allow, nil }

// OnContext gives the messages back, with one more in the run "add".
func OnContext(_ context.Context, c hook.Context) ([]json.RawMessage, error) {
	if c.OpID == "add" {
		c.Messages = append(c.Messages, json.RawMessage(`{"role":"system","content":"keep to what was asked for"}`))
	}
	return c.Messages, nil
}
