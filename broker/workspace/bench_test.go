package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// deep is a path of so many components.
func deep(components int) string { return strings.Repeat("d/", components-1) + "file" }

func benchWorkspace(b *testing.B, path string, size int) (*Workspace, string) {
	b.Helper()
	dir := b.TempDir()
	full := filepath.Join(dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(strings.Repeat("x", size)), 0o644); err != nil {
		b.Fatal(err)
	}
	w, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.Close() })
	return w, dir
}

// BenchmarkRead is 64 KiB, beside os.ReadFile of the same.
func BenchmarkRead(b *testing.B) {
	ctx := context.Background()
	for name, components := range map[string]int{"4 components": 4, "40 components": 40} {
		path := deep(components)
		w, dir := benchWorkspace(b, path, 64<<10)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := w.Read(ctx, path); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+", os.ReadFile", func(b *testing.B) {
			for b.Loop() {
				if _, err := os.ReadFile(filepath.Join(dir, path)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFolder is what a write looks its directory up with.
func BenchmarkFolder(b *testing.B) {
	for name, components := range map[string]int{"4 components": 4, "40 components": 40} {
		w, _ := benchWorkspace(b, deep(components), 0)
		at, err := parse(deep(components))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				dir, err := w.tree.folder(at.dir())
				if err != nil {
					b.Fatal(err)
				}
				dir.close()
			}
		})
	}
}

// BenchmarkWrite has the disk in it.
func BenchmarkWrite(b *testing.B) {
	ctx := context.Background()
	text := strings.Repeat("x", 64<<10)
	for name, components := range map[string]int{"4 components": 4, "40 components": 40} {
		path := deep(components)
		w, _ := benchWorkspace(b, path, 0)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := w.Write(ctx, path, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestALongPathCostsLittle holds a path of 40 components to twice one of 4, where the kernel goes it in one call. The
// least of many rounds is what a call costs on a machine that does other things as well.
func TestALongPathCostsLittle(t *testing.T) {
	const most = 2
	w, dir := begin(t, Options{})
	if _, is := w.tree.(*rooted); is {
		t.Skip("without openat2 each component is a call of its own")
	}
	put(t, dir, map[string]string{deep(4): strings.Repeat("x", 4<<10), "far/" + deep(39): strings.Repeat("x", 4<<10)})
	near, far := deep(4), "far/"+deep(39)
	calls := map[string]func(path string) error{
		"read": func(path string) error { _, err := w.Read(context.Background(), path); return err },
		"list": func(path string) error { _, err := w.List(context.Background(), filepath.Dir(path)); return err },
		"the directory of a write": func(path string) error {
			at, err := parse(path)
			if err != nil {
				return err
			}
			dir, undo, err := w.makeFolder(at.dir())
			if err == nil {
				_, err = target(dir, at.name())
				undo(err)
				dir.close()
			}
			return err
		},
	}
	for name, call := range calls {
		least := map[string]time.Duration{near: time.Hour, far: time.Hour}
		for range 2000 {
			for _, path := range []string{near, far} {
				begun := time.Now()
				if err := call(path); err != nil {
					t.Fatal(err)
				}
				least[path] = min(least[path], time.Since(begun))
			}
		}
		if least[far] > most*least[near] {
			t.Errorf("%s: %v of 40 components and %v of 4", name, least[far], least[near])
		}
		t.Logf("%s: %v of 40 components, %v of 4", name, least[far], least[near])
	}
}
