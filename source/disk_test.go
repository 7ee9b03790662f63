package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func onDisk(t testing.TB, files tree) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ext")
	write(t, dir, files)
	return dir
}

func write(t testing.TB, dir string, files tree) {
	t.Helper()
	for p, text := range files {
		full := dir + "/" + p
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLinks(t *testing.T) {
	outside := onDisk(t, tree{"secret.go": "package secret\n", "dir/x.go": "package dir\n"})
	for name, at := range map[string]string{
		"a Go file":           "tool/evil.go",
		"beside Go":           "tool/evil",
		"at the root":         "CLAUDE.md",
		"the manifest's name": "README.md",
		"a schema":            "schema/x.json",
		"a Go file alone":     "lib/only.go",
	} {
		t.Run(name, func(t *testing.T) {
			dir := onDisk(t, with(nil))
			must(t, os.MkdirAll(filepath.Dir(dir+"/"+at), 0o755))
			must(t, os.Symlink(outside+"/secret.go", dir+"/"+at))
			_, err := Open(t.Context(), dir)
			wantRefused(t, err, at, "is a link")
		})
	}
	t.Run("a directory", func(t *testing.T) {
		dir := onDisk(t, with(nil))
		must(t, os.Symlink(outside+"/dir", dir+"/lib"))
		must(t, os.Symlink(".", dir+"/loop"))
		_, err := Open(t.Context(), dir)
		wantRefused(t, err, "lib", "is a link")
		wantRefused(t, err, "loop", "is a link")
	})
	t.Run("pruned", func(t *testing.T) {
		dir := onDisk(t, with(tree{"vendor/a/x.go": "", "assets/x": "", "tool/docs/x": ""}))
		for _, at := range []string{"vendor/l.go", "assets/l", "tool/docs/l.go", ".l", "docs", "go.sum", "tool/l_test.go"} {
			must(t, os.Symlink(outside, dir+"/"+at))
		}
		got, err := Open(t.Context(), dir)
		must(t, err)
		if want := []string{"extension.toml", "schema/tool.json", "tool/run.go"}; !slices.Equal(got.Paths(), want) {
			t.Errorf("kept %q", got.Paths())
		}
	})
	t.Run("the directory that was named", func(t *testing.T) {
		dir := onDisk(t, with(nil))
		must(t, os.Symlink(dir, dir+"-link"))
		got, err := Open(t.Context(), dir+"-link")
		must(t, err)
		if got.Origin() != dir+"-link" {
			t.Errorf("origin is %q", got.Origin())
		}
	})
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("skipped layer: file permissions: they do not bind the superuser")
	}
	dir := onDisk(t, with(tree{"tool/x.go": "", "lib/x.go": ""}))
	must(t, os.Chmod(dir+"/tool/x.go", 0))
	must(t, os.Chmod(dir+"/lib", 0))
	t.Cleanup(func() { os.Chmod(dir+"/lib", 0o755) })
	_, err := Open(t.Context(), dir)
	wantRefused(t, err, "tool/x.go", "cannot be read: permission denied")
	wantRefused(t, err, "lib", "cannot be read: permission denied")
}

func TestWriteTo(t *testing.T) {
	files := with(tree{"a/b/c.go": "package c\n", "skills/x y.md": "\x00\xff", "Makefile": "", "go.mod": "module a.b/c\n"})
	from, err := Open(t.Context(), onDisk(t, files))
	must(t, err)
	dir := t.TempDir() + "/out"
	must(t, from.WriteTo(dir))
	back, err := Reopen(t.Context(), dir, from.Module())
	must(t, err)
	if back.Digest() != from.Digest() || back.Module() != "a.b/c" {
		t.Errorf("read back %s %q, want %s", back.Digest(), back.Module(), from.Digest())
	}
	must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		info, infoErr := d.Info()
		must(t, infoErr)
		if want := map[bool]os.FileMode{true: 0o755, false: 0o644}[d.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", p, info.Mode())
		}
		return err
	}))
	if err := from.WriteTo(dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second write gave %v", err)
	}
	if err := from.WriteTo(t.TempDir()); err != nil {
		t.Errorf("an empty directory gave %v", err)
	}
	if err := from.WriteTo(dir + "/no/parent"); err == nil {
		t.Error("a missing parent was made")
	}
	write(t, dir, tree{"docs/x": ""})
	_, err = Reopen(t.Context(), dir, "a.b/c")
	wantRefused(t, err, "docs/", "not part of the installed tree")
	must(t, os.RemoveAll(dir+"/docs"))
	write(t, dir, tree{"go.mod": "module a.b/d\n"})
	_, err = Reopen(t.Context(), dir, "a.b/c")
	wantRefused(t, err, "go.mod", "not part of the installed tree")
	must(t, os.Remove(dir+"/go.mod"))
	_, err = Reopen(t.Context(), dir, "github.com/loomext/loomext/x")
	wantRefused(t, err, "", "the module path")
}

