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
	if len(c.Hooks.Order) == 0 || len(c.Hooks.Deadline) == 0 || len(c.Extensions) == 0 {
		t.Error("the example shows no hooks")
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

// Each event that a manifest may name has a deadline, and no other word.
func TestTheEventsAreTheManifests(t *testing.T) {
	for _, event := range append(manifest.Events(), "another") {
		_, err := config.Decode([]byte("[hooks.deadline_ms]\n"+event+" = 1\n"), t.TempDir())
		if (err == nil) != (event != "another") {
			t.Errorf("%s: %v", event, err)
		}
	}
	for _, name := range []string{"a", "a_1", "A", "a__b", "_a", "1a", "a-b", strings.Repeat("a", manifest.MaxName), strings.Repeat("a", manifest.MaxName+1)} {
		_, err := config.Decode([]byte("[extension.\""+name+"\"]\n"), t.TempDir())
		if (err == nil) != (manifest.IsName(name) && len(name) <= manifest.MaxName) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// tree is the tree that the manifest's example speaks of.
type tree struct{}

func (tree) File(string) ([]byte, bool) { return []byte(`{"type": "object"}`), true }
func (tree) Packages() []string         { return []string{"tool", "gate"} }
