package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomext/loomext/manifest"
)

// TestScaffoldsInstallAndPass runs the tests of what new writes, and installs it: all hooks with two tools, and a hook alone.
// Which of these a scaffold has changes its manifest and nothing in a package, so that these stand for every combination.
func TestScaffoldsInstallAndPass(t *testing.T) {
	w := newWorld(t, sharedCache)
	all := []string{"--tool", "first", "--tool", "func"}
	for _, event := range manifest.Events() {
		all = append(all, "--hook", event)
	}
	for name, args := range map[string][]string{"everything": all, "one_hook": {"--hook", "context"}} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			w.must(append([]string{"new", dir}, args...)...)
			for _, verb := range []string{"vet", "test"} {
				cmd := exec.Command("go", verb, "./...")
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local", "GOMODCACHE="+t.TempDir())
				out, err := cmd.CombinedOutput()
				if err != nil || strings.Contains(string(out), "no test") {
					t.Errorf("go %s: %v\n%s", verb, err, out)
				}
			}
			w.must("install", dir, "--yes")
			w.must("verify", name)
		})
	}
	out, err := w.command("call", "everything", "func", "--args", `{"text": "one two", "words": 1}`).Output()
	if want := `{"text":"one","words":1}`; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("the call printed %s, %v; want %s", out, err, want)
	}
}
