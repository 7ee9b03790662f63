package install_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomext/loomext/install"
)

func TestTryWritesNoStoreAndKeepsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	kept, _ := os.ReadDir(filepath.Join(cacheDir, "artifacts"))
	src := t.TempDir()
	for name, text := range map[string]string{
		"extension.toml": "[extension]\nname = \"tried\"\nversion = \"1.0.0\"\ndescription = \"Is tried.\"\nlicense = \"MIT\"\nrequests = []\n\n[[hook]]\nevent = \"agent_end\"\nentry = \"end\"\n",
		"end/end.go":     "package end\n\nimport \"context\"\n\nfunc OnAgentEnd(context.Context, string) error { return nil }\n",
	} {
		path := filepath.Join(src, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := install.Options{Source: src, Builder: builder()}
	first, err := install.Try(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.Image == nil || first.Record.ApprovedHow != install.HowTried || first.Dir != "" {
		t.Errorf("%+v", first.Record)
	}
	if same, err := install.Try(t.Context(), o, first); err != nil || same != first {
		t.Errorf("a source that did not change was built anew: %v", err)
	}
	if err := os.WriteFile(filepath.Join(src, "end", "more.go"), []byte("package end\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	next, err := install.Try(t.Context(), o, first)
	if err != nil || next == first {
		t.Fatalf("an edit was not seen: %v", err)
	}
	for _, tried := range []*install.Installed{first, next} {
		if err := tried.Close(); err != nil {
			t.Error(err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(cacheDir, "artifacts")); len(entries) != len(kept) {
		t.Errorf("the cache keeps %d artifacts, and kept %d before", len(entries), len(kept))
	}
	if entries, err := os.ReadDir(filepath.Join(cacheDir, "staging")); err != nil || len(entries) > 0 {
		t.Errorf("staging has %v, %v", entries, err)
	}
}
