package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/manifest"
)

// page is docs/config.md and the file that it shows.
func page(t *testing.T) (docs, example string) {
	t.Helper()
	text, err := os.ReadFile("../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```toml\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the page shows no configuration")
	}
	return string(text), example
}

func TestTheExampleInTheDocsIsAConfiguration(t *testing.T) {
	_, example := page(t)
	dir := t.TempDir()
	ca, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Decode([]byte(example), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Egress.Roots) == 0 || len(c.Egress.Resolve) == 0 || len(c.Egress.Private) == 0 || len(c.Secrets) < 2 {
		t.Error("the example shows too little")
	}
	if c.Ceilings != config.Default().Ceilings {
		t.Errorf("the example shows %+v for the defaults", c.Ceilings)
	}
}

// The greatest timeout is the most that a manifest may ask for.
func TestTheGreatestTimeoutIsAManifests(t *testing.T) {
	text, err := os.ReadFile("../docs/manifest.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```toml\n")
	example, _, _ := strings.Cut(rest, "```")
	for ms, fine := range map[string]bool{"600000": true, "600001": false} {
		_, own := config.Decode([]byte("[ceilings]\ntimeout_ms = "+ms+"\n"), t.TempDir())
		_, asked := manifest.Decode([]byte(strings.Replace(example, "timeout_ms     = 20000", "timeout_ms     = "+ms, 1)), tree{})
		if (own == nil) != fine || (asked == nil) != fine {
			t.Errorf("%s: %v; %v", ms, own, asked)
		}
	}
}

// tree is the tree that the manifest's example speaks of.
type tree struct{}

func (tree) File(string) ([]byte, bool) { return []byte(`{"type": "object"}`), true }
func (tree) Packages() []string         { return []string{"tool", "gate"} }
