package ask_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/every/ask/capital"
	"example.com/every/ask/choices"
	"example.com/every/ask/confirm"
	"example.com/every/ask/declared"
	"example.com/every/ask/defaults"
	"example.com/every/ask/model"
	"example.com/every/ask/name"
	"example.com/every/ask/person"
	"example.com/every/ask/roots"
	"example.com/every/ask/rounds"
	"example.com/every/ask/several"
	"example.com/every/ask/streamed"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// answers plays whoever is asked: an answer for each key.
type answers map[string]any

// on answers what a host is asked, and gives back where the keys are kept that were asked for.
func (a answers) on(host *captest.Host) *[]string {
	asked := &[]string{}
	host.Handle("ask.input", func(call captest.Call) (captest.Value, error) {
		requests, err := report.ListAt(call.Args, "requests")
		if err != nil {
			return captest.Value{}, err
		}
		var given []any
		for _, r := range requests {
			key, err := report.StringAt(r, "key")
			if err != nil {
				return captest.Value{}, err
			}
			*asked = append(*asked, key)
			answer, ok := a[key]
			if !ok {
				return captest.Value{}, &cap.Error{Code: cap.CodeUnavailable, Msg: "nobody to ask for " + key}
			}
			given = append(given, answer)
		}
		return captest.Answers(given...), nil
	})
	return asked
}

func accepted(content string) ask.Reply {
	return ask.Reply{Action: ask.Accept, Content: json.RawMessage(content)}
}

func TestAsking(t *testing.T) {
	declined := ask.Reply{Action: ask.Decline}
	paris := ask.Completion{Text: "Paris", Model: "small", StopReason: "endTurn"}
	for what, c := range map[string]struct {
		tool      ext.Tool
		arguments string
		answers   answers
		asked     []string
		text      string
	}{
		"the model":               {capital.Run, `{}`, answers{"capital_question": paris}, []string{"capital_question"}, "The model says: Paris"},
		"the model, a prompt":     {model.Run, `{"prompt": "Where?"}`, answers{"prompt": paris}, []string{"prompt"}, "LLM response: Paris"},
		"the person":              {person.Run, `{"message": "Who?"}`, answers{"person": accepted(`{"username":"ada"}`)}, []string{"person"}, `User response: action=accept, content={"username":"ada"}`},
		"a form filled in":        {defaults.Run, `{}`, answers{"profile": accepted(`{"age":30}`)}, []string{"profile"}, `Elicitation completed: action=accept, content={"age":30}`},
		"choices":                 {choices.Run, `{}`, answers{"choices": accepted(`{"legacyEnum":"opt1"}`)}, []string{"choices"}, `Elicitation completed: action=accept, content={"legacyEnum":"opt1"}`},
		"a name":                  {name.Run, `{}`, answers{"user_name": accepted(`{"name":"Ada"}`)}, []string{"user_name"}, "Hello, Ada!"},
		"a name that is not told": {name.Run, `{}`, answers{"user_name": declined}, []string{"user_name"}, "Hello, whoever you are!"},
		"in the middle":           {streamed.Run, `{}`, answers{"go_on": declined}, []string{"go_on"}, "The person chose: decline"},
		"a yes":                   {confirm.Run, `{}`, answers{"confirm": accepted(`{"ok":true}`)}, []string{"confirm"}, "state-ok: confirmed"},
		"a no":                    {confirm.Run, `{}`, answers{"confirm": accepted(`{"ok":false}`)}, []string{"confirm"}, "not confirmed"},
		"roots":                   {roots.Run, `{}`, answers{"client_roots": []ask.Root{{URI: "file:///work", Name: "work"}}}, []string{"client_roots"}, "work file:///work"},
		"no roots":                {roots.Run, `{}`, answers{"client_roots": []ask.Root{}}, []string{"client_roots"}, "There are no roots."},
		"everybody at once": {
			several.Run, `{}`,
			answers{"user_name": accepted(`{"name":"Ada"}`), "greeting": ask.Completion{Text: "Good day"}, "client_roots": []ask.Root{}},
			[]string{"user_name", "greeting", "client_roots"}, `Good day (accept {"name":"Ada"}; 0 roots)`,
		},
		"twice": {
			rounds.Run, `{}`, answers{"step1": accepted(`{"name":"Ada"}`), "step2": accepted(`{"color":"blue"}`)},
			[]string{"step1", "step2"}, "Ada likes blue.",
		},
		"once, since the first is not answered": {rounds.Run, `{}`, answers{"step1": declined}, []string{"step1"}, "No name, so no further question."},
		"the person first":                      {declared.Run, `{}`, answers{"consent": accepted(`{}`)}, []string{"consent"}, "The person chose: accept"},
		"the model, where there is no person":   {declared.Run, `{}`, answers{"judgment": ask.Completion{Text: "Yes"}}, []string{"consent", "judgment"}, "The model says: Yes"},
	} {
		t.Run(what, func(t *testing.T) {
			host := captest.New(t)
			asked := c.answers.on(host)
			out, err := c.tool(host.Ctx(), json.RawMessage(c.arguments))
			if err != nil {
				t.Fatal(err)
			}
			if got := out.Content[0].(ext.TextContent).Text; got != c.text {
				t.Errorf("answered %q; want %q", got, c.text)
			}
			if !slices.Equal(*asked, c.asked) {
				t.Errorf("asked for %v; want %v", *asked, c.asked)
			}
		})
	}
}

func TestWhereNobodyCanBeAskedTheCallFails(t *testing.T) {
	for name, tool := range map[string]ext.Tool{
		"capital": capital.Run, "choices": choices.Run, "confirm": confirm.Run, "declared": declared.Run, "defaults": defaults.Run, "name": name.Run,
		"roots": roots.Run, "rounds": rounds.Run, "several": several.Run, "streamed": streamed.Run,
	} {
		host := captest.New(t)
		answers{}.on(host)
		if _, err := tool(host.Ctx(), json.RawMessage(`{}`)); cap.CodeOf(err) != cap.CodeUnavailable {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestAFormThatCameBackWithoutANameIsRefused(t *testing.T) {
	host := captest.New(t)
	answers{"user_name": accepted(`{}`)}.on(host)
	if _, err := name.Run(host.Ctx(), json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), "without a name") {
		t.Errorf("the error is %v", err)
	}
}
