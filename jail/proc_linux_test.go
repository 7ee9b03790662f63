//go:build amd64 || arm64

package jail

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// workspaceOf opens a directory as a workspace.
func workspaceOf(t testing.TB, dir string, writable bool, guarded ...string) *Workspace {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &Workspace{Dir: f, Writable: writable, Guarded: guarded}
}

// shell runs a script of the system's shell over a workspace.
func shell(t testing.TB, w *Workspace, script string) (Exit, string) {
	t.Helper()
	var out bytes.Buffer
	spec := Spec{Path: "/bin/sh", Args: []string{"-c", script}, Profile: Proc, Workspace: w, Stdout: &out, Stderr: &out,
		Env: []string{"PATH=/usr/bin:/bin"}}
	c, err := Start(t.Context(), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit, out.String()
}

func TestTry(t *testing.T) {
	w := workspaceOf(t, t.TempDir(), true)
	exit, out := shell(t, w, os.Getenv("TRY"))
	t.Logf("%v\n%s", exit, out)
}

func BenchmarkProc(b *testing.B) {
	w := workspaceOf(b, b.TempDir(), false)
	spec := Spec{Path: "/bin/true", Profile: Proc, Workspace: w}
	for b.Loop() {
		c, err := Start(b.Context(), spec, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := c.Wait(); err != nil || !exit.OK() {
			b.Fatal(exit, err)
		}
	}
}

func BenchmarkBubblewrap(b *testing.B) {
	args := []string{"--unshare-all", "--die-with-parent", "--clearenv", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
		"--symlink", "usr/lib64", "/lib64", "--symlink", "usr/sbin", "/sbin", "--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache", "--ro-bind", "/etc/alternatives", "/etc/alternatives",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", b.TempDir(), "/workspace", "--chdir", "/workspace", "/bin/true"}
	for b.Loop() {
		if out, err := exec.Command("bwrap", args...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
}

var _ = filepath.Join
