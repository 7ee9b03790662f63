package build

import (
	"go/importer"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is listed is the types of every package that extensions may import, and nothing of the program of the fill.
func TestTheLibraryHoldsTheTypesOfWhatExtensionsImport(t *testing.T) {
	b := &Builder{Cache: shared}
	b.Std = []string{"encoding/json", "strings"}
	l, err := b.Library(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path := range l.Exports {
		if strings.HasPrefix(path, fillModule) {
			t.Errorf("the library lists %s", path)
		}
	}
	read := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(l.Dir, l.Exports[path]))
	})
	for path, name := range map[string]string{
		"encoding/json": "Marshal", "strings": "Builder",
		"github.com/loomext/loomext/prelude/ext": "Typed", "github.com/loomext/loomext/prelude/cap/net": "Fetch",
	} {
		pkg, err := read.Import(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if pkg.Scope().Lookup(name) == nil {
			t.Errorf("%s has no %s but %v", path, name, slices.Sorted(slices.Values(pkg.Scope().Names())))
		}
	}
	again, err := b.Library(t.Context())
	if err != nil || again.Dir != l.Dir {
		t.Errorf("asked again: %s, %v; it was %s", again.Dir, err, l.Dir)
	}
}
