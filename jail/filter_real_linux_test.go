//go:build amd64 || arm64

package jail

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// emptyAt is where testdata/filtered has the empty path of its exec.
const emptyAt = 16 << 30

const sigsys = -1 // in place of an exit status

// filteredProgram builds testdata/filtered.
func filteredProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "filtered")
	build := exec.Command("go", "build", "-o", path, "./testdata/filtered")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// filtered starts the program, hands it the filter that filter returns for its
// process and returns what it will have written. It must still be waited for.
func filtered(t *testing.T, cmd *exec.Cmd, filter func(pid int) (Profile, filterParams)) {
	t.Helper()
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	profile, params := filter(cmd.Process.Pid)
	code, err := filterFor(profile, runtime.GOARCH, params)
	if err == nil {
		_, err = ours.Write(unsafe.Slice((*byte)(unsafe.Pointer(&code[0])), len(code)*int(unsafe.Sizeof(code[0]))))
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatal(err)
	}
}

func waitStatus(t *testing.T, cmd *exec.Cmd) syscall.WaitStatus {
	t.Helper()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// TestSatelliteFilterOnAProgram has a Go program live under the filter from its
// first instruction, and then try one thing.
func TestSatelliteFilterOnAProgram(t *testing.T) {
	program := filteredProgram(t)
	for what, want := range map[string]struct {
		status int
		says   string
	}{
		"fine":                {0, "lived"},
		"panic":               {2, "panic: of its own making"},
		"socket":              {sigsys, "lived"},
		"fork":                {sigsys, "lived"},
		"namespace":           {sigsys, "lived"},
		"another descriptor":  {sigsys, "lived"},
		"locked priority":     {sigsys, "lived"},
		"executable":          {sigsys, "lived"},
		"executable again":    {sigsys, "lived"},
		"shared memory":       {sigsys, "lived"},
		"memory of a file":    {sigsys, "lived"},
		"growing memory":      {sigsys, "lived"},
		"kill":                {sigsys, "lived"},
		"tgkill":              {sigsys, "lived"},
		"limits of another":   {sigsys, "lived"},
		"own limits":          {sigsys, "lived"},
		"death signal":        {sigsys, "lived"},
		"filter":              {sigsys, "lived"},
		"execve":              {sigsys, "lived"},
		"exec again":          {sigsys, "lived"},
		"absolute path":       {sigsys, ""},
		"x32":                 {sigsys, "lived"},
		"int 0x80":            {sigsys, "lived"},
		"a number of no call": {sigsys, "lived"},
		"descriptor limit":    {3, "still here: operation not permitted"},
		"path memory":         {3, "still here: cannot allocate memory"},
		"path memory before":  {3, "still here: cannot allocate memory"},
		"exec again, there":   {3, "still here: bad "}, // descriptor, or address
	} {
		if runtime.GOARCH != "amd64" && (what == "x32" || what == "int 0x80") {
			continue // there is no such way into the kernel
		}
		for _, level := range []string{"own processes", "among others", "traced"} {
			t.Run(what+" "+level, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), program, "enter", what)
				var output bytes.Buffer
				cmd.Stdout, cmd.Stderr = &output, &output
				filtered(t, cmd, func(pid int) (Profile, filterParams) {
					c := filterParams{image: 64, empty: emptyAt, tgid: pid, refuse: unix.SECCOMP_RET_KILL_PROCESS}
					switch level {
					case "among others":
						c.tgid = 0
					case "traced":
						c.refuse = unix.SECCOMP_RET_TRAP
					}
					return Satellite, c
				})
				status, killed := waitStatus(t, cmd), false
				switch {
				case want.status != sigsys:
					killed = status.Exited() && status.ExitStatus() == want.status
				case level == "traced" && what != "x32" && what != "int 0x80":
					killed = status.Exited() && status.ExitStatus() == 2 && strings.Contains(output.String(), "SIGSYS: bad system call")
				default:
					killed = status.Signaled() && status.Signal() == syscall.SIGSYS
				}
				if !killed || !strings.Contains(output.String(), want.says) {
					t.Errorf("ended with %#x, want %d (-1 is SIGSYS) and %q; output:\n%s", status, want.status, want.says, output.String())
				}
			})
		}
	}
}

