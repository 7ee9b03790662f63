package vendorize

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"pgregory.net/rapid"
)

const authorModule = "example.com/you/ext"

func authorDir(t testing.TB, goMod string) string {
	t.Helper()
	dir := t.TempDir()
	if goMod != "" {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(goMod), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, dir string) *Author {
	t.Helper()
	a, err := OpenAuthor(dir, authorModule)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// snapshot is every file of a directory, with its time: what is not written has the old one.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, _ := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[rel] = info.ModTime().String() + info.Mode().String() + string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An author has what a satellite has, and captest beside it.
func TestAuthorHasCaptestBesideThePrelude(t *testing.T) {
	files, err := Scaffold(authorModule)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vendored()
	if err != nil {
		t.Fatal(err)
	}
	extra := 0
	for name, data := range files {
		if want, ok := v.files[name]; ok {
			if name != "vendor/modules.txt" && !bytes.Equal(want, data) {
				t.Errorf("%s is another than that of a build", name)
			}
			continue
		}
		if name == "go.mod" {
			continue
		}
		extra++
		if !strings.HasPrefix(name, "vendor/github.com/loomext/loomext/prelude/cap/captest/") {
			t.Errorf("%s is too much", name)
		}
	}
	if extra == 0 {
		t.Error("captest is not there")
	}
	for name := range v.files {
		if _, ok := files[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestAuthorIsWrittenOnce(t *testing.T) {
	dir := authorDir(t, "")
	a := open(t, dir)
	if len(a.Stale()) != a.Files() {
		t.Fatalf("%d of %d files are stale in an empty directory", len(a.Stale()), a.Files())
	}
	if err := a.Write(); err != nil {
		t.Fatal(err)
	}
	first := snapshot(t, dir)
	again := open(t, dir)
	if stale := again.Stale(); len(stale) != 0 {
		t.Fatalf("stale at once: %q", stale)
	}
	if err := again.Write(); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(first, snapshot(t, dir)) {
		t.Error("a second write changed something")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("something is left behind: %v", entries)
	}
}

// Whatever is done to the files, a write puts it right, and says which it were.
func TestAuthorIsPutRight(t *testing.T) {
	dir := authorDir(t, "")
	if err := open(t, dir).Write(); err != nil {
		t.Fatal(err)
	}
	want, err := Scaffold(authorModule)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(want))
	rapid.Check(t, func(rt *rapid.T) {
		touched := map[string]bool{}
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			full := filepath.Join(dir, filepath.FromSlash(name))
			switch change := rapid.SampledFrom([]string{"remove", "change", "link", "more"}).Draw(rt, "change"); {
			case name == "go.mod" && change != "remove":
				continue
			case change == "remove":
				os.Remove(full)
				touched[name] = true
			case change == "change":
				os.Remove(full)
				if err := os.WriteFile(full, append([]byte("// mine\n"), want[name]...), 0o644); err != nil {
					rt.Fatal(err)
				}
				touched[name] = true
			case change == "link":
				os.Remove(full)
				if err := os.Symlink("/etc/hostname", full); err != nil {
					rt.Fatal(err)
				}
				touched[name] = true
			default:
				name = "vendor/github.com/loomext/loomext/prelude/more.go"
				if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("package prelude\n"), 0o644); err != nil {
					rt.Fatal(err)
				}
				touched[name] = true
			}
		}
		a, err := OpenAuthor(dir, authorModule)
		if err != nil {
			rt.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(touched)); !slices.Equal(got, a.Stale()) {
			rt.Fatalf("changed %q, stale %q", got, a.Stale())
		}
		if err := a.Write(); err != nil {
			rt.Fatal(err)
		}
		for name, data := range want {
			full := filepath.Join(dir, filepath.FromSlash(name))
			info, err := os.Lstat(full)
			have, _ := os.ReadFile(full)
			if err != nil || !info.Mode().IsRegular() || !bytes.Equal(have, data) {
				rt.Fatalf("%s is not what it was: %v", name, err)
			}
		}
		if a, err := OpenAuthor(dir, authorModule); err != nil || len(a.Stale()) > 0 {
			rt.Fatalf("stale after a write: %v, %v", a.Stale(), err)
		}
	})
}

func TestAuthorGoModKeepsWhatIsTheirs(t *testing.T) {
	const ours = "\nrequire github.com/loomext/loomext v0.0.0\n\nrequire (\n\tgithub.com/vmihailenco/msgpack/v5 v5.4.1 // indirect\n\tgithub.com/vmihailenco/tagparser/v2 v2.0.0 // indirect\n)\n"
	for _, c := range []struct{ name, have, want string }{
		{"none", "", "module " + authorModule + "\n\ngo 1.26\n" + ours},
		{"no module line", "go 1.26\n", "go 1.26\n\nmodule " + authorModule + "\n" + ours},
		{"another module", "module example.com/b // b\n\ngo 1.26.3\n", "module example.com/b // b\n\ngo 1.26.3\n" + ours},
		{"an old language", "module example.com/b\n\ngo 1.16\n", "module example.com/b\n\ngo 1.26\n" + ours},
		{"another prelude", "module example.com/b\n\ngo 1.26\n\nrequire github.com/loomext/loomext v1.0.0\n\nreplace github.com/loomext/loomext v1.0.0 => ../l\n", "module example.com/b\n\ngo 1.26\n" + ours},
		{"as it should be, in one block", "module example.com/b\n\ngo 1.26\n\nrequire (\n\tgithub.com/loomext/loomext v0.0.0\n\tgithub.com/vmihailenco/msgpack/v5 v5.4.1\n\tgithub.com/vmihailenco/tagparser/v2 v2.0.0\n)\n",
			"module example.com/b\n\ngo 1.26\n\nrequire (\n\tgithub.com/loomext/loomext v0.0.0\n\tgithub.com/vmihailenco/msgpack/v5 v5.4.1\n\tgithub.com/vmihailenco/tagparser/v2 v2.0.0\n)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := authorDir(t, c.have)
			if err := open(t, dir).Write(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err != nil {
				t.Fatal(err)
			}
			a, errA := modfile.Parse("go.mod", got, nil)
			b, errB := modfile.Parse("go.mod", []byte(c.want), nil)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if c.name != "no module line" && string(got) != c.want || a.Module.Mod != b.Module.Mod || a.Go.Version != b.Go.Version {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			cmd := exec.Command("go", "list", "-mod=vendor", "github.com/loomext/loomext/prelude/cap/captest")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOMODCACHE="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("go list: %v\n%s", err, out)
			}
		})
	}
}

func TestAuthorRefusesWhatItWouldLose(t *testing.T) {
	const head = "module example.com/b\n\ngo 1.26\n\n"
	for _, c := range []struct{ name, mod, file, want string }{
		{"a requirement", head + "require rsc.io/quote v1.5.2\n", "", "go.mod:5: it requires rsc.io/quote"},
		{"an indirect one", head + "require (\n\trsc.io/quote v1.5.2 // indirect\n)\n", "", "go.mod:6: it requires rsc.io/quote"},
		{"a replacement", head + "replace rsc.io/quote => ../quote\n", "", "go.mod:5: it replaces rsc.io/quote"},
		{"a tool", head + "tool rsc.io/quote/cmd\n", "", "go.mod:5: it has the tool rsc.io/quote/cmd"},
		{"no go.mod at all", "what is this\n", "", "go.mod:1: unknown directive"},
		{"a module of ours", "module github.com/loomext/loomext/mine\n", "", "overlaps"},
		{"files of another module", head, "vendor/rsc.io/quote/quote.go", "vendor/rsc.io/quote/quote.go is of no module"},
		{"files beside ours", head, "vendor/github.com/loomext/other/x.go", "is of no module"},
		{"a name that lies", head, "vendor/\u202egnp.go", `"vendor/\u202egnp.go" is of no module`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := authorDir(t, c.mod)
			if c.file != "" {
				full := filepath.Join(dir, filepath.FromSlash(c.file))
				if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, nil, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			before := snapshot(t, dir)
			a, err := OpenAuthor(dir, authorModule)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "generate: ") {
				t.Errorf("got %v, %v", a, err)
			}
			if !maps.Equal(before, snapshot(t, dir)) {
				t.Error("a refusal wrote")
			}
		})
	}
}

// Where a write fails, what was there is there.
func TestAuthorThatCannotBeWrittenIsLeftAlone(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("skipped layer: file permissions: they do not bind the superuser")
	}
	dir := authorDir(t, "module example.com/b\n")
	a := open(t, dir)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	before := snapshot(t, dir)
	if err := a.Write(); err == nil || !strings.Contains(err.Error(), "make it writable") {
		t.Errorf("the error is %v", err)
	}
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("something changed")
	}
}

// The way of a file system that cannot exchange two names at once.
func TestSwapWithoutExchange(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"stage/vendor/new", "place/old"} {
		if err := errors.Join(root.MkdirAll(filepath.Dir(name), 0o755), root.WriteFile(name, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := swapSlowly(root, "stage/vendor", "place"); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Stat("place/new"); err != nil {
		t.Error(err)
	}
	if err := swapSlowly(root, "stage/nothing", "place"); err == nil {
		t.Error("what is not there was swapped in")
	}
	if _, err := root.Stat("place/new"); err != nil {
		t.Errorf("a swap that failed took away what was there: %v", err)
	}
}
