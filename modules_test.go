package loomext_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// TestEveryModuleHasALineInTheDecisions names a module that go.mod requires and RATIONALE.md
// does not speak of.
func TestEveryModuleHasALineInTheDecisions(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := os.ReadFile("RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, require := range mod.Require {
		if require.Indirect {
			continue
		}
		direct++
		// A row may speak of several, and then names the second by its end.
		parts := strings.Split(require.Mod.Path, "/")
		end := strings.Join(parts[len(parts)-1:], "/")
		if !strings.Contains(string(decisions), require.Mod.Path) && !strings.Contains(string(decisions), end) {
			t.Errorf("RATIONALE.md has no line on %s", require.Mod.Path)
		}
	}
	if direct == 0 {
		t.Error("go.mod requires nothing, which cannot be")
	}
}
