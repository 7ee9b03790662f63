package gen

import (
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	modulepath "golang.org/x/mod/module"

	"github.com/loomext/loomext/manifest"
)

// everything is a tree that keeps any promise: what a fuzzed manifest names is there.
type everything struct{ packages []string }

func (everything) File(string) ([]byte, bool) { return []byte(`{"type": "object"}`), true }
func (e everything) Packages() []string       { return e.packages }

func FuzzSatellite(f *testing.F) {
	for _, text := range shapes {
		f.Add([]byte(text), "example.com/web")
	}
	packages := anyTree.Packages()
	f.Fuzz(func(t *testing.T, text []byte, module string) {
		m, err := manifest.Decode(text, everything{packages})
		if err != nil {
			return
		}
		// The module path is checked where a build root begins.
		if modulepath.CheckPath(module) != nil {
			module = "example.com/web"
		}
		files, err := Satellite(m, module, m.Config())
		if err != nil {
			t.Fatalf("a decoded manifest does not render: %v", err)
		}
		main, err := parser.ParseFile(token.NewFileSet(), mainFile, files[mainFile], parser.AllErrors)
		if err != nil {
			t.Fatalf("%v:\n%s", err, files[mainFile])
		}
		aliases := map[string]bool{}
		for _, spec := range main.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || aliases[spec.Name.Name] || aliases[path] {
				t.Fatalf("import %s of %s (%v) in:\n%s", spec.Name, spec.Path.Value, err, files[mainFile])
			}
			aliases[spec.Name.Name], aliases[path] = true, true
		}
		// The program is its imports and one function of one call, whatever the strings are.
		if len(main.Decls) != 2 {
			t.Fatalf("%d declarations in:\n%s", len(main.Decls), files[mainFile])
		}
		got, err := read(t, constant(t, files[declarationFile]))
		if err != nil || !got.Equal(Declare(m, m.Config())) {
			t.Fatalf("declared %+v, read %+v, %v", Declare(m, m.Config()), got, err)
		}
	})
}
