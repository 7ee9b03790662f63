package tool

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

func form(field, kind string) json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, field, kind, field)
}

// questions asks, and answers with the answers.
func questions(ctx ext.Ctx, r request) (ext.Outcome, error) {
	switch r.Op {
	case "askuser":
		reply, err := ask.User(ctx, ask.Question{Key: "name", Message: r.Text, Schema: form("name", "string")})
		return ext.Text(reply.Action + " " + string(reply.Content)), err
	case "askmodel":
		said, err := ask.Model(ctx, ask.Prompt{Key: "model", System: "be brief", MaxTokens: 10, Messages: []ask.Message{{Role: ask.RoleUser, Text: r.Text}}})
		return ext.Text(said.Text + ", says " + said.Model), err
	case "askroots":
		roots, err := ask.Roots(ctx, "roots")
		return ext.Text(fmt.Sprint(roots)), err
	case "askall":
		all, err := ask.All(ctx,
			ask.Question{Key: "name", Message: "Who?", Schema: form("name", "string")},
			ask.Prompt{Key: "model", MaxTokens: 10, Messages: []ask.Message{{Role: ask.RoleUser, Text: "Hello"}}},
			ask.RootsRequest{Key: "roots"})
		if err != nil {
			return ext.Outcome{}, err
		}
		return ext.Text(fmt.Sprint(string(all[0].Reply.Content), all[1].Completion.Text, len(all[2].Roots))), nil
	case "asktwice":
		first, err := ask.User(ctx, ask.Question{Key: "first", Message: "Name?", Schema: form("name", "string")})
		if err != nil {
			return ext.Outcome{}, err
		}
		second, err := ask.User(ctx, ask.Question{Key: "second", Message: "Age of " + string(first.Content) + "?", Schema: form("age", "integer")})
		return ext.Text(string(first.Content) + string(second.Content)), err
	case "askwithout": // goes on where nobody answers
		_, err := ask.User(ctx, ask.Question{Key: "name", Message: "Who?"})
		return ext.Text(fmt.Sprint("without: ", err != nil)), nil
	case "askanew": // something else each time
		reply, err := ask.User(ctx, ask.Question{Key: "name", Message: fmt.Sprint("Run ", runs()), Schema: form("name", "string")})
		return ext.Text(string(reply.Content)), err
	case "askmany": // at once, and answers without waiting
		for i := range 8 {
			go func() {
				_, _ = ask.User(ctx, ask.Question{Key: "name", Message: fmt.Sprint(i), Schema: form("name", "string")})
			}()
		}
		return ext.Text("answered"), nil
	case "asknested":
		_, err := ask.User(ctx, ask.Question{Key: "name", Message: "Who?", Schema: []byte(`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`)})
		return ext.Outcome{}, err
	}
	return ext.Outcome{}, errors.New("no such op")
}

var run int

func runs() int {
	run++
	return run
}
