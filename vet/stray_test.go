package vet_test

import (
	"strings"
	"testing"

	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vet"
)

// An author who forgets go.mod, or misspells its path, imports a package of the extension by a
// path that means nothing. What the finding says must lead to go.mod.
func TestAnImportMeantForTheExtensionItselfLeadsToGoMod(t *testing.T) {
	for _, c := range []struct{ mod, says string }{
		{"", "add a go.mod that says: module example.com/todo"},
		{"xxx\n", "add a go.mod that says: module example.com/todo"},
		{"module example.com/tod\n", "import example.com/tod/words"},
	} {
		files := map[string][]byte{
			"extension.toml": []byte("[extension]\n"),
			"words/words.go": []byte("package words\n\nconst A = 1\n"),
			"tool/tool.go":   []byte("package tool\n\nimport \"example.com/todo/words\"\n\nconst B = words.A\n"),
		}
		if c.mod != "" {
			files["go.mod"] = []byte(c.mod)
		}
		tree, err := source.FromFiles(files, "test")
		if err != nil {
			t.Fatal(err)
		}
		_, err = vet.Syntax(t.Context(), tree, manifest.Manifest{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("with go.mod %q: %v; want %q", c.mod, err, c.says)
		}
	}
}
