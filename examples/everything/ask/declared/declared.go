// Package declared asks whoever can be asked.
package declared

import (
	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// Run asks the person, and the model where there is no person who could be asked.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	reply, err := ask.User(ctx, ask.Question{Key: "consent", Message: "Shall it be done?"})
	if err == nil {
		return ext.Text("The person chose: " + reply.Action), nil
	}
	if cap.CodeOf(err) != cap.CodeUnavailable {
		return ext.Outcome{}, err
	}
	said, err := ask.Model(ctx, ask.Prompt{
		Key:       "judgment",
		Messages:  []ask.Message{{Role: ask.RoleUser, Text: "Shall it be done?"}},
		MaxTokens: 100,
	})
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("The model says: " + said.Text), nil
})
