package manifest

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
)

const boundTools = `
[extension]
name = "notes"
description = "Keeps notes."

[[tool]]
name = "note"
description = "A note."
prompt_snippet = "note: a note"
parameters = "schema/word.json"
entry = "tool"

[[tool]]
name = "recap"
description = "A recap."
prompt_snippet = "recap: a recap"
parameters = "schema/any.json"
entry = "tool"

[[tool]]
name = "list"
description = "All notes."
prompt_snippet = "list: all notes"
parameters = "schema/any.json"
entry = "tool"
`

const bindings = `
[[mcp.prompt]]
name = "write"
description = "Write a note."
tool = "note"

[[mcp.prompt]]
name = "ask"
description = "Ask of a note."
tool = "note"

[[mcp.resource]]
uri = "notes://{word}"
name = "by_word"
description = "One note."
mime_type = "text/markdown"
tool = "note"

[[mcp.resource]]
uri = "notes:all"
name = "all"
tool = "recap"
`

func TestPromptsAndResources(t *testing.T) {
	m := decode(t, boundTools+bindings)
	prompts := []Prompt{{"ask", "Ask of a note.", "note"}, {"write", "Write a note.", "note"}}
	if got := m.Prompts(); !reflect.DeepEqual(got, prompts) {
		t.Errorf("got %+v", got)
	}
	resources := []Resource{
		{"notes://{word}", "by_word", "One note.", "text/markdown", "note"},
		{"notes:all", "all", "", DefaultMIMEType, "recap"},
	}
	got := m.Resources()
	if !reflect.DeepEqual(got, resources) {
		t.Fatalf("got %+v", got)
	}
	if !reflect.DeepEqual(got[0].Variables(), []string{"word"}) || got[1].Variables() != nil {
		t.Errorf("variables %q, %q", got[0].Variables(), got[1].Variables())
	}
	m.Prompts()[0].Name, m.Resources()[0].URI = "x", "x"
	if m.Prompts()[0] != prompts[0] || m.Resources()[0] != resources[0] {
		t.Error("an accessor returns no copy")
	}
	if none := decode(t, boundTools); len(none.Prompts()) > 0 || len(none.Resources()) > 0 {
		t.Error("a manifest without such tables has prompts or resources")
	}
}

// TestNoBindingsLeaveTheRevision holds that a manifest which binds nothing has the
// canonical form that it had before there were bindings; the vectors have its text.
func TestNoBindingsLeaveTheRevision(t *testing.T) {
	without := decode(t, boundTools)
	if strings.Contains(string(without.Canonical()), "mcp") {
		t.Errorf("%s", without.Canonical())
	}
	for _, empty := range []string{"[mcp]\n", "[mcp]\nprompt = []\nresource = []\n"} {
		if m := decode(t, boundTools+empty); m.Revision() != without.Revision() {
			t.Errorf("%s has %s", empty, m.Canonical())
		}
	}
	if m := decode(t, boundTools+strings.Replace(bindings, "mime_type = \"text/markdown\"\n", "", 1)); m.Revision() !=
		decode(t, boundTools+strings.Replace(bindings, "text/markdown", DefaultMIMEType, 1)).Revision() {
		t.Error("the default media type is not the one that is said to be")
	}
}

// TestRevisionCoversEveryBinding changes one value of them after the other.
func TestRevisionCoversEveryBinding(t *testing.T) {
	seen := map[string]string{decode(t, boundTools+bindings).Revision(): "nothing"}
	for _, change := range []struct{ from, to string }{
		{`name = "write"`, `name = "writes"`},
		{`"Write a note."`, `"Write it."`},
		{"a note.\"\ntool = \"note\"\n\n[[mcp.prompt]]", "a note.\"\ntool = \"recap\"\n\n[[mcp.prompt]]"},
		{"[[mcp.prompt]]\nname = \"ask\"\ndescription = \"Ask of a note.\"\ntool = \"note\"\n", ""},
		{`notes:all`, `notes:everything`},
		{`notes://{word}`, `notes://x/{word}`},
		{`name = "all"`, `name = "everything"`},
		{`"One note."`, `"A note."`},
		{"description = \"One note.\"\n", ""},
		{`text/markdown`, `text/html`},
		{"mime_type = \"text/markdown\"\n", ""},
		{"uri = \"notes:all\"\nname = \"all\"\ntool = \"recap\"", "uri = \"notes:all\"\nname = \"all\"\ntool = \"list\""},
	} {
		if strings.Count(bindings, change.from) != 1 {
			t.Fatalf("%q stands %d times in the manifest", change.from, strings.Count(bindings, change.from))
		}
		m := decode(t, boundTools+strings.Replace(bindings, change.from, change.to, 1))
		if other, there := seen[m.Revision()]; there {
			t.Errorf("%q has the revision of %q", change.to, other)
		}
		seen[m.Revision()] = change.to
	}
}

func TestBoundsOfBindings(t *testing.T) {
	many := func(n int, table string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, table, i, i)
		}
		return b.String()
	}
	const (
		prompt   = "[[mcp.prompt]]\nname = \"p%d\"\ndescription = \"Says %d.\"\ntool = \"recap\"\n"
		resource = "[[mcp.resource]]\nuri = \"notes:%d\"\nname = \"r%d\"\ntool = \"recap\"\n"
	)
	most := decode(t, boundTools+many(maxPrompts, prompt)+many(maxResources, resource))
	if len(most.Prompts()) != maxPrompts || len(most.Resources()) != maxResources {
		t.Errorf("%d prompts, %d resources", len(most.Prompts()), len(most.Resources()))
	}
	for _, test := range []struct{ text, says string }{
		{many(maxPrompts+1, prompt), "there are more than 64 prompts"},
		{many(maxResources+1, resource), "there are more than 64 resources"},
		{"[[mcp.resource]]\nuri = \"notes:" + strings.Repeat("x", maxURI) + "\"\n", "262 bytes, the bound is 256"},
		{"[[mcp.resource]]\nmime_type = \"text/" + strings.Repeat("x", maxMIMEType) + "\"\n", "132 bytes, the bound is 127"},
		{"[[mcp.resource]]\ndescription = \"" + strings.Repeat("x", maxDescription+1) + "\"\n", "1025 bytes, the bound is 1024"},
		{"[[mcp.prompt]]\ndescription = \"" + strings.Repeat("x", maxDescription+1) + "\"\n", "1025 bytes, the bound is 1024"},
	} {
		_, err := Decode([]byte(boundTools+test.text), base)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("got %v, want it to say %q", err, test.says)
		}
	}
}

// TestAFixedURIAsksWhatTheSchemaSays holds it against the schema itself: what is
// required may stand anywhere in it.
func TestAFixedURIAsksWhatTheSchemaSays(t *testing.T) {
	const fixed = "[[mcp.resource]]\nuri = \"notes:all\"\nname = \"all\"\ntool = \"note\"\n"
	for schema, ok := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                true,
		`{"type":"object","minProperties":1}`:                                   false,
		`{"$ref":"#/$defs/x","$defs":{"x":{"required":["a"]}}}`:                 false,
		`{"anyOf":[{"required":["a"]},{"required":["b"]},{"maxProperties":0}]}`: true,
	} {
		files := maps.Clone(base)
		files["schema/word.json"] = schema
		if _, err := Decode([]byte(boundTools+fixed), files); (err == nil) != ok {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
