// Package echo is the least a tool can do: what is left of a call's time is the channel's.
package echo

import (
	"encoding/json"

	"github.com/loomext/loomext/prelude/ext"
)

// Run answers with the bytes it was given.
func Run(_ ext.Ctx, args json.RawMessage) (ext.Outcome, error) {
	return ext.Text(string(args)), nil
}
