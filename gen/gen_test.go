package gen

import (
	"bytes"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/loomext/loomext/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// tree is the Files that a manifest makes promises about.
type tree map[string]string

func (t tree) File(path string) ([]byte, bool) {
	text, ok := t[path]
	return []byte(text), ok
}

func (t tree) Packages() []string {
	var all []string
	for path := range t {
		if strings.HasSuffix(path, ".go") {
			all = append(all, filepath.ToSlash(filepath.Dir(path)))
		}
	}
	return all
}

// anyTree has every schema, and a package at the entries the tests use.
var anyTree = tree{
	"schema/a.json":    `{"type": "object"}`,
	"tool/run.go":      "package tool\n",
	"gate/gate.go":     "package gate\n",
	"deep/tool/run.go": "package tool\n",
	"_x/tool/run.go":   "package tool\n",
}

func decode(t testing.TB, text string) manifest.Manifest {
	t.Helper()
	m, err := manifest.Decode([]byte(text), anyTree)
	if err != nil {
		t.Fatalf("the test's own manifest: %v", err)
	}
	return m
}

func toolTable(name, description, entry string) string {
	return fmt.Sprintf("\n[[tool]]\nname = %q\ndescription = %q\nprompt_snippet = \"x\"\nparameters = \"schema/a.json\"\nentry = %q\n", name, description, entry)
}

func hookTable(event, entry string) string {
	return fmt.Sprintf("\n[[hook]]\nevent = %q\nentry = %q\n", event, entry)
}

const extension = "[extension]\nname = \"web\"\nversion = \"0.1.0\"\ndescription = \"d\"\nlicense = \"MIT\"\ntier = \"jailed\"\n"

var shapes = map[string]string{
	"one_tool":            extension + toolTable("search", "look", "tool"),
	"tool_and_hook":       extension + toolTable("search", "look", "tool") + hookTable("tool_call", "gate"),
	"hook_alone":          extension + hookTable("context", "gate"),
	"entries_in_one_word": extension + toolTable("a", "x", "tool") + toolTable("b", "x", "deep/tool") + toolTable("c", "x", "_x/tool"),
	"entry_shared":        extension + toolTable("a", "x", "tool") + toolTable("b", "x", "tool") + hookTable("tool_call", "tool") + hookTable("usage", "gate"),
	"quotes": strings.Replace(extension, `"d"`, `"say \"hi\" \\ `+"`tick`"+`"`, 1) + "\n[config]\ntext = \"\\\"; import `os` \\\\ é\"\n" +
		toolTable("search", "a \"quoted\" ${x} {{.}} `word`", "tool"),
}

func TestRenderedProgramMatchesItsGoldenFile(t *testing.T) {
	for name, text := range shapes {
		t.Run(name, func(t *testing.T) {
			m := decode(t, text)
			files, err := Satellite(m, "example.com/web", m.Config())
			if err != nil {
				t.Fatal(err)
			}
			if len(files) != 2 {
				t.Fatalf("%d files were rendered, not 2", len(files))
			}
			for path, source := range files {
				golden := filepath.Join("testdata", "golden", name, filepath.Base(path)+".txt")
				if *update {
					if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(golden, source, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatalf("%v; run go test ./gen -update", err)
				}
				if !bytes.Equal(source, want) {
					t.Errorf("%s:\n%s\nwant, as in %s:\n%s", path, source, golden, want)
				}
			}
		})
	}
}

func TestRenderingIsTheSameEveryTime(t *testing.T) {
	m := decode(t, shapes["entry_shared"])
	first, err := Satellite(m, "example.com/web", m.Config())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := Satellite(m, "example.com/web", m.Config())
		if err != nil {
			t.Fatal(err)
		}
		for path := range first {
			if !bytes.Equal(first[path], again[path]) {
				t.Fatalf("%s differs between two renderings", path)
			}
		}
	}
}

func TestOverriddenConfigurationIsWhatIsDeclared(t *testing.T) {
	m := decode(t, extension+"\n[config]\nresults = 10\n"+toolTable("a", "x", "tool"))
	config, _, err := m.Config().Override(map[string]string{"results": "5"})
	if err != nil {
		t.Fatal(err)
	}
	files, err := Satellite(m, "example.com/web", config)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(t, constant(t, files[declarationFile]))
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Config) != `{"results":5}` {
		t.Errorf("declared config is %s", got.Config)
	}
	if got.Difference(Declare(m, m.Config())) == "" {
		t.Error("a declaration with another configuration passes for the same")
	}
}

// constant is the value of the declaration constant in rendered source.
func constant(t testing.TB, source []byte) string {
	t.Helper()
	if _, err := parser.ParseFile(token.NewFileSet(), declarationFile, source, parser.AllErrors); err != nil {
		t.Fatalf("rendered %s does not parse: %v", declarationFile, err)
	}
	_, literal, _ := strings.Cut(string(source), "const declaration = ")
	literal, _, _ = strings.Cut(literal, "\n")
	text, err := strconv.Unquote(literal)
	if err != nil {
		t.Fatalf("%s: %v", literal, err)
	}
	return text
}

func read(t testing.TB, binary string) (Declaration, error) {
	t.Helper()
	return ReadDeclaration(strings.NewReader(binary), int64(len(binary)))
}
