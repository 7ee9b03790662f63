package conformance

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

//go:generate go test -run TestTheExampleIsWhatTheSuiteRunsAgainst -update

var update = flag.Bool("update", false, "write examples/everything anew")

// The extension that the suite runs against is shown as an example too.
const (
	fixtureDir = "../testdata/conformance"
	exampleDir = "../../../examples/everything"
)

// The way to the root of the repository, from each of them.
var (
	fixtureRoot = []byte("../../../..")
	exampleRoot = []byte("../..")
)

func TestTheExampleIsWhatTheSuiteRunsAgainst(t *testing.T) {
	want := tree(t, fixtureDir)
	for name, text := range want {
		want[name] = bytes.ReplaceAll(text, fixtureRoot, exampleRoot)
	}
	if *update {
		writeTree(t, exampleDir, want)
	}
	got := tree(t, exampleDir)
	for name, text := range want {
		if have, ok := got[name]; !ok || !bytes.Equal(have, text) {
			t.Errorf("examples/everything/%s is not what %s is; run make generate", name, filepath.Join(fixtureDir, name))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("examples/everything has %s, and %s has not; run make generate", name, fixtureDir)
		}
	}
}

// tree is every file below a directory.
func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// writeTree puts files in the place of whatever is in a directory.
func writeTree(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
