package gen_test

import (
	"bytes"
	"errors"
	"go/format"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/manifest"
)

// Every event has a body and a test of its own: a template that forgot one would give a package without its function.
func TestScaffoldOfEveryEvent(t *testing.T) {
	for _, event := range manifest.Events() {
		files, m, err := gen.Scaffold(gen.Plan{Name: "ext", Hooks: []string{event}})
		if err != nil {
			t.Fatalf("%s: %v", event, err)
		}
		function, _ := manifest.HookFunc(event)
		dir := m.Hooks()[0].Entry
		if hook := string(files[dir+"/hook.go"]); !strings.Contains(hook, "\nfunc "+function+"(") {
			t.Errorf("%s: hook.go is\n%s", event, hook)
		}
		if test := string(files[dir+"/hook_test.go"]); strings.Count(test, "`{") < 2 {
			t.Errorf("%s: hook_test.go sends nothing:\n%s", event, test)
		}
	}
}

func TestScaffoldIsFormattedAndTheSameEachTime(t *testing.T) {
	plan := gen.Plan{Name: "ext", Tools: []string{"one", "two_words"}, Hooks: manifest.Events()}
	first, _, err := gen.Scaffold(plan)
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := gen.Scaffold(plan)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range first {
		if !bytes.Equal(text, second[name]) {
			t.Errorf("%s is not the same each time", name)
		}
		if !bytes.HasSuffix(text, []byte("\n")) || bytes.HasSuffix(text, []byte("\n\n")) {
			t.Errorf("%s does not end in one newline: %q", name, text[max(0, len(text)-20):])
		}
		if path.Ext(name) == ".go" {
			if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("%s is not formatted (%v)", name, err)
			}
		}
	}
}

// Whatever a tool is called, its package is one, and no other's.
func TestScaffoldNamesPackages(t *testing.T) {
	tools := []string{"web_search", "websearch", "func", "vendor", "docs", "testdata", "main", "internal", "con", "com1", "ontoolcall", "schema", "a_b_c", "x_test", "y_linux"}
	files, m, err := gen.Scaffold(gen.Plan{Name: "ext", Tools: tools, Hooks: []string{"tool_call"}})
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, tool := range m.Tools() {
		dirs = append(dirs, tool.Entry)
		text := string(files[tool.Entry+"/tool.go"])
		if !strings.Contains(text, "\npackage "+tool.Entry+"\n") {
			t.Errorf("%s: the package of %s is another", tool.Name, tool.Entry)
		}
		if strings.Contains(tool.Entry, "_") || slices.Contains([]string{"func", "vendor", "docs", "testdata", "main", "internal", "con", "com1", "schema"}, tool.Entry) {
			t.Errorf("%s is in %s", tool.Name, tool.Entry)
		}
	}
	dirs = append(dirs, m.Hooks()[0].Entry)
	slices.Sort(dirs)
	if len(slices.Compact(dirs)) != len(tools)+1 {
		t.Errorf("two share a package: %q", dirs)
	}
}

func TestScaffoldRefusesWhatNoManifestTakes(t *testing.T) {
	for _, plan := range []gen.Plan{
		{Name: "Ext", Tools: []string{"t"}}, {Name: "ext", Tools: []string{"../t"}}, {Name: "ext", Tools: []string{"t\"\n[x]"}},
		{Name: "ext", Hooks: []string{"no_event"}}, {Name: "ext", Tools: []string{"t", "t"}}, {Name: "", Tools: []string{"t"}}, {Name: "ext", Hooks: []string{"usage", "usage"}},
		{Name: strings.Repeat("a", 40), Tools: []string{strings.Repeat("b", 9)}},
	} {
		var faults manifest.Faults
		if files, _, err := gen.Scaffold(plan); !errors.As(err, &faults) || files != nil {
			t.Errorf("%+v: %v", plan, err)
		}
	}
}
