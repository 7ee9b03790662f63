package vet

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// refusedByGo are the rules whose example the compiler refuses too, or does not see.
var refusedByGo = []string{LintCompile, LintDeclaration, LintEntry, LintFile, LintSyntax}

// Every example is refused, by the rule it explains and by nothing else, and by the compiler where it would be.
func TestExamplesOfLints(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	for _, l := range Lints() {
		if l.Example == "" {
			if l.Name != LintMore {
				t.Errorf("%s has no example", l.Name)
			}
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			dir := t.TempDir() + "/source"
			writeFiles(t, dir, map[string]string{l.Path: l.Example})
			layer, _, found, err := judge(t, dir)
			if layer != Layer || len(found) == 0 || slices.ContainsFunc(found, func(line string) bool { return !strings.HasSuffix(line, ": "+l.Name) }) {
				t.Errorf("found %q by %q: %v", found, layer, err)
			}
			if err := compiles(t, dir); (err == nil) == slices.Contains(refusedByGo, l.Name) {
				t.Errorf("the compiler says %v", err)
			}
		})
	}
}

// compiles builds every package of a source, whatever vetting says of it, with the prelude beside it, and the entry as the
// generated program uses it.
func compiles(t testing.TB, dir string) error {
	t.Helper()
	goroot(t)
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	mod := "module extension.invalid/fixture\n\ngo 1.26\n\nrequire github.com/loomext/loomext v0.0.0\n\nreplace github.com/loomext/loomext => " + filepath.Dir(root) + "\n"
	use := "package use\n\nimport (\n\t\"extension.invalid/fixture/tool\"\n\t\"github.com/loomext/loomext/prelude/ext\"\n)\n\nvar Tool ext.Tool = tool.Run\n"
	err = errors.Join(os.WriteFile(work+"/go.mod", []byte(mod), 0o644), os.Mkdir(work+"/use", 0o755), os.WriteFile(work+"/use/use.go", []byte(use), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-mod=mod", "./...")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOENV=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOPROXY=off", "GONOSUMDB=*", "GOSUMDB=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.New(string(out))
	}
	matches, _ := filepath.Glob(work + "/lib/*_windows.go")
	if len(matches) > 0 {
		return errors.New("a file was passed over")
	}
	return nil
}

func TestTextShowsWhatDoesNotPrint(t *testing.T) {
	for _, l := range Lints() {
		text := l.Text()
		if !strings.HasPrefix(text, l.Name+"\n\n") {
			t.Errorf("%s begins with %q", l.Name, text[:10])
		}
		for line := range strings.Lines(text) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%s: %q", l.Name, line)
			}
		}
	}
}
