// Package capital asks the model of whoever called.
package capital

import (
	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// Run asks for a capital. Where no model can be asked, that is its answer too.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	said, err := ask.Model(ctx, ask.Prompt{
		Key:       "capital_question",
		Messages:  []ask.Message{{Role: ask.RoleUser, Text: "What is the capital of France?"}},
		MaxTokens: 100,
	})
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("The model says: " + said.Text), nil
})
