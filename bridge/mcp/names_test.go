package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/install"
)

func record(extension string, tools ...string) install.Record {
	r := install.Record{Name: extension}
	for _, name := range tools {
		r.Tools = append(r.Tools, install.RecordTool{Name: name, Description: "Does " + name + ".", PromptSnippet: name + ": does it", Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return r
}

func TestAToolHasItsPlainNameUnlessTwoHaveIt(t *testing.T) {
	bound := record("d", "x", "y")
	bound.MCP = &install.RecordMCP{Prompts: []install.RecordPrompt{{Name: "p", Tool: "x"}}, Resources: []install.RecordResource{{URI: "d://r", Tool: "y"}}}
	for _, c := range []struct {
		records      []install.Record
		only, except []string
		want         string
	}{
		{nil, nil, nil, ""},
		{[]install.Record{record("a", "x", "y"), record("b", "z")}, nil, nil, "x y z"},
		{[]install.Record{record("a", "x", "y"), record("b", "x"), record("c", "x")}, nil, nil, "a__x b__x c__x y"},
		{[]install.Record{record("a", "x"), record("b", "x"), record("c", "a__x")}, nil, nil, "a__x b__x c__a__x"}, // no manifest allows it
		{[]install.Record{record("a", "x"), record("b", "x")}, nil, []string{"b"}, "x"},
		{[]install.Record{record("a", "x"), record("b", "x")}, []string{"a"}, nil, "x"},
		{[]install.Record{record("a", "x", "y"), record("b", "x")}, []string{"a__y", "b"}, []string{"b__x"}, "y"},
		{[]install.Record{record("a", "x", "y"), bound}, nil, nil, "x y"},
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
		got, err := servedSchema(json.RawMessage(c.schema))
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %s, %v, want %s", c.schema, got, err, c.want)
		}
	}
	odd := record("a", "x", "y")
	odd.Tools[0].Schema = json.RawMessage(`{"type":["object","null"]}`)
	if got := Offer([]install.Record{odd}, nil, nil); len(got) != 1 || got[0].Name != "y" {
		t.Errorf("%+v", got)
	}
}

func TestInstructionsAreBounded(t *testing.T) {
	var many []install.Record
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		many = append(many, record(strings.Repeat(string(c), 20), strings.Repeat(string(c), 100), strings.Repeat(string(c), 101)))
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
