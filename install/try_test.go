package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/vet"
)

func TestTryWritesNoStoreAndKeepsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	cache := tryCache(t)
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
	o := Options{Source: src, Builder: &build.Builder{Cache: cache, Std: vet.Std()}}
	first, err := Try(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.Image == nil || first.Record.ApprovedHow != HowTried || first.Dir != "" {
		t.Errorf("%+v", first.Record)
	}
	if same, err := Try(t.Context(), o, first); err != nil || same != first {
		t.Errorf("a source that did not change was built anew: %v", err)
	}
	if err := os.WriteFile(filepath.Join(src, "end", "more.go"), []byte("package end\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	next, err := Try(t.Context(), o, first)
	if err != nil || next == first {
		t.Fatalf("an edit was not seen: %v", err)
	}
	for _, tried := range []*Installed{first, next} {
		if err := tried.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, part := range []string{"artifacts", "staging"} {
		if entries, err := os.ReadDir(filepath.Join(cache, part)); err != nil || len(entries) > 0 {
			t.Errorf("%s has %v, %v", part, entries, err)
		}
	}
}
