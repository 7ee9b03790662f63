package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/install"
)

func recorded(extension string, tools ...string) install.Record {
	r := install.Record{Name: extension}
	for _, name := range tools {
		r.Tools = append(r.Tools, install.RecordTool{Name: name, Description: "Does " + name + ".", PromptSnippet: name + ": does it", Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return r
}

func TestAToolHasItsPlainNameUnlessTwoHaveIt(t *testing.T) {
	bound := recorded("d", "x", "y")
	bound.MCP = &install.RecordMCP{Prompts: []install.RecordPrompt{{Name: "p", Tool: "x"}}, Resources: []install.RecordResource{{URI: "d://r", Tool: "y"}}}
	for _, c := range []struct {
		records      []install.Record
		only, except []string
		want         string
	}{
		{nil, nil, nil, ""},
		{[]install.Record{recorded("a", "x", "y"), recorded("b", "z")}, nil, nil, "x y z"},
		{[]install.Record{recorded("a", "x", "y"), recorded("b", "x"), recorded("c", "x")}, nil, nil, "a__x b__x c__x y"},
		{[]install.Record{recorded("a", "x"), recorded("b", "x"), recorded("c", "a__x")}, nil, nil, "a__x b__x c__a__x"}, // no manifest allows it
		{[]install.Record{recorded("a", "x"), recorded("b", "x")}, nil, []string{"b"}, "x"},
		{[]install.Record{recorded("a", "x"), recorded("b", "x")}, []string{"a"}, nil, "x"},
		{[]install.Record{recorded("a", "x", "y"), recorded("b", "x")}, []string{"a__y", "b"}, []string{"b__x"}, "y"},
		{[]install.Record{recorded("a", "x", "y"), bound}, nil, nil, "x y"},
	} {
		var names []string
		for _, o := range Offer(c.records, c.only, c.except) {
			names = append(names, o.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestASchemaIsServedAsInstalledButForWhatTheProtocolAdds(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"object","x":1}`, `{"type":"object","x":1}`},
		{` { } `, ` {"type":"object" } `},
		{`{"$defs":{"a{":{"type":"string"}}}`, `{"type":"object","$defs":{"a{":{"type":"string"}}}`},
		{`{"type":["object","null"]}`, `{"type":["object","null"]}`}, // which the SDK refuses
		{`true`, ""},
		{`null`, ""},
		{``, ""},
	} {
		got, _, err := servedSchema(json.RawMessage(c.schema))
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %s, %v, want %s", c.schema, got, err, c.want)
		}
	}
	odd := recorded("a", "x", "y")
	odd.Tools[0].Schema = json.RawMessage(`{"type":["object","null"]}`)
	if got := Offer([]install.Record{odd}, nil, nil); len(got) != 1 || got[0].Name != "y" {
		t.Errorf("%+v", got)
	}
}

func TestInstructionsAreBounded(t *testing.T) {
	var many []install.Record
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		many = append(many, recorded(strings.Repeat(string(c), 20), strings.Repeat(string(c), 100), strings.Repeat(string(c), 101)))
	}
	text := instructions(many, choice{})
	if len(text) > maxInstructions+100 || !strings.Contains(text, "and ") || !strings.Contains(text, many[25].Name) {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	if got := instructions(nil, choice{}); got == "" {
		t.Error("nothing is said of nothing")
	}
	if got := (choice{only: []string{"a__x", "b", "a"}}).extensions(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v", got)
	}
}

func TestInstructionsSayWhoseWordsTheyAre(t *testing.T) {
	one, two := recorded("units", "convert"), recorded("money", "convert", "rates")
	one.Tools[0].PromptSnippet = "convert: turns\nunits " + strings.Repeat("on and ", 200)
	text := instructions([]install.Record{two, one}, choice{})
	for _, piece := range []string{"units: units__convert: turns units on", "money: money__convert: does it", "money: rates: does it", "more)"} {
		if !strings.Contains(text, piece) {
			t.Errorf("%q has no %q", text, piece)
		}
	}
	if strings.Contains(text, "\n") || len(text) > maxSnippet+500 {
		t.Errorf("%q", text)
	}
}
