// Package rounds asks twice, the second time knowing the first answer.
package rounds

import (
	"encoding/json"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// name and color are what the two forms give.
type name struct {
	Name string `json:"name"`
}
type color struct {
	Color string `json:"color"`
}

// Run asks for a name and then for a color.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	first, err := ask.User(ctx, ask.Question{
		Key:     "step1",
		Message: "Step 1: What is your name?",
		Schema:  json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	})
	if err != nil {
		return ext.Outcome{}, err
	}
	var n name
	if first.Action != ask.Accept || json.Unmarshal(first.Content, &n) != nil {
		return ext.Text("No name, so no further question."), nil
	}
	second, err := ask.User(ctx, ask.Question{
		Key:     "step2",
		Message: "Step 2: What is your favorite color?",
		Schema:  json.RawMessage(`{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`),
	})
	if err != nil {
		return ext.Outcome{}, err
	}
	var c color
	if second.Action != ask.Accept || json.Unmarshal(second.Content, &c) != nil {
		return ext.Text(n.Name + " has no favorite color."), nil
	}
	return ext.Text(n.Name + " likes " + c.Color + "."), nil
})
