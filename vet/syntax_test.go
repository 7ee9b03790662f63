package vet

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/prelude/ext"
	"github.com/loomext/loomext/prelude/ext/hook"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vendorize"
)

// open makes a tree of the base fixture with more files, and its manifest.
func open(t testing.TB, more map[string]string) (source.Tree, manifest.Manifest) {
	t.Helper()
	files := map[string][]byte{}
	for _, some := range []map[string]string{base, more} {
		for p, text := range some {
			files[p] = []byte(text)
		}
	}
	tree, err := source.FromFiles(files, "test")
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Decode(files["extension.toml"], tree)
	if err != nil {
		t.Fatal(err)
	}
	return tree, m
}

func TestFindingText(t *testing.T) {
	tree, m := open(t, map[string]string{"tool/more.go": "package tool\n\nimport \"os\"\n\nvar Args = os.Args\n"})
	_, err := Syntax(t.Context(), tree, m)
	var found Findings
	if !errors.As(err, &found) || len(found) != 1 {
		t.Fatal(err)
	}
	const want = `tool/more.go:3:8: import: "os": it reaches files, the environment and the process; ` +
		`use github.com/loomext/loomext/prelude/cap/fs, and request fs_read or fs_write; for settings, [config] and ext.Config; for secrets, [[net.secret]]`
	if got := found[0].String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err.Error() != "vetting: "+want {
		t.Errorf("as an error it is %s", err)
	}
	for f, want := range map[Finding]string{
		{Path: "a/b.go", Lint: "file", What: "x", Fix: "y"}:                       "a/b.go: file: x; y",
		{Path: "a/b.go", Line: 3, Lint: "file", What: "x", Fix: "y"}:              "a/b.go:3: file: x; y",
		{Path: "a", Line: 3, Col: 9, Lint: "l", What: "\x1b[2J\u202e\n", Fix: ""}: `a:3:9: l: \x1b[2J\u202e\n; `,
	} {
		if f.String() != want {
			t.Errorf("got %q, want %q", f, want)
		}
	}
}

func TestColumnsAreBytesAndLinesAreReal(t *testing.T) {
	tree, m := open(t, map[string]string{"lib/lib.go": "package lib\n\n/*line other.go:99:99*/ var größe, _ = \"ä\", print\n\nfunc f() { _ = \"€\"; println() }\n"})
	_, err := Syntax(t.Context(), tree, m)
	var found Findings
	if !errors.As(err, &found) {
		t.Fatal(err)
	}
	var places []string
	for _, f := range found {
		places = append(places, fmt.Sprintf("%s:%d:%d %s", f.Path, f.Line, f.Col, f.Lint))
	}
	want := []string{"lib/lib.go:3:1 directive", "lib/lib.go:3:29 name", "lib/lib.go:5:23 symbol"}
	if !slices.Equal(places, want) {
		t.Errorf("got %q, want %q", places, want)
	}
}

func TestUses(t *testing.T) {
	f := readFixture(t, "../testdata/accepted/capabilities.txtar")
	dir := t.TempDir() + "/x"
	f.write(t, dir)
	p := pass(t, dir)
	var got []string
	for _, u := range p.Uses() {
		got = append(got, fmt.Sprintf("%s %s:%d:%d %s", u.Capability, u.Path, u.Line, u.Col, u.Symbol))
	}
	want := []string{
		"fs_read internal/store/store.go:12:13 fs.Read",
		"kv internal/store/store.go:13:2 kv.Set",
		"net tool/run.go:15:15 net.Fetch",
	}
	if !slices.Equal(got, want) {
		t.Errorf("uses are %q, want %q", got, want)
	}
	if p.Module() != "example.com/you/fixture" {
		t.Errorf("module is %q", p.Module())
	}
	if p.Tree().Digest() == "" || p.Manifest().Name() != "fixture" {
		t.Error("the package lost its tree or its manifest")
	}
}

