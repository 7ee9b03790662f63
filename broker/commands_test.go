package broker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomext/loomext/broker/proc"
)

// commands allows commands over an empty workspace, where there is a program x.
func commands(t *testing.T, prefixes ...[]string) *proc.Runner {
	t.Helper()
	tools, dir := t.TempDir(), t.TempDir()
	for _, path := range []string{tools, dir} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(tools, "x"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return proc.New(proc.Options{Workspace: f, Readable: []string{tools}, Terms: proc.Terms{Commands: prefixes}})
}
