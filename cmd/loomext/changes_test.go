package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/install"
)

func TestAChangeIsShownWhereItIs(t *testing.T) {
	change := func(field, was, now string) install.Change {
		return install.Change{Field: field, Was: json.RawMessage(was), Now: json.RawMessage(now)}
	}
	long := `"` + strings.Repeat("x", changeShown) + `"`
	for _, tt := range []struct {
		change install.Change
		want   []string
	}{
		{change("config", `{"a":1,"b":{"c":[1],"d":2}}`, `{"a":1,"b":{"c":[2],"d":2}}`), []string{"config.b.c: [1] → [2]"}},
		{change("overrides", `{}`, `{"a":1}`), []string{"overrides.a: new: 1"}},
		{change("net", `{"hosts":["a"],"secrets":[]}`, `{"hosts":["a","b"],"secrets":[]}`), []string{`net.hosts: ["a"] → ["a","b"]`}},
		{change("net", `null`, `{"hosts":["a"]}`), []string{`net: null → {"hosts":["a"]}`}},
		{change("tools", `[{"name":"t","timeout_ms":1},{"name":"u"}]`, `[{"name":"t","timeout_ms":2},{"name":"v"}]`),
			[]string{"tools.t.timeout_ms: 1 → 2", "tools.u: gone", `tools.v: new: {"name":"v"}`}},
		{change("tools", `[{"name":"t","schema":{}}]`, `[{"name":"t","schema":{"title":`+long+`}}]`), []string{"tools.t.schema.title: new"}},
		{change("mcp", `{"prompts":[{"name":"p","tool":"t"}],"resources":[]}`, `{"prompts":[{"name":"p","tool":"u"}],"resources":[{"uri":"x:y","name":"y"}]}`),
			[]string{`mcp.prompts.p.tool: "t" → "u"`, `mcp.resources.y: new: {"name":"y","uri":"x:y"}`}},
		{install.Change{Field: "mcp", Now: json.RawMessage(`{"prompts":[],"resources":[{"uri":"x:y"}]}`)}, []string{`mcp: new: {"prompts":[],"resources":[{"uri":"x:y"}]}`}},
		{install.Change{Field: "mcp", Was: json.RawMessage(`{"prompts":[],"resources":[{"uri":"x:y"}]}`)}, []string{"mcp: gone"}},
		{change("granted", `["net"]`, `[]`), []string{`granted: ["net"] → []`}},
		{change("tree_digest", `"a"`, `"b"`), []string{"tree_digest"}},
		{change("description", `"a"`, long), []string{"description"}},
		{change("version", `"1\u001b[2J"`, `"2"`), []string{`version: "1\u001b[2J" → "2"`}},
	} {
		if got := changeLines([]install.Change{tt.change}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q; want %q", tt.change.Field, got, tt.want)
		}
	}
}

func TestArgumentsAreSaidInALine(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"days":{"type":"integer"},"city":{"type":"string"}},"required":["city"]}`: "city string, days integer?",
		`{"properties":{"how":{"enum":["a","b"]},"n":{"type":["integer","null"]}}}`:               "how one of a list?, n integer null?",
		`{"type":"object"}`: "none that the schema names",
		`true`:              "see the schema",
	} {
		if got := argumentsText(json.RawMessage(schema)); got != want {
			t.Errorf("%s: %q; want %q", schema, got, want)
		}
	}
}
