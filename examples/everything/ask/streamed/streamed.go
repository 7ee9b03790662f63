// Package streamed reports, and then asks.
package streamed

import (
	"encoding/json"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// Run asks in the middle of its work. What it reported before is reported again where it is called again with the answer,
// and that is all that it did before.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	ctx.Report("about to ask")
	reply, err := ask.User(ctx, ask.Question{
		Key:     "go_on",
		Message: "Shall it go on?",
		Schema:  json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`),
	})
	if err != nil {
		return ext.Outcome{}, err
	}
	ctx.Report("answered")
	return ext.Text("The person chose: " + reply.Action), nil
})