// What a digest is of: paths and bytes. What it is not of: order, times, modes.
func TestDigestLaw(t *testing.T) {
	names := []string{"tool/run.go", "tool/a.go", "lib/x/y.go", "schema/a.json", "README.md", "LICENSE", "skills/s/SKILL.md"}
	rapid.Check(t, func(r *rapid.T) {
		files := tree{"extension.toml": rapid.String().Draw(r, "manifest")}
		for _, p := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(r, "paths") {
			files[p] = string(rapid.SliceOf(rapid.Byte()).Draw(r, p))
		}
		base, err := FromFiles(files.bytes(), "")
		if err != nil {
			r.Fatal(err)
		}
		order := rapid.Permutation(base.Paths()).Draw(r, "order")
		dir, err := os.MkdirTemp("", "digest")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		for i, p := range order {
			full := dir + "/" + p
			if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
				r.Fatal(err)
			}
			mode := rapid.SampledFrom([]os.FileMode{0o400, 0o644, 0o755}).Draw(r, "mode")
			if err := os.WriteFile(full, []byte(files[p]), mode); err != nil {
				r.Fatal(err)
			}
			at := time.Unix(int64(i)*1000, 0)
			if err := os.Chtimes(full, at, at); err != nil {
				r.Fatal(err)
			}
		}
		disk, err := Open(t.Context(), dir)
		if err != nil {
			r.Fatal(err)
		}
		if disk.Digest() != base.Digest() {
			r.Fatalf("order, times or modes changed the digest")
		}

		p := rapid.SampledFrom(base.Paths()).Draw(r, "changed")
		data := []byte(files[p])
		switch rapid.SampledFrom([]string{"flip", "append", "move", "drop"}).Draw(r, "change") {
		case "flip":
			if len(data) == 0 {
				data = []byte{0}
			} else {
				data[rapid.IntRange(0, len(data)-1).Draw(r, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(r, "bit")
			}
			files[p] = string(data)
		case "append":
			files[p] += "\n"
		case "move":
			delete(files, p)
			files["schema/moved"] = string(data)
		case "drop":
			delete(files, p)
		}
		if _, ok := files["extension.toml"]; !ok {
			return
		}
		changed, err := FromFiles(files.bytes(), "")
		if err != nil {
			r.Fatal(err)
		}
		if changed.Digest() == base.Digest() {
			r.Fatalf("a change of %s kept the digest", p)
		}
	})
}

func BenchmarkOpen20Files(b *testing.B) {
	files := with(nil)
	for i := range 20 {
		files[fmt.Sprintf("p%d/x.go", i)] = strings.Repeat("// a line of a source file\n", 200)
	}
	dir := onDisk(b, files)
	for b.Loop() {
		if _, err := Open(b.Context(), dir); err != nil {
			b.Fatal(err)
		}
	}
}
