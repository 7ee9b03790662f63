package proc

import (
	"os"
	"os/exec"
	"testing"
)

// bubblewrap runs a program over a directory with the binds that a command has.
func bubblewrap(dir string, argv ...string) []string {
	args := []string{"bwrap", "--unshare-all", "--die-with-parent", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", dir, "/workspace", "--chdir", "/workspace"}
	for _, path := range []string{"/usr", "/etc/ld.so.cache", "/etc/alternatives"} {
		if _, err := os.Stat(path); err == nil {
			args = append(args, "--ro-bind", path, path)
		}
	}
	for _, path := range []string{"/bin", "/lib", "/lib64", "/sbin"} {
		if target, err := os.Readlink(path); err == nil {
			args = append(args, "--symlink", target, path)
		} else if _, err := os.Stat(path); err == nil {
			args = append(args, "--ro-bind", path, path)
		}
	}
	return append(args, argv...)
}

func BenchmarkTrue(b *testing.B) {
	r := runner(b, directory(b), nil)
	for b.Loop() {
		if result := mustRun(b, r, "true"); result.Exit != 0 {
			b.Fatal(result.Exit)
		}
	}
}

func BenchmarkTrueWriting(b *testing.B) {
	r := runner(b, directory(b), func(o *Options) {
		o.Terms.Write, o.Protected = true, []string{".git", ".loom", ".claude", ".codex", ".gemini", ".vscode", ".envrc"}
	})
	for b.Loop() {
		if result := mustRun(b, r, "true"); result.Exit != 0 {
			b.Fatal(result.Exit)
		}
	}
}

func BenchmarkTrueByBubblewrap(b *testing.B) {
	args := bubblewrap(directory(b), "/bin/true")
	for b.Loop() {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
}
