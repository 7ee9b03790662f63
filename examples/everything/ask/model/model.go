// Package model passes a prompt on to the model of whoever called.
package model

import (
	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// arguments is what the tool is called with.
type arguments struct {
	// What the model is to answer.
	Prompt string `json:"prompt" jsonschema:"minLength=1"`
}

// Run asks the model.
var Run = ext.Typed(func(ctx ext.Ctx, a arguments) (ext.Outcome, error) {
	said, err := ask.Model(ctx, ask.Prompt{
		Key:       "prompt",
		Messages:  []ask.Message{{Role: ask.RoleUser, Text: a.Prompt}},
		MaxTokens: 100,
	})
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("LLM response: " + said.Text), nil
})
