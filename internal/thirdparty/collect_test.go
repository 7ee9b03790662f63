package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/loomext/loomext"
)

// What is embedded is what the module cache holds for the versions in go.mod, file by file: the very packages that this
// repository compiles and tests.
func TestEmbeddedSourcesAreTheModuleCaches(t *testing.T) {
	want, err := Collect(context.Background(), filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	third, err := fs.Sub(loomext.Sources(), "third_party/_src")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(third, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		have, err := fs.ReadFile(third, name)
		if err != nil {
			return err
		}
		if source, ok := want[name]; !ok || !bytes.Equal(source, have) {
			t.Errorf("%s is not what the module cache has; run make generate", name)
		}
		delete(want, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		t.Errorf("%s is missing; run make generate", name)
	}
}

func TestEveryCarriedModuleIsTheOneInGoMod(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range mod.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	modules, err := fs.ReadFile(loomext.Sources(), path.Join("third_party/_src", ModulesFile))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(modules)) {
		fields := strings.Fields(line)
		if fields[0] != "#" {
			continue
		}
		n++
		if versions[fields[1]] != fields[2] {
			t.Errorf("%s %s is carried; go.mod has %q", fields[1], fields[2], versions[fields[1]])
		}
		if _, err := fs.Stat(loomext.Sources(), path.Join("third_party/_src", fields[1], "LICENSE")); err != nil {
			t.Errorf("%s is carried without its license: %v", fields[1], err)
		}
	}
	if n == 0 {
		t.Error("no module is carried")
	}
}
