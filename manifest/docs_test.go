package manifest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/loomext/loomext/manifest"
)

// TestTheExampleInTheDocsIsAManifest decodes the one that docs/manifest.md shows.
func TestTheExampleInTheDocsIsAManifest(t *testing.T) {
	page, err := os.ReadFile("../docs/manifest.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```toml\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the page shows no manifest")
	}
	m, err := manifest.Decode([]byte(text), exampleTree{})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Tools()) == 0 || len(m.Hooks()) == 0 || len(m.Requests()) == 0 || len(m.Prompts()) == 0 {
		t.Error("the example shows too little")
	}
}

// TestTheExampleOfBindingsIsAManifest decodes the one that shows prompts and resources, with the
// schema beside it.
func TestTheExampleOfBindingsIsAManifest(t *testing.T) {
	page, err := os.ReadFile("../docs/manifest.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Prompts and resources\n")
	block := func(language string) string {
		_, rest, _ := strings.Cut(section, "```"+language+"\n")
		text, _, ok := strings.Cut(rest, "```")
		if !ok {
			t.Fatalf("the section shows no %s", language)
		}
		return text
	}
	m, err := manifest.Decode([]byte(block("toml")), boundTree{block("json")})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Prompts()) != 1 || len(m.Resources()) != 2 || len(m.Resources()[0].Variables()) == 0 || len(m.Resources()[1].Variables()) > 0 {
		t.Errorf("prompts %+v, resources %+v", m.Prompts(), m.Resources())
	}
}

// boundTree is the tree that the example of bindings speaks of.
type boundTree struct{ schema string }

func (b boundTree) File(path string) ([]byte, bool) {
	if path == "schema/one_note.json" {
		return []byte(b.schema), true
	}
	return []byte(`{"type": "object"}`), true
}

func (boundTree) Packages() []string { return []string{"note", "notes"} }

// exampleTree is the tree that the example speaks of.
type exampleTree struct{}

func (exampleTree) File(string) ([]byte, bool) { return []byte(`{"type": "object"}`), true }
func (exampleTree) Packages() []string         { return []string{"tool", "gate"} }
