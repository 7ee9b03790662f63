package vendorize

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func newRoot(t testing.TB) *Root {
	t.Helper()
	r, err := New("example.com/web")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNoFileOfAnExtensionTakesThePlaceOfOurs(t *testing.T) {
	for _, name := range []string{
		"go.mod", "GO.MOD", "go.sum", "go.work", "vendor/modules.txt", "Vendor/x.go", "vendor/github.com/loomext/loomext/prelude/ext/evil.go",
		"loom_satellite/main.go", "loom_satellite/z.go", "Loom_Satellite/main.go", "loom_satellite", "vendor",
	} {
		r := newRoot(t)
		before := r.Digest()
		if err := r.Add(name, []byte("package x\n")); err == nil {
			t.Errorf("%s was taken", name)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the refusal does not name it: %v", name, err)
		}
		if r.Digest() != before {
			t.Errorf("%s: a refused file changed the root", name)
		}
	}
}

func TestPathsThatAreNotOneFileEverywhere(t *testing.T) {
	for _, name := range []string{
		"", ".", "/etc/x.go", "../x.go", "a/../x.go", "a//x.go", "a/./x.go", "a/x.go/", `a\x.go`, "a/\x00.go", "a/\n.go", "a/ü.go", "a/\u202e.go",
		"a b.go", ".hidden.go", "a/.git/x.go", "a./x.go", "c:/x.go", "a/*.go", strings.Repeat("a", maxPath) + ".go", "a/x.txt", "a/x.s", "a/go.mod",
	} {
		if err := newRoot(t).Add(name, nil); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	for _, name := range []string{"x.go", "a/x.go", "_a/b-c/x_1.go", "internal/vendor2/x.go"} {
		if err := newRoot(t).Add(name, nil); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestTwoFilesCannotShareAName(t *testing.T) {
	for _, pair := range [][2]string{
		{"a/x.go", "a/x.go"}, {"a/x.go", "a/X.go"}, {"a/x.go", "A/y.go"}, {"a.go", "a.go/x.go"}, {"a.go/x.go", "a.go"}, {"A.go", "a.go/x.go"},
		{"a/b/x.go", "a/B/y.go"},
	} {
		r := newRoot(t)
		if err := r.Add(pair[0], []byte("1")); err != nil {
			t.Fatal(err)
		}
		before := r.Digest()
		if err := r.Add(pair[1], []byte("2")); err == nil {
			t.Errorf("%s was taken beside %s", pair[1], pair[0])
		}
		if r.Digest() != before {
			t.Errorf("%s: a refused file changed the root", pair[1])
		}
	}
}

func TestOnlyRenderedFilesGoWhereTheProgramIs(t *testing.T) {
	r := newRoot(t)
	if err := r.AddSatellite("loom_satellite/main.go", nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"loom_satellite/main.go", "tool/run.go", "loom_satellite/a/b.go", "loom_satellite", "vendor/x.go", "loom_satellite/../go.mod"} {
		if err := r.AddSatellite(name, nil); err == nil {
			t.Errorf("%s was taken as a part of the program", name)
		}
	}
}

func TestModulePathsThatReachIntoOurs(t *testing.T) {
	for _, path := range []string{
		// Below, at and above what is vendored. github.com/loomext could hold loomext/x, inside our internal packages.
		"github.com/loomext/loomext", "github.com/loomext/loomext/x", "github.com/loomext", "github.com", "github.com/LoomExt/loomext",
		"github.com/vmihailenco/msgpack", "github.com/vmihailenco/msgpack/v5", "github.com/vmihailenco/msgpack/v5/x", "github.com/vmihailenco",
		// No module path at all, or one of the standard library.
		"", "fmt", "web", "crypto/evil", "example.com/a b", "example.com/../x", "/example.com", "example.com/", "Example.com/\"\n", "-x.com/y", "example.com/\u00e9",
	} {
		if _, err := New(path); err == nil {
			t.Errorf("%q was taken", path)
		}
	}
	for _, path := range []string{"example.com/web", "extension.invalid/web_search", "github.com/loomext-fan/x", "github.com/loomext/other", "github.com/vmihailenco/other"} {
		if r, err := New(path); err != nil {
			t.Errorf("%q: %v", path, err)
		} else if text, _ := r.File("go.mod"); !strings.HasPrefix(string(text), "module "+path+"\n\ngo 1.26\n") {
			t.Errorf("%q: go.mod is %s", path, text)
		}
	}
}

func TestDigestIsOfContentAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{1,3}/[a-z]{1,3}\.go`)
		files := rapid.MapOfN(name, rapid.SliceOf(rapid.Byte()), 1, 6).Draw(t, "files")
		order := slices.Sorted(maps.Keys(files))
		build := func(order []string) *Root {
			r, err := New("example.com/web")
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range order {
				if err := r.Add(n, files[n]); err != nil {
					t.Fatal(err)
				}
			}
			return r
		}
		whole := build(order).Digest()
		if shuffled := build(rapid.Permutation(order).Draw(t, "order")).Digest(); shuffled != whole {
			t.Fatal("the digest depends on the order of the files")
		}
		// Leaving a file out, or moving a byte from a file to its name, is another root.
		if build(order[1:]).Digest() == whole {
			t.Fatal("a missing file does not change the digest")
		}
	})
	a, b := digest(map[string][]byte{"ab": []byte("c")}), digest(map[string][]byte{"a": []byte("bc")})
	if a == b {
		t.Error("path and content run into each other in the digest")
	}
}

func TestWrittenRootIsTheRoot(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	r := newRoot(t)
	if err := r.Add("tool/run.go", []byte("package tool\n")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "root")
	if err := r.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fileMode
		if d.IsDir() {
			want = dirMode
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, not %v", path, info.Mode(), want)
		}
		if d.IsDir() {
			return nil
		}
		name, _ := filepath.Rel(dir, path)
		got[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if digest(got) != r.Digest() {
		t.Error("what was written is not the root")
	}
	if err := r.WriteTo(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("writing over a root gives %v", err)
	}
	if err := r.WriteTo(filepath.Join(dir, "go.mod", "x")); err == nil {
		t.Error("a root was written below a file")
	}
}

func TestWriteThatFailsLeavesNothing(t *testing.T) {
	r := newRoot(t)
	// A name that no file system takes, put past Add, makes the write fail half way.
	if err := r.put(strings.Repeat("x", 300)+".go", nil); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "root")
	if err := r.WriteTo(dir); err == nil {
		t.Fatal("the write did not fail")
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was left: %v", err)
	}
}
