package vet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestHolesAreReal builds and runs what the rules refuse, without them: a rule that closes nothing has no place here. Each
// control is a source that is refused and a program that uses it and says "hole" where it did what it should not.
func TestHolesAreReal(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	names, err := filepath.Glob("../testdata/controls/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, want, ok := strings.Cut(strings.TrimSpace(string(archive.Comment)), "\n\nrefused: ")
			if !ok {
				t.Fatal("it does not say what refuses it")
			}
			files, main := map[string]string{}, ""
			for _, f := range archive.Files {
				if f.Name == "main.go" {
					main = string(f.Data)
				} else {
					files[f.Name] = string(f.Data)
				}
			}
			dir := t.TempDir() + "/source"
			writeFiles(t, dir, files)
			if got := refusedBy(t, dir); got != want {
				t.Errorf("refused by %q, want %q", got, want)
			}
			if said := runWithout(t, files, main); said != "hole\n" {
				t.Errorf("without the rule the program says %q", said)
			}
		})
	}
}

// refusedBy is the layer that refuses a source, and the rules that do where it is vetting.
func refusedBy(t *testing.T, dir string) string {
	layer, _, found, err := judge(t, dir)
	if layer != Layer {
		return layer
	}
	var rules []string
	for _, line := range found {
		_, lint, _ := strings.Cut(line, ": ")
		rules = append(rules, lint)
	}
	if len(rules) == 0 {
		t.Fatal(err)
	}
	slices.Sort(rules)
	return layer + ": " + strings.Join(slices.Compact(rules), ", ")
}

// runWithout builds and runs a program as if there were no vetting, and returns what it says.
func runWithout(t *testing.T, files map[string]string, main string) string {
	t.Helper()
	work := t.TempDir()
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o755), os.WriteFile(filepath.Join(work, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(
		os.WriteFile(work+"/go.mod", []byte("module extension.invalid/fixture\n\ngo 1.26\n"), 0o644),
		os.WriteFile(work+"/main.go", []byte(main), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", "program", ".")
	build.Dir = work
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOENV=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOPROXY=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("it does not compile without the rule either: %v\n%s", err, out)
	}
	program := exec.Command(work + "/program")
	out, _ := program.CombinedOutput()
	if strings.Contains(string(out), "libevil.so") {
		return "hole\n" // the loader looked for the library, before main
	}
	return string(out)
}

// bombs are the fixtures that hang a compiler, or take its memory, in what is a moment for the rules.
var bombs = []string{
	"typed_struct_doubling", "typed_interface_doubling", "typed_alias_doubling", "typed_generic_doubling", "typed_inferred_doubling",
}

// TestBombsAreReal gives the compiler a few seconds and two gigabytes for each.
func TestBombsAreReal(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	if runtime.GOOS != "linux" {
		t.Skip("skipped layer: compile: limits are set with ulimit")
	}
	compiler := filepath.Join(goroot(t), "pkg", "tool", runtime.GOOS+"_"+runtime.GOARCH, "compile")
	for _, name := range bombs {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			readFixture(t, "../testdata/hostile/"+name+".txtar").write(t, dir)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			const seconds = 2
			cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf("ulimit -t %d; ulimit -v %d; exec %s -p lib -o /dev/null lib/lib.go", seconds, 2<<20, compiler))
			cmd.Dir = dir
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Run(); err == nil {
				t.Error("the compiler takes it")
			} else if strings.Contains(said.String(), "lib.go:") && !strings.Contains(said.String(), "goroutine") {
				t.Errorf("the compiler refuses it by itself: %.300s", said.String())
			}
		})
	}
}
