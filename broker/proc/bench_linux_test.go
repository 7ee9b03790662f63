package proc

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
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

// A command costs at most what bubblewrap takes for the same. Both are measured in turn, and their medians compared.
func TestACommandIsAsFastAsBubblewrap(t *testing.T) {
	if testing.Short() {
		t.Skip("a measurement")
	}
	args := bubblewrap(directory(t), "/bin/true")
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Skipf("no bubblewrap to hold it against: %v: %s", err, out)
	}
	r := runner(t, directory(t), nil)
	mustRun(t, r, "true")
	var ours, theirs []time.Duration
	for range 60 {
		begun := time.Now()
		mustRun(t, r, "true")
		between := time.Now()
		if err := exec.Command(args[0], args[1:]...).Run(); err != nil {
			t.Fatal(err)
		}
		ours, theirs = append(ours, between.Sub(begun)), append(theirs, time.Since(between))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	a, b := ours[len(ours)/2], theirs[len(theirs)/2]
	t.Logf("%v against %v: %.2f", a, b, float64(a)/float64(b))
	if a > b {
		t.Errorf("a command takes %v, and bubblewrap %v", a, b)
	}
}
