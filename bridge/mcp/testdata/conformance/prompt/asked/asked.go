// Package asked is a prompt that asks the person what it is to be about.
package asked

import (
	"encoding/json"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// answer is what the form gives.
type answer struct {
	Context string `json:"context"`
}

// Run asks, and makes the prompt of the answer.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	reply, err := ask.User(ctx, ask.Question{
		Key:     "user_context",
		Message: "What context should the prompt use?",
		Schema:  json.RawMessage(`{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`),
	})
	if err != nil {
		return ext.Outcome{}, err
	}
	var a answer
	if reply.Action != ask.Accept || json.Unmarshal(reply.Content, &a) != nil {
		return ext.Text("Go on without context."), nil
	}
	return ext.Text("Go on with this context: " + a.Context), nil
})
