package vet

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func goroot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("skipped layer: compile: no go command: ", err)
	}
	return strings.TrimSpace(string(out))
}

// What vetting accepts, the compiler accepts: the build roots of the accepted fixtures compile.
func TestAcceptedFixturesCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	goroot(t)
	names, err := filepath.Glob("../testdata/accepted/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			dir := t.TempDir()
			readFixture(t, name).write(t, dir+"/source")
			p := pass(t, dir+"/source")
			root, err := p.Root(p.Manifest().Config())
			if err != nil {
				t.Fatal(err)
			}
			if err := root.WriteTo(dir + "/root"); err != nil {
				t.Fatal(err)
			}
			build := exec.Command("go", "build", "-mod=vendor", "-trimpath", "-buildvcs=false", "-o", os.DevNull, "./...")
			build.Dir = dir + "/root"
			build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "CGO_ENABLED=0", "GOENV=off", "GOTOOLCHAIN=local")
			if out, err := build.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
