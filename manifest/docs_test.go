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
	if len(m.Tools()) == 0 || len(m.Hooks()) == 0 || len(m.Requests()) == 0 {
		t.Error("the example shows too little")
	}
}

// exampleTree is the tree that the example speaks of.
type exampleTree struct{}

func (exampleTree) File(string) ([]byte, bool) { return []byte(`{"type": "object"}`), true }
func (exampleTree) Packages() []string         { return []string{"tool", "gate"} }
