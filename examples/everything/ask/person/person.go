// Package person asks the person for a name and an address.
package person

import (
	"encoding/json"
	"fmt"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// arguments is what the tool is called with.
type arguments struct {
	// What the person reads.
	Message string `json:"message" jsonschema:"minLength=1"`
}

// form is what the person fills in.
var form = json.RawMessage(`{
	"type": "object",
	"properties": {
		"username": {"type": "string", "description": "User's response"},
		"email": {"type": "string", "description": "User's email address"}
	},
	"required": ["username", "email"]
}`)

// Run asks, and says what the person did.
var Run = ext.Typed(func(ctx ext.Ctx, a arguments) (ext.Outcome, error) {
	reply, err := ask.User(ctx, ask.Question{Key: "person", Message: a.Message, Schema: form})
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text(fmt.Sprintf("User response: action=%s, content=%s", reply.Action, reply.Content)), nil
})
