package vet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
)

// modulesVariable asks for the test that needs the network; make modules sets it.
const modulesVariable = "LOOMEXT_TEST_MODULES"

// TestWellKnownModules vets the pure parts of fifty modules that people know as if they were packages of an extension,
// and keeps what was refused in the page about lints: a rule that refuses much of them would have to say why.
func TestWellKnownModules(t *testing.T) {
	if os.Getenv(modulesVariable) == "" {
		t.Skip("skipped layer: fetch: " + modulesVariable + " is not set")
	}
	lib := library(t)
	list, err := os.ReadFile("testdata/modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	rows.WriteString("| module | packages | pure | passed | refused by |\n|---|---|---|---|---|\n")
	sum := map[string]int{}
	for _, m := range download(t, strings.Fields(string(list))) {
		all, pure := m.packages(t)
		passed, refused := 0, map[string]int{}
		for _, dir := range slices.Sorted(maps.Keys(pure)) {
			lints, findings := vetAlone(t, lib, m, dir, pure)
			if len(lints) == 0 {
				passed++
				continue
			}
			for lint := range lints {
				refused[lint]++
				sum[lint]++
			}
			for _, f := range findings {
				t.Logf("%s/%s: %v", m.Path, dir, f)
			}
		}
		sum["packages"] += all
		sum["pure"] += len(pure)
		sum["passed"] += passed
		fmt.Fprintf(&rows, "| %s@%s | %d | %d | %d | %s |\n", m.Path, m.Version, all, len(pure), passed, tally(refused))
	}
	packages, pure, passed := sum["packages"], sum["pure"], sum["passed"]
	delete(sum, "packages")
	delete(sum, "pure")
	delete(sum, "passed")
	fmt.Fprintf(&rows, "| **all** | %d | %d | %d | %s |\n", packages, pure, passed, tally(sum))
	holdPage(t, lintsPage, map[string]string{"modules": rows.String()})
}

func tally(refused map[string]int) string {
	names := slices.SortedFunc(maps.Keys(refused), func(a, b string) int {
		return cmp.Or(cmp.Compare(refused[b], refused[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("`%s` %d", name, refused[name])
	}
	return strings.Join(names, ", ")
}

// module is one that was downloaded.
type module struct{ Path, Version, Dir, Error string }

func download(t *testing.T, list []string) []module {
	t.Helper()
	cmd := exec.Command("go", append([]string{"mod", "download", "-json"}, list...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("skipped layer: fetch: %v\n%s", err, out)
	}
	var all []module
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var m module
		if err := decoder.Decode(&m); err != nil || m.Error != "" {
			t.Fatal(err, m.Error)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// packages counts a module's packages, and finds the pure ones, whose files import the seam and pure packages of the
// module alone. Each is listed with the packages of the module that it needs.
func (m module) packages(t *testing.T) (all int, pure map[string][]string) {
	t.Helper()
	imports := map[string]map[string]bool{}
	err := filepath.WalkDir(m.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && name != m.Dir && (strings.HasPrefix(base, "example") || base[0] == '.' || base[0] == '_' || base == "testdata" || base == "vendor") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, _ := filepath.Rel(m.Dir, filepath.Dir(name))
		if ok, err := build.Default.MatchFile(filepath.Dir(name), d.Name()); err != nil || !ok {
			return nil // for another platform, or a program that makes tables
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil || f.Name.Name == "main" {
			return nil
		}
		if imports[rel] == nil {
			imports[rel] = map[string]bool{}
		}
		for _, spec := range f.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			imports[rel][p] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pure = map[string][]string{}
	var need func(dir string, seen map[string]bool) bool
	need = func(dir string, seen map[string]bool) bool {
		if seen[dir] {
			return true
		}
		seen[dir] = true
		if imports[dir] == nil {
			return false
		}
		for p := range imports[dir] {
			own, ok := ownDir(m.Path, p)
			if ok && !need(own, seen) || !ok && !allowed[p] {
				return false
			}
		}
		return true
	}
	for dir := range imports {
		seen := map[string]bool{}
		if need(dir, seen) {
			pure[dir] = slices.Sorted(maps.Keys(seen))
		}
	}
	return len(imports), pure
}

// vetAlone vets one package with those it needs. What is found is that package's own.
func vetAlone(t *testing.T, lib Library, m module, dir string, pure map[string][]string) (lints map[string]bool, findings Findings) {
	t.Helper()
	files := map[string][]byte{}
	for name, text := range base {
		files[name] = []byte(text)
	}
	files["go.mod"] = []byte("module " + m.Path + "\n")
	files["tool/run.go"] = []byte(strings.Replace(string(files["tool/run.go"]), "package tool", "package entry", 1))
	files["loom_entry/run.go"] = files["tool/run.go"]
	delete(files, "tool/run.go")
	files["extension.toml"] = []byte(strings.Replace(string(files["extension.toml"]), `"tool"`, `"loom_entry"`, 1))
	for _, needed := range pure[dir] {
		entries, err := os.ReadDir(filepath.Join(m.Dir, needed))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := e.Name()
			if ok, err := build.Default.MatchFile(filepath.Join(m.Dir, needed), name); err != nil || !ok {
				continue
			}
			if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && e.Type().IsRegular() {
				text, err := os.ReadFile(filepath.Join(m.Dir, needed, name))
				if err != nil {
					t.Fatal(err)
				}
				files[path.Join(filepath.ToSlash(needed), name)] = text
			}
		}
	}
	lints = map[string]bool{}
	tree, err := source.FromFiles(files, "module")
	if err != nil {
		lints["extract"] = true
		return lints, Findings{{Path: dir, Lint: "extract", What: err.Error()}}
	}
	decoded, err := manifest.Decode(files["extension.toml"], tree)
	if err != nil && len(err.(manifest.Faults)) > 0 {
		t.Fatal(err)
	}
	p, syntaxErr := Syntax(t.Context(), tree, decoded)
	if syntaxErr != nil { // the types are of interest all the same
		p = Package{tree: tree, manifest: decoded, module: m.Path}
	}
	_, typedErr := Typed(t.Context(), p, lib, jail.Options{})
	for _, err := range []error{syntaxErr, typedErr} {
		var found Findings
		if err != nil && !errors.As(err, &found) {
			t.Errorf("%s/%s: %v", m.Path, dir, err)
		}
		for _, f := range found {
			if dirOf(f.Path) == dir {
				lints[f.Lint] = true
				findings = append(findings, f)
			}
		}
	}
	return lints, findings
}
