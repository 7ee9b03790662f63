package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/jail"
	"go.uber.org/goleak"
)

// tools is a directory with the probe in it, for commands to read. The probe's name tells this run's processes from others.
var tools, probeName string

// hostVariable makes the test binary a host that is to be killed; its value is the workspace.
const hostVariable = "PROC_TEST_HOST"

func TestMain(m *testing.M) {
	jail.Main()
	if dir := os.Getenv(hostVariable); dir != "" {
		if os.Getenv("PROC_TEST_FORBID") != "" {
			os.Exit(hostWithoutNamespaces(dir))
		}
		os.Exit(hostToBeKilled(dir))
	}
	dir, err := os.MkdirTemp("", "proc-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Chmod(dir, 0o755)
	tools, probeName = dir, "probe-"+filepath.Base(dir)
	build := exec.Command("go", "build", "-o", filepath.Join(tools, probeName), "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the probe: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// needJail skips where this machine has no jail for commands, which other tests see to.
func needJail(t testing.TB) {
	t.Helper()
	if layer, _ := jail.Inspect().Layer("namespaces"); layer.State != jail.Enforced {
		t.Skip("skipped layer: namespaces: ", layer.Reason)
	}
}

// hostWithoutNamespaces says what becomes of a command.
func hostWithoutNamespaces(dir string) int {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		fmt.Println(err)
		return 1
	}
	for _, bestEffort := range []bool{false, true} {
		f, err := os.Open(dir)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		r := New(Options{Workspace: f, Terms: Terms{Commands: [][]string{{"true"}}}, Jail: jail.Options{BestEffort: bestEffort}})
		_, err = r.Run(contextForHost, Request{Argv: []string{"true"}})
		e, ok := errors.AsType[*Error](err)
		fmt.Println(ok && e.Kind == Unavailable, err)
	}
	return 0
}

// hostToBeKilled runs a command for ever.
func hostToBeKilled(dir string) int {
	f, err := os.Open(dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	probe := os.Getenv("PROC_TEST_PROBE")
	r := New(Options{Workspace: f, Readable: []string{filepath.Dir(probe)}, Terms: Terms{Commands: [][]string{{"sh"}}, Write: true}, Protected: []string{".git"}})
	name := filepath.Base(probe)
	_, err = r.Run(contextForHost, Request{Argv: []string{"sh", "-c", name + " daemon; : > ready; " + name + " hang"}})
	fmt.Println(err)
	return 1
}

// hasProc is false where the kernel lets nobody mount a /proc, as in a container with parts of its own covered.
func hasProc(t testing.TB, r *Runner) bool {
	t.Helper()
	return mustRun(t, r, "cat", "/proc/self/stat").Exit == 0
}

// needProc is for tests in which the probe starts itself.
func needProc(t testing.TB, r *Runner) {
	t.Helper()
	if !hasProc(t, r) {
		t.Skip("skipped layer: root filesystem: no /proc of a command's own")
	}
}

func directory(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func opened(t testing.TB, dir string) *os.File {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// runner allows the probe, sh and cat over a directory, changed by what the test changes.
func runner(t testing.TB, dir string, change func(*Options)) *Runner {
	t.Helper()
	needJail(t)
	o := Options{
		Workspace: opened(t, dir), Readable: []string{tools},
		Terms: Terms{Commands: [][]string{{probeName}, {"sh", "-c"}, {"cat"}, {"true"}}},
	}
	if change != nil {
		change(&o)
	}
	r := New(o)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

func writing(o *Options) { o.Terms.Write = true }

// mustRun gives a result, whatever its status.
func mustRun(t testing.TB, r *Runner, argv ...string) Result {
	t.Helper()
	result, err := r.Run(t.Context(), Request{Argv: argv})
	if err != nil {
		t.Fatalf("%q: %v", argv, err)
	}
	return result
}

func refusedAs(t *testing.T, err error, kind Kind, part string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Msg, part) {
		t.Errorf("got %v; want kind %d with %q", err, kind, part)
	}
}

// probes are the processes of the probe that live.
func probes(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		text, err := os.ReadFile(path)
		return err != nil || !strings.Contains(string(text), probeName) && !strings.HasPrefix(string(text), "/proc/self/exe\x00hang")
	})
}

func noneLeft(t *testing.T) {
	t.Helper()
	livetest.Eventually(t, "every process of the command is gone", func() bool { return len(probes(t)) == 0 })
}
