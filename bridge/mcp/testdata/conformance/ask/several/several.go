// Package several asks the person, the model and for the roots at once.
package several

import (
	"encoding/json"
	"fmt"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// Run waits once for three answers.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	said, err := ask.All(ctx,
		ask.Question{
			Key:     "user_name",
			Message: "What is your name?",
			Schema:  json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		},
		ask.Prompt{
			Key:       "greeting",
			Messages:  []ask.Message{{Role: ask.RoleUser, Text: "Generate a greeting"}},
			MaxTokens: 50,
		},
		ask.RootsRequest{Key: "client_roots"},
	)
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text(fmt.Sprintf("%s (%s %s; %d roots)", said[1].Completion.Text, said[0].Reply.Action, said[0].Reply.Content, len(said[2].Roots))), nil
})
