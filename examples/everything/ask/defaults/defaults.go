// Package defaults asks with a form that is filled in beforehand.
package defaults

import (
	"encoding/json"
	"fmt"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// form has a default for every kind of field that a form may have.
var form = json.RawMessage(`{
	"type": "object",
	"properties": {
		"name": {"type": "string", "default": "John Doe"},
		"age": {"type": "integer", "default": 30},
		"score": {"type": "number", "default": 95.5},
		"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
		"verified": {"type": "boolean", "default": true}
	}
}`)

// Run asks, and says what the person did.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	reply, err := ask.User(ctx, ask.Question{Key: "profile", Message: "Please review these values", Schema: form})
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text(fmt.Sprintf("Elicitation completed: action=%s, content=%s", reply.Action, reply.Content)), nil
})
