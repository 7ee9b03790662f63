package content_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/every/content/audio"
	"example.com/every/content/contact"
	"example.com/every/content/document"
	"example.com/every/content/image"
	"example.com/every/content/mixed"
	"example.com/every/content/refused"
	"example.com/every/content/region"
	"example.com/every/content/text"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// emitted is the content types of what was handed over, in order.
func emitted(t *testing.T, host *captest.Host) []string {
	t.Helper()
	var types []string
	for _, call := range host.Calls() {
		contentType, err := report.StringAt(call.Args, "content_type")
		if err != nil {
			t.Fatal(err)
		}
		data, err := report.BytesAt(call.Args, "bytes")
		if err != nil || len(data) == 0 {
			t.Errorf("nothing was emitted as %s: %v", contentType, err)
		}
		types = append(types, contentType)
	}
	return types
}

func TestContent(t *testing.T) {
	for name, c := range map[string]struct {
		tool    ext.Tool
		text    string
		emitted []string
	}{
		"text":     {text.Run, "simple text", nil},
		"image":    {image.Run, "red pixel", []string{"image/png"}},
		"audio":    {audio.Run, "silence", []string{"audio/wav"}},
		"document": {document.Run, "note", []string{"text/plain"}},
		"mixed":    {mixed.Run, "Multiple", []string{"image/png", "application/json"}},
	} {
		t.Run(name, func(t *testing.T) {
			host := captest.New(t)
			out, err := c.tool(host.Ctx(), json.RawMessage(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			block, ok := out.Content[0].(ext.TextContent)
			if !ok || !strings.Contains(block.Text, c.text) {
				t.Errorf("answered %+v; want %q", out.Content, c.text)
			}
			if got := emitted(t, host); !slices.Equal(got, c.emitted) {
				t.Errorf("emitted %v; want %v", got, c.emitted)
			}
		})
	}
}

func TestContactAnswersWithItsArguments(t *testing.T) {
	out, err := contact.Run(captest.New(t).Ctx(), json.RawMessage(`{"email": "ada@example.org"}`))
	if err != nil {
		t.Fatal(err)
	}
	if block, ok := out.Content[0].(ext.JSONContent); !ok || !strings.Contains(string(block.Value), "ada@example.org") {
		t.Errorf("answered %+v", out.Content)
	}
}

func TestRegionSaysWhere(t *testing.T) {
	for arguments, want := range map[string]string{`{}`: "It is done here.", `{"region": "north"}`: "It is done in north."} {
		out, err := region.Run(captest.New(t).Ctx(), json.RawMessage(arguments))
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Content[0].(ext.TextContent).Text; got != want {
			t.Errorf("%s is answered %q; want %q", arguments, got, want)
		}
	}
}

func TestRefusedRefuses(t *testing.T) {
	if _, err := refused.Run(captest.New(t).Ctx(), json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), "intentionally") {
		t.Errorf("the error is %v", err)
	}
}
