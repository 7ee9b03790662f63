package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
