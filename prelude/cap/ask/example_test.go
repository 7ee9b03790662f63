package ask_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/cap/captest"
)

// remove asks before it removes, and nothing happens twice: the question comes first.
func remove(ctx context.Context, branch string) (string, error) {
	reply, err := ask.User(ctx, ask.Question{Key: "confirm", Message: "Remove the branch " + branch + "?"})
	switch {
	case cap.CodeOf(err) == cap.CodeUnavailable: // nobody can be asked here
		return "not removed: remove it by hand", nil
	case err != nil:
		return "", err
	case reply.Action != ask.Accept:
		return "not removed: the user does not want it", nil
	}
	return "removed", nil
}

func Example() {
	host := captest.Open() // a test has captest.New(t)
	defer host.End()
	host.Handle("ask.input", func(captest.Call) (captest.Value, error) {
		return captest.Answers(ask.Reply{Action: ask.Accept}), nil
	})
	fmt.Println(remove(host.Context(), "old"))

	host.Refuse("ask.input", cap.CodeUnavailable, "nobody can be asked here")
	fmt.Println(remove(host.Context(), "old"))
	// Output:
	// removed <nil>
	// not removed: remove it by hand <nil>
}

func ExampleAll() {
	host := captest.Open()
	defer host.End()
	host.Handle("ask.input", func(captest.Call) (captest.Value, error) {
		return captest.Answers(
			ask.Reply{Action: ask.Accept, Content: json.RawMessage(`{"city":"Oslo"}`)},
			ask.Completion{Text: "A city in Norway.", Model: "small", StopReason: "endTurn"},
			[]ask.Root{{URI: "file:///work", Name: "work"}},
		), nil
	})

	responses, err := ask.All(host.Context(),
		ask.Question{
			Key: "city", Message: "Which city?",
			Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		},
		ask.Prompt{Key: "about", Messages: []ask.Message{{Role: ask.RoleUser, Text: "What is Oslo?"}}, MaxTokens: 100},
		ask.RootsRequest{Key: "roots"},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(responses[0].Reply.Content), responses[1].Completion.Text, responses[2].Roots[0].URI)
	// Output: {"city":"Oslo"} A city in Norway. file:///work
}
