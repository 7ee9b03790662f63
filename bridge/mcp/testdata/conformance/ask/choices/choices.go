// Package choices asks for choices.
package choices

import (
	"encoding/json"
	"fmt"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// form has every way to offer a choice: one or several, with titles or without, and the way that is out of use.
var form = json.RawMessage(`{
	"type": "object",
	"properties": {
		"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
		"titledSingle": {"type": "string", "oneOf": [
			{"const": "value1", "title": "First Option"},
			{"const": "value2", "title": "Second Option"},
			{"const": "value3", "title": "Third Option"}
		]},
		"legacyEnum": {
			"type": "string",
			"enum": ["opt1", "opt2", "opt3"],
			"enumNames": ["Option One", "Option Two", "Option Three"]
		},
		"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
		"titledMulti": {"type": "array", "items": {"anyOf": [
			{"const": "value1", "title": "First Choice"},
			{"const": "value2", "title": "Second Choice"},
			{"const": "value3", "title": "Third Choice"}
		]}}
	}
}`)

// Run asks, and says what the person did.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	reply, err := ask.User(ctx, ask.Question{Key: "choices", Message: "Please choose", Schema: form})
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text(fmt.Sprintf("Elicitation completed: action=%s, content=%s", reply.Action, reply.Content)), nil
})