// pass takes a directory through the layers and insists that it passes.
func pass(t testing.TB, dir string) Package {
	t.Helper()
	tree, err := source.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := tree.File("extension.toml")
	m, err := manifest.Decode(text, tree)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Syntax(t.Context(), tree, m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRootHoldsPackagesAndNothingElse(t *testing.T) {
	tree, m := open(t, map[string]string{"README.md": "x", "skills/s.md": "x", "lib/a.go": "package lib\n", "root.go": "package fixture\n"})
	p, err := Syntax(t.Context(), tree, m)
	if err != nil {
		t.Fatal(err)
	}
	root, err := p.Root(m.Config())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for path := range root.Files() {
		if !strings.HasPrefix(path, "vendor/") {
			got = append(got, path)
		}
	}
	slices.Sort(got)
	want := []string{"go.mod", "lib/a.go", "loom_satellite/declaration.go", "loom_satellite/main.go", "root.go", "tool/run.go"}
	if !slices.Equal(got, want) {
		t.Errorf("the root holds %q, want %q", got, want)
	}
	if p.Module() != "extension.invalid/fixture" {
		t.Errorf("module is %q", p.Module())
	}
}

func TestContextEnds(t *testing.T) {
	tree, m := open(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Syntax(ctx, tree, m); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The module paths that the tree refuses are those a build root vendors.
func TestVendoredModulesCannotBeTaken(t *testing.T) {
	root, err := vendorize.New("example.com/x")
	if err != nil {
		t.Fatal(err)
	}
	list, ok := root.File("vendor/modules.txt")
	if !ok {
		t.Fatal("no vendor/modules.txt")
	}
	n := 0
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "#" {
			continue
		}
		n++
		for _, module := range []string{words[1], words[1] + "/x", filepath.Dir(words[1])} {
			_, err := source.FromFiles(map[string][]byte{"extension.toml": nil, "go.mod": []byte("module " + module + "\n")}, "")
			if err == nil {
				t.Errorf("the module path %s was taken, and %s is vendored", module, words[1])
			}
		}
	}
	if n < 2 {
		t.Errorf("only %d modules in\n%s", n, list)
	}
}

func TestSeam(t *testing.T) {
	s := CurrentSeam()
	if s.Version != SeamVersion || !slices.IsSorted(s.Allow) || !slices.IsSorted(s.Denied) || len(s.Denied) != 19 {
		t.Errorf("%+v", s)
	}
	for _, path := range s.Allow {
		dir := filepath.Join(goroot(t), "src", path)
		if rest, ok := strings.CutPrefix(path, project+"/"); ok {
			dir = "../" + rest
		}
		if files, _ := filepath.Glob(dir + "/*.go"); len(files) == 0 {
			t.Errorf("%s is on the seam and not in %s", path, dir)
		}
		if _, ok := refused[path]; ok {
			t.Errorf("%s is allowed and refused", path)
		}
	}
	for _, symbol := range s.Denied {
		path := symbol[:strings.LastIndexByte(symbol, '.')]
		if !slices.Contains(s.Allow, path) {
			t.Errorf("%s is denied and its package is not allowed anyway", symbol)
		}
	}
}

// Every function a capability package exports belongs to a capability the manifest knows, so that none can be used
// without being requested.
func TestEveryCapabilityFunctionIsCounted(t *testing.T) {
	known := manifest.Capabilities()
	counted := map[string]bool{}
	for _, pkg := range capabilityPackages() {
		for name := range exportedFuncs(t, "../prelude/cap/"+pkg) {
			c := capability(caps+pkg, name)
			if pkg == "report" {
				if c != "" {
					t.Errorf("report.%s is %s", name, c)
				}
				continue
			}
			if !slices.Contains(known, c) {
				t.Errorf("%s.%s belongs to %q, which no manifest can request", pkg, name, c)
			}
			counted[c] = true
		}
	}
	if got := slices.Sorted(maps.Keys(counted)); !slices.Equal(got, slices.Sorted(slices.Values(known))) {
		t.Errorf("functions for %q, capabilities are %q", got, known)
	}
}

func exportedFuncs(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

// The shapes that entries are compared with are those of the prelude.
func TestEntryShapesAreThePreludes(t *testing.T) {
	for event, constructor := range map[string]any{
		"session_start": hook.OnSessionStart, "before_agent_start": hook.OnBeforeAgentStart, "context": hook.OnContext,
		"tool_call": hook.OnToolCall, "tool_result": hook.OnToolResult, "agent_end": hook.OnAgentEnd,
		"agent_settled": hook.OnAgentSettled, "before_compact": hook.OnBeforeCompact, "usage": hook.OnUsage,
	} {
		want := reflect.TypeOf(constructor).In(0).String()
		got := strings.Replace(entry{shape: hookShapes[event]}.signature(), "func (", "func(", 1)
		if got != want {
			t.Errorf("%s is %s, the prelude has %s", event, got, want)
		}
	}
	if events := manifest.Events(); len(events) != len(hookShapes) {
		t.Errorf("shapes for %d events, the manifest knows %q", len(hookShapes), events)
	}
	tool := reflect.TypeFor[ext.Tool]()
	got := strings.Replace(entry{shape: toolShape}.signature(), "func (", "func(", 1)
	want := fmt.Sprintf("func(%v, %v) (%v, %v)", tool.In(0), tool.In(1), tool.Out(0), tool.Out(1))
	if got != want {
		t.Errorf("a tool is %s, the prelude has %s", got, want)
	}
}

func TestLintsAreExplained(t *testing.T) {
	names := map[string]bool{}
	for _, l := range Lints() {
		names[l.Name] = true
		if l.Why == "" {
			t.Errorf("%s has no reason", l.Name)
		}
	}
	if !slices.IsSortedFunc(Lints(), func(a, b Lint) int { return strings.Compare(a.Name, b.Name) }) || len(names) != len(Lints()) {
		t.Error("lints are not sorted, or one is there twice")
	}
}

// FuzzSyntax holds that any bytes in a file end in findings or in a pass, that findings are sorted, printable and in
// the file, and that what passed imports the seam alone and holds no directive.
func FuzzSyntax(f *testing.F) {
	for _, name := range fixtureSources(f) {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > source.MaxFile {
			return
		}
		tree, m := open(t, map[string]string{"lib/lib.go": text})
		_, err := Syntax(t.Context(), tree, m)
		var found Findings
		if errors.As(err, &found) {
			for i, one := range found {
				if i > 0 && (one.Path < found[i-1].Path || one.Path == found[i-1].Path && one.Line < found[i-1].Line) {
					t.Errorf("%v after %v", one, found[i-1])
				}
				if strings.ContainsFunc(one.String(), func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%q cannot be printed", one)
				}
				if one.Path == "lib/lib.go" && (one.Line > strings.Count(text, "\n")+1 || one.What == "" || one.Fix == "") {
					t.Errorf("%+v is not in the file, or says nothing", one)
				}
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("passed, and is no Go: %v", err)
		}
		for _, group := range parsed.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "/*line ") || strings.HasPrefix(c.Text, "//line ") {
					t.Errorf("passed with %q", c.Text)
				}
			}
		}
		for _, spec := range parsed.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if !allowed[path] && !strings.HasPrefix(path, "extension.invalid/fixture/tool") {
				t.Errorf("passed with an import of %q", path)
			}
		}
	})
}

// fixtureSources are the Go files of the fixtures that are no templates.
func fixtureSources(t testing.TB) []string {
	names, err := filepath.Glob("../testdata/hostile/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, name := range names {
		f := readFixture(t, name)
		for _, file := range f.archive.Files {
			if strings.HasSuffix(file.Name, ".go") && f.one("template") == "" {
				texts = append(texts, string(file.Data))
			}
		}
	}
	return texts
}

func BenchmarkSyntax20Files(b *testing.B) {
	text, err := os.ReadFile("syntax.go")
	if err != nil {
		b.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "// Package is a source")
	files := map[string]string{}
	for i := range 19 {
		// What this package itself is made of, as far as the seam lets it: about 150 lines.
		files[fmt.Sprintf("p%d/x.go", i)] = fmt.Sprintf("package p%d\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"strings\"\n)\n\n// Package is a source%s", i, body)
	}
	tree, m := open(b, files)
	b.SetBytes(int64(19 * len(body)))
	for b.Loop() {
		if _, err := Syntax(b.Context(), tree, m); err != nil {
			b.Fatal(err)
		}
	}
}
