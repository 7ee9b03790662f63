package vendorize

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

func TestVendoredTreeIsOursAndTheirsWithoutTests(t *testing.T) {
	r := newRoot(t)
	for name := range r.Files() {
		base := filepath.Base(name)
		switch {
		case strings.Contains(name, "/testdata/"), strings.HasSuffix(name, "_test.go"), strings.Contains(name, "/hosttest/"):
			t.Errorf("%s belongs to our tests", name)
		case strings.Contains(name, "/captest/"):
			t.Errorf("%s belongs to an author's tests", name)
		case name == "go.mod", name == "vendor/modules.txt", strings.HasSuffix(name, ".go"), strings.HasPrefix(base, "LICENSE"):
		default:
			t.Errorf("%s is no part of a build", name)
		}
	}
	for _, name := range []string{
		"vendor/github.com/loomext/loomext/LICENSE",
		"vendor/github.com/loomext/loomext/internal/wire/wire.go",
		"vendor/github.com/loomext/loomext/prelude/ext/ext.go",
		"vendor/github.com/vmihailenco/msgpack/v5/LICENSE",
		"vendor/github.com/vmihailenco/tagparser/v2/LICENSE",
	} {
		data, ok := r.File(name)
		if !ok || len(data) == 0 {
			t.Errorf("%s is not vendored", name)
		}
		ours, found := strings.CutPrefix(name, "vendor/github.com/loomext/loomext/")
		if !found {
			continue
		}
		if want, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(ours))); err != nil || !bytes.Equal(data, want) {
			t.Errorf("%s is not this repository's %s (%v)", name, ours, err)
		}
	}
}

func TestEveryModuleIsRequiredAndHasALanguageVersion(t *testing.T) {
	r := newRoot(t)
	text, _ := r.File("go.mod")
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var required []string
	for _, q := range mod.Require {
		required = append(required, "# "+q.Mod.Path+" "+q.Mod.Version)
	}
	modules, _ := r.File("vendor/modules.txt")
	lines := strings.Split(string(modules), "\n")
	var listed []string
	for i, line := range lines {
		if strings.HasPrefix(line, "# ") {
			listed = append(listed, line)
			if !strings.HasPrefix(lines[i+1], "## explicit; go 1.") {
				t.Errorf("%s has no language version: %s", line, lines[i+1])
			}
		}
	}
	if len(listed) < 3 || !slices.Equal(slices.Sorted(slices.Values(required)), slices.Sorted(slices.Values(listed))) {
		t.Errorf("go.mod requires %v, modules.txt lists %v", required, listed)
	}
}

func TestPreludeDigestIsOfWhatIsVendored(t *testing.T) {
	first := Digest()
	if !strings.HasPrefix(first, "sha256:") || len(first) != len("sha256:")+64 {
		t.Fatalf("the digest is %q", first)
	}
	v, err := vendored()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for name, data := range v.files {
		files[name] = data
	}
	files["vendor/github.com/loomext/loomext/prelude/ext/ext.go"] = []byte("package ext\n")
	if digest(files) == first {
		t.Error("another prelude has the same digest")
	}
}

// The go command itself is the judge of a vendor directory: it compares go.mod with modules.txt, and finds every import.
func TestGoCommandTakesTheVendorDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	r := newRoot(t)
	var source strings.Builder
	source.WriteString("package main\n\nimport (\n")
	for _, p := range Packages() {
		if strings.Contains(p, "/prelude/") && !strings.Contains(p, "/internal") {
			source.WriteString("\t_ \"" + p + "\"\n")
		}
	}
	source.WriteString(")\n\nfunc main() {}\n")
	if err := r.AddSatellite("loom_satellite/main.go", []byte(source.String())); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-mod=vendor", "-deps", "-f", "{{with .Error}}{{.}}{{end}}", "./loom_satellite")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off", "GOMODCACHE="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("go list: %v\n%s", err, out)
	}
}
