// Package confirm asks for a yes.
package confirm

import (
	"encoding/json"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// answer is what the form gives.
type answer struct {
	OK bool `json:"ok"`
}

// Run asks. Its text says that the answer is the one to this question, since a client that came back with another could
// not have got here.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	reply, err := ask.User(ctx, ask.Question{
		Key:     "confirm",
		Message: "Please confirm",
		Schema:  json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`),
	})
	if err != nil {
		return ext.Outcome{}, err
	}
	var a answer
	if reply.Action != ask.Accept || json.Unmarshal(reply.Content, &a) != nil || !a.OK {
		return ext.Text("not confirmed"), nil
	}
	return ext.Text("state-ok: confirmed"), nil
})
