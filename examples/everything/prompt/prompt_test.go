package prompt_test

import (
	"encoding/json"
	"testing"

	"example.com/every/prompt/asked"
	"example.com/every/prompt/document"
	"example.com/every/prompt/filled"
	"example.com/every/prompt/image"
	"example.com/every/prompt/plain"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

func TestPrompts(t *testing.T) {
	for name, c := range map[string]struct {
		tool            ext.Tool
		arguments, text string
		emitted         string // the name of what goes along
	}{
		"plain":                     {plain.Run, `{}`, "This is a simple prompt for testing.", ""},
		"filled":                    {filled.Run, `{"arg1": "hello", "arg2": "world"}`, "Prompt with arguments: arg1='hello', arg2='world'", ""},
		"filled, in a tone":         {filled.Run, `{"arg1": "a", "arg2": "b", "tone": "formal"}`, "Prompt with arguments: arg1='a', arg2='b' in a formal tone", ""},
		"document":                  {document.Run, `{"resourceUri": "test://x"}`, "Please process the embedded resource, which stands for test://x.", "document.txt"},
		"image":                     {image.Run, `{}`, "Please analyze the image.", "pixel.png"},
		"asked, and with no answer": {asked.Run, `{}`, "Go on without context.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			host := captest.New(t)
			host.Handle("ask.input", func(captest.Call) (captest.Value, error) {
				return captest.Answers(ask.Reply{Action: ask.Cancel}), nil
			})
			out, err := c.tool(host.Ctx(), json.RawMessage(c.arguments))
			if err != nil {
				t.Fatal(err)
			}
			if got := out.Content[0].(ext.TextContent).Text; got != c.text {
				t.Errorf("answered %q; want %q", got, c.text)
			}
			emitted := ""
			for _, call := range host.Calls() {
				if call.Cap == "report.emit" {
					emitted, _ = report.StringAt(call.Args, "name")
				}
			}
			if emitted != c.emitted {
				t.Errorf("emitted %q; want %q", emitted, c.emitted)
			}
		})
	}
}

func TestAPromptOfWhatThePersonSaid(t *testing.T) {
	host := captest.New(t)
	host.Handle("ask.input", func(captest.Call) (captest.Value, error) {
		return captest.Answers(ask.Reply{Action: ask.Accept, Content: json.RawMessage(`{"context":"birds"}`)}), nil
	})
	out, err := asked.Run(host.Ctx(), json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Content[0].(ext.TextContent).Text; got != "Go on with this context: birds" {
		t.Errorf("answered %q", got)
	}
}
