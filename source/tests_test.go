package source

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTestsAreWhatATreePrunes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"extension.toml": "", "tool/tool.go": "package tool\n", "tool/tool_test.go": "package tool\n", "tool/testdata/a/.b": "data",
		"root_test.go": "package x\n", "only/tests_test.go": "package only\n", "testdata/fuzz/x": "", "vendor/a/a_test.go": "", ".git/x_test.go": "",
		"docs/x_test.go": "", "notes.txt": "", "go.sum": "", "loom_satellite/x_test.go": "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Tests(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"only/tests_test.go", "root_test.go", "testdata/fuzz/x", "tool/testdata/a/.b", "tool/tool_test.go"}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := os.RemoveAll(filepath.Join(dir, "loom_satellite")); err != nil {
		t.Fatal(err)
	}
	tree, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if _, ok := tree.File(name); ok {
			t.Errorf("%s is in the tree as well", name)
		}
	}
}

func TestTestsFollowNoLink(t *testing.T) {
	for _, name := range []string{"x_test.go", "testdata/passwd"} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/etc/passwd", path); err != nil {
			t.Fatal(err)
		}
		if _, err := Tests(t.Context(), dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTestsAreBounded(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "testdata"), 0o755); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "testdata", "big")
	if err := os.WriteFile(big, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, MaxTestFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Tests(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "testdata/big: is 8388609 bytes; at most 8388608") {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Tests(ended, dir); err == nil {
		t.Error("an ended context did not end the walk")
	}
}
