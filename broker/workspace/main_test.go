package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(mountVariable); dir != "" {
		os.Exit(amongMounts(dir))
	}
	goleak.VerifyTestMain(m)
}

// mountVariable makes this test's program one that looks at mounts in a directory, in namespaces of its own.
const mountVariable = "LOOMEXT_TEST_WORKSPACE_MOUNTS"

// each runs a test with both ways of holding a directory.
func each(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	t.Run("openat2", func(t *testing.T) { test(t, Options{}) })
	t.Run("os.Root", func(t *testing.T) { test(t, Options{portable: true}) })
}

// begin opens a new directory. Its parent is the test's as well.
func begin(t *testing.T, o Options) (*Workspace, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return openAt(t, dir, o), dir
}

func openAt(t *testing.T, dir string, o Options) *Workspace {
	t.Helper()
	w, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// put writes files for a test, with their directories.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, to string, at ...string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(at...)); err != nil {
		t.Skip("this system makes no links: ", err)
	}
}

func code(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok && err != nil {
		return "another type: " + err.Error()
	}
	if !ok {
		return ""
	}
	return e.Code
}

// refused holds an error against a code and a part of its message.
func refused(t *testing.T, what string, err error, want, part string) {
	t.Helper()
	if code(err) != want || !strings.Contains(err.Error(), part) {
		t.Errorf("%s: %v (%s); want %s with %q", what, err, code(err), want, part)
	}
}

// disk is what lies beneath a directory: the text of files, links as "-> target", directories as "/".
func disk(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch d.Type() {
		case fs.ModeDir:
			found[filepath.ToSlash(name)] = "/"
		case fs.ModeSymlink:
			target, _ := os.Readlink(path)
			found[filepath.ToSlash(name)] = "-> " + target
		case 0:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[filepath.ToSlash(name)] = string(text)
		default:
			found[filepath.ToSlash(name)] = d.Type().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
