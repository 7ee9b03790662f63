// Package name asks the person their name.
package name

import (
	"encoding/json"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// answer is what the form gives.
type answer struct {
	Name string `json:"name"`
}

// Run asks, and greets.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	reply, err := ask.User(ctx, ask.Question{
		Key:     "user_name",
		Message: "What is your name?",
		Schema:  json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	})
	if err != nil {
		return ext.Outcome{}, err
	}
	if reply.Action != ask.Accept {
		return ext.Text("Hello, whoever you are!"), nil
	}
	var a answer
	if err := json.Unmarshal(reply.Content, &a); err != nil || a.Name == "" {
		return ext.Outcome{}, ext.Refuse("the form came back without a name; call again")
	}
	return ext.Text("Hello, " + a.Name + "!"), nil
})