func TestEmptyPath(t *testing.T) {
	at := emptyPath()
	if at < emptyPathFrom || at != emptyPath() {
		t.Fatalf("at %#x and %#x", at, emptyPath())
	}
	here, err := os.Stat(".")
	if err != nil {
		t.Fatal(err)
	}
	// A status of the empty path below the working directory is that directory's.
	var st unix.Stat_t
	cwd := unix.AT_FDCWD
	if _, _, errno := unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(cwd), uintptr(at), uintptr(unsafe.Pointer(&st)), unix.AT_EMPTY_PATH, 0, 0); errno != 0 || st.Ino != here.Sys().(*syscall.Stat_t).Ino {
		t.Errorf("%v, file %d", errno, st.Ino)
	}
}

// TestSatelliteEndsByASignal has a program end by a signal from outside, which
// the Go runtime takes and then sends to itself.
func TestSatelliteEndsByASignal(t *testing.T) {
	program := filteredProgram(t)
	for _, known := range []bool{true, false} {
		cmd := exec.CommandContext(t.Context(), program, "enter", "wait")
		output, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		filtered(t, cmd, func(pid int) (Profile, filterParams) {
			c := filterParams{image: 64, empty: emptyAt, refuse: unix.SECCOMP_RET_KILL_PROCESS}
			if known {
				c.tgid = pid
			}
			return Satellite, c
		})
		lines := bufio.NewScanner(output)
		for lines.Scan() && lines.Text() != "waiting" {
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, output)
		status := waitStatus(t, cmd)
		if known && (!status.Signaled() || status.Signal() != syscall.SIGTERM) || !known && (!status.Exited() || status.ExitStatus() != 2) {
			t.Errorf("own process known %v: ended with %#x", known, status)
		}
	}
}

// TestToolchainFilterOnTheGoCommand builds a module with an empty cache and with a
// full one, and lists and tests it.
func TestToolchainFilterOnTheGoCommand(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	program, dir, temporary := filteredProgram(t), t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.invalid/m\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() { println(\"built\") }\n",
		"main_test.go": `package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestOrdinary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o755|os.ModeSetuid); !errors.Is(err, syscall.EPERM) {
		t.Error("setuid:", err)
	}
	if out, err := exec.Command("true").CombinedOutput(); err != nil {
		t.Error(err, string(out))
	}
	slow := exec.Command("sleep", "60")
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	if err := slow.Process.Kill(); err != nil {
		t.Error("kill:", err)
	}
	_ = slow.Wait()
	if _, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0); err != syscall.EAFNOSUPPORT {
		t.Error("socket:", err)
	}
	if _, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0); err != syscall.EAFNOSUPPORT {
		t.Error("socketpair:", err)
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Sendto(pair[0], []byte("x"), 0, nil); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Millisecond)
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(profile Profile, cache string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append([]string{"exec", goTool}, args...)...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GOCACHE=" + cache, "GOPATH=/nonexistent", "GOMODCACHE=/nonexistent",
			"TMPDIR=" + temporary, "GOENV=off", "GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off", "CGO_ENABLED=0"}
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		filtered(t, cmd, func(int) (Profile, filterParams) {
			return profile, filterParams{tgid: 1, refuse: unix.SECCOMP_RET_KILL_PROCESS}
		})
		if status := waitStatus(t, cmd); status != 0 {
			t.Fatalf("go %v ended with %#x:\n%s", args, status, output.String())
		}
	}
	cold := t.TempDir()
	for range 2 { // the second time it is not
		run(Build, cold, "build", "-trimpath", "-buildvcs=false", "-o", "out", ".")
	}
	usual, err := exec.Command(goTool, "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	run(Build, strings.TrimSpace(string(usual)), "list", "-deps", "-export", "-test", "-json=Export", ".")
	run(Test, strings.TrimSpace(string(usual)), "test", "-count=1", "-vet=off", ".")
	if out, err := exec.Command(filepath.Join(dir, "out")).CombinedOutput(); err != nil || string(out) != "built\n" {
		t.Errorf("the program built under the filter: %v, %q", err, out)
	}
}
