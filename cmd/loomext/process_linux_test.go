package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
	"golang.org/x/sys/unix"
)

// patience bounds a wait for something that must happen. It is no measure of speed.
const patience = 60 * time.Second

// world is a store, a cache and the fixtures for tests that run loomext as a process.
type world struct {
	t    *testing.T
	home string
	ext  string
	env  []string
}

func newWorld(t *testing.T, cache string) world {
	t.Helper()
	adopt(t)
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	dir := t.TempDir()
	w := world{t: t, home: filepath.Join(dir, "loom"), ext: filepath.Join(dir, "ext")}
	if err := os.CopyFS(w.ext, os.DirFS("testdata/ext")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { livetest.RemoveAll(w.home) })
	w.env = append(os.Environ(), "LOOM_HOME="+w.home, "XDG_CACHE_HOME="+cache, "TERM=xterm", "NO_COLOR=")
	return w
}

func (w world) command(args ...string) *exec.Cmd {
	cmd := exec.Command("loomext", args...)
	cmd.Env = w.env
	return cmd
}

// must runs a command that has to succeed.
func (w world) must(args ...string) {
	w.t.Helper()
	if out, err := w.command(args...).CombinedOutput(); err != nil {
		w.t.Fatalf("loomext %q: %v\n%s", args, err, out)
	}
}

// watched collects output and lets a test wait for a part of it.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen within %s", what, patience)
		}
	}
}

// processesOf lists processes that have to do with a directory: their program, working
// directory or command line is in it.
func processesOf(dir string) []string {
	var found []string
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil || entry.Name() == strconv.Itoa(os.Getpid()) {
			continue
		}
		proc := filepath.Join("/proc", entry.Name())
		exe, _ := os.Readlink(filepath.Join(proc, "exe"))
		cwd, _ := os.Readlink(filepath.Join(proc, "cwd"))
		line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(proc, "environ"))
		if slices.ContainsFunc([]string{exe, cwd, string(line), string(env)}, func(s string) bool { return strings.Contains(s, dir) }) {
			found = append(found, fmt.Sprintf("%s %s %q", entry.Name(), exe, line))
		}
	}
	return found
}

// childrenOf are the living children of a process. A satellite names nothing of its host, so it
// is found by its parent.
func childrenOf(pid int) []int {
	var found []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if fields[0] == "Z" {
			if pid != os.Getpid() {
				continue
			}
			if buried, _ := unix.Wait4(child, nil, unix.WNOHANG, nil); buried == child {
				continue // else its first thread alone has ended
			}
		}
		found = append(found, child)
	}
	return found
}

// adopt makes this process the parent of what a loomext leaves behind.
func adopt(t *testing.T) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
}

// assertNothingLeft wants neither a process of a directory nor an orphan.
func assertNothingLeft(t *testing.T, dir string) {
	t.Helper()
	if left := processesOf(dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if left := childrenOf(os.Getpid()); len(left) > 0 {
		t.Errorf("left behind: processes %v", left)
	}
}

// others is processesOf without the given process.
func others(dir string, pid int) []string {
	return slices.DeleteFunc(processesOf(dir), func(p string) bool { return strings.HasPrefix(p, strconv.Itoa(pid)+" ") })
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

func assertEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if len(entries) > 0 {
		t.Errorf("%s holds %v", dir, entries)
	}
}

func TestSignalEndsACallAndItsSatellite(t *testing.T) {
	w := newWorld(t, sharedCache)
	w.must("install", filepath.Join(w.ext, "demo"), "--yes")
	for _, tt := range []struct {
		name    string
		signals []syscall.Signal
		status  int
	}{
		{"SIGINT", []syscall.Signal{syscall.SIGINT}, 130},
		{"SIGTERM", []syscall.Signal{syscall.SIGTERM}, 143},
		{"SIGHUP", []syscall.Signal{syscall.SIGHUP}, 129},
		{"a second signal", []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT}, 130},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stderr watched
			cmd := w.command("call", "demo", "faults", "--args", `{"how":"spin"}`)
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the report", func() bool { return strings.Contains(stderr.String(), "spinning") })
			if len(childrenOf(cmd.Process.Pid)) == 0 {
				t.Error("no satellite is seen, so its end would not be either")
			}
			for _, s := range tt.signals {
				_ = cmd.Process.Signal(s)
			}
			if got := exitCode(cmd.Wait()); got != tt.status {
				t.Errorf("status %d, want %d; stderr:\n%s", got, tt.status, stderr.String())
			}
			assertNothingLeft(t, w.home)
			if !strings.Contains(stderr.String(), "loomext: stopped by ") {
				t.Errorf("stderr does not say why:\n%s", stderr.String())
			}
		})
	}
}

func TestASignalThatWasIgnoredStaysIgnored(t *testing.T) {
	w := newWorld(t, sharedCache)
	w.must("install", filepath.Join(w.ext, "demo"), "--yes")
	for name, s := range map[string]syscall.Signal{"INT": syscall.SIGINT, "HUP": syscall.SIGHUP} {
		var stderr watched
		cmd := exec.Command("/bin/sh", "-c", `trap "" `+name+`; exec loomext call demo faults --args '{"how":"spin"}' --timeout 500ms`)
		cmd.Env, cmd.Stderr = w.env, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the report", func() bool { return strings.Contains(stderr.String(), "spinning") })
		_ = cmd.Process.Signal(s)
		if got := exitCode(cmd.Wait()); got != statusDeadline {
			t.Errorf("%s: status %d, want %d; stderr:\n%s", name, got, statusDeadline, stderr.String())
		}
	}
}

// fill writes to a pipe until it holds no more.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	fd := int(pipe.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); ; {
		if _, err := unix.Write(fd, block); err == unix.EAGAIN {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
}

// A harness may read a command's standard error when the command is done, and not before. A
// tool that reports without end must not keep it from ending.
func TestAReaderWhoIsLateDoesNotHoldUpACall(t *testing.T) {
	w := newWorld(t, sharedCache)
	w.must("install", filepath.Join(w.ext, "demo"), "--yes")
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		status int
		full   bool // before the call begins
	}{
		{"the deadline", 0, statusDeadline, false},
		{"a signal", syscall.SIGINT, 130, false},
		{"the deadline, full from the start", 0, statusDeadline, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			if tt.full {
				fill(t, writer)
			}
			args := []string{"call", "demo", "faults", "--args", `{"how":"flood"}`}
			if tt.signal == 0 {
				args = append(args, "--timeout", "300ms")
			}
			cmd := w.command(args...)
			cmd.Stderr = writer
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			writer.Close()
			if tt.signal != 0 {
				eventually(t, "the satellite", func() bool { return len(childrenOf(cmd.Process.Pid)) > 0 })
				_ = cmd.Process.Signal(tt.signal)
			}
			if got := exitCode(cmd.Wait()); got != tt.status {
				t.Errorf("status %d, want %d", got, tt.status)
			}
			assertNothingLeft(t, w.home)
		})
	}
}

func TestSignalDuringABuildLeavesNothing(t *testing.T) {
	cache := t.TempDir() // a cold one, so that there is a build to interrupt
	t.Cleanup(func() { livetest.RemoveAll(cache) })
	w := newWorld(t, cache)
	var stderr watched
	cmd := w.command("install", filepath.Join(w.ext, "demo"), "--yes")
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a compiler", func() bool {
		return slices.ContainsFunc(others(cache, cmd.Process.Pid), func(p string) bool { return strings.Contains(p, "/compile") })
	})
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if got := exitCode(cmd.Wait()); got != 143 {
		t.Errorf("status %d, want 143; stderr:\n%s", got, stderr.String())
	}
	assertNothingLeft(t, cache)
	assertEmpty(t, filepath.Join(w.home, ".staging"))
	assertEmpty(t, filepath.Join(w.home, "extensions"))
	assertEmpty(t, filepath.Join(w.home, "generations"))
}

// terminal is a pseudo-terminal: what a process has, and what a person sees and types.
type terminal struct {
	process *os.File
	person  *os.File
	seen    watched
	read    chan struct{}
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("skipped layer: terminal: no pseudo-terminals here: ", err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{process: process, person: person, read: make(chan struct{})}
	go func() {
		defer close(term.read)
		_, _ = io.Copy(&term.seen, person) // ends when nobody has the other side
	}()
	t.Cleanup(term.close)
	return term
}

// close gives the process's side up, reads to the end and returns what was seen.
func (term *terminal) close() {
	_ = term.process.Close()
	<-term.read
	_ = term.person.Close()
}

// reply is what a person types once something was seen.
type reply struct{ after, typed string }

// on runs a command with all its streams on a terminal, where a person replies, and returns
// what that person saw.
func (w world) on(term *terminal, replies []reply, args ...string) (status int, seen string) {
	w.t.Helper()
	return w.aside(term, term.process, replies, args...)
}

// aside is on with standard error somewhere else. The terminal is the controlling one.
func (w world) aside(term *terminal, stderr io.Writer, replies []reply, args ...string) (status int, seen string) {
	w.t.Helper()
	cmd := w.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.process, term.process, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	at := 0 // of what was seen and replied to
	for _, r := range replies {
		eventually(w.t, r.after, func() bool { return strings.Contains(term.seen.String()[at:], r.after) })
		at += strings.Index(term.seen.String()[at:], r.after) + len(r.after)
		if _, err := io.WriteString(term.person, r.typed); err != nil {
			w.t.Fatal(err)
		}
	}
	status = exitCode(cmd.Wait())
	term.close()
	return status, term.seen.String()
}

func TestTheOperatorIsAskedOnTheTerminal(t *testing.T) {
	const (
		question = "Install fetcher 2.0.0? [y/N/g/?] "
		which    = "Grant which of "
	)
	for _, tt := range []struct {
		name     string
		replies  []reply
		status   int
		installs bool
		sees     []string
	}{
		{"no", []reply{{question, "n\n"}}, 20, false, []string{"EXAMPLE_KEY"}},
		{"the default", []reply{{question, "\n"}}, 20, false, nil},
		{"yes", []reply{{question, "y\n"}}, 0, true, []string{"fetcher 2.0.0 installed"}},
		{"a subset, at the third try", []reply{{question, "?\n"}, {question, "g\n"}, {which, "kv\n"}, {which, "net\n"}}, 0, true,
			[]string{"choose what to grant", "kv is not requested", "granted: net "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, sharedCache)
			status, seen := w.on(newTerminal(t), tt.replies, "install", filepath.Join(w.ext, "fetcher"))
			if status != tt.status {
				t.Errorf("status %d, want %d: %q", status, tt.status, seen)
			}
			for _, want := range tt.sees {
				if !strings.Contains(seen, want) {
					t.Errorf("lacks %q: %q", want, seen)
				}
			}
			_, err := os.Lstat(filepath.Join(w.home, "extensions", "fetcher"))
			if (err == nil) != tt.installs {
				t.Errorf("installed: %v, want %v", err == nil, tt.installs)
			}
		})
	}
}

// Where standard error goes to a file, the question still reaches the person.
func TestTheQuestionGoesToTheTerminalItself(t *testing.T) {
	w := newWorld(t, sharedCache)
	var stderr watched
	status, seen := w.aside(newTerminal(t), &stderr, []reply{{"Install fetcher 2.0.0? ", "n\n"}}, "install", filepath.Join(w.ext, "fetcher"))
	if status != 20 || !strings.Contains(seen, "EXAMPLE_KEY") || !strings.Contains(stderr.String(), "install: not approved; nothing was installed\n") {
		t.Errorf("status %d: %q; stderr %q", status, seen, stderr.String())
	}
}

// What was typed before the question answers nothing: it was meant for something else.
func TestATypeAheadIsNoAnswer(t *testing.T) {
	w := newWorld(t, sharedCache)
	term := newTerminal(t)
	if _, err := io.WriteString(term.person, "y\n"); err != nil {
		t.Fatal(err)
	}
	status, seen := w.on(term, []reply{{"Install fetcher 2.0.0? ", "n\n"}}, "install", filepath.Join(w.ext, "fetcher"))
	if status != 20 {
		t.Errorf("status %d: %q", status, seen)
	}
}

func TestOnATerminal(t *testing.T) {
	w := newWorld(t, sharedCache)
	demo := filepath.Join(w.ext, "demo")

	status, seen := w.on(newTerminal(t), []reply{{"Install demo 0.1.0? ", "y\n"}}, "install", demo)
	for _, want := range []string{
		"\r\x1b[2K\x1b[2mfetch    \x1b[0m",  // the layer at work
		"\r\x1b[2K\x1b[32mvetting  \x1b[0m", // and done
		"Install demo 0.1.0? [y/N/g/?] ",
		"demo 0.1.0 installed",
	} {
		if status != 0 || !strings.Contains(seen, want) {
			t.Errorf("install: status %d, lacks %q in %q", status, want, seen)
		}
	}

	w.env = append(w.env, "NO_COLOR=1")
	status, seen = w.on(newTerminal(t), nil, "install", demo, "--yes", "--set", "times=3")
	if status != 0 || !strings.Contains(seen, "\r\x1b[2Kvetting   ") || strings.Contains(seen, "\x1b[32m") {
		t.Errorf("NO_COLOR: status %d: %q", status, seen)
	}
	w.env = append(w.env, "TERM=dumb")
	status, seen = w.on(newTerminal(t), nil, "install", demo, "--yes")
	if status != 0 || strings.Contains(seen, "\x1b") || !strings.Contains(seen, "vetting   passed") {
		t.Errorf("TERM=dumb: status %d: %q", status, seen)
	}

	// What an extension prints is escaped, and JSON is laid out for people.
	status, seen = w.on(newTerminal(t), nil, "call", "demo", "say", "--args", `{"name":"x","as":"control"}`)
	if status != 0 || !strings.Contains(seen, `\x1b[31mred\x1b[0m\rover \u202egnp.exe`) || strings.Contains(seen, "\x1b[31m") {
		t.Errorf("call: status %d: %q", status, seen)
	}
	status, seen = w.on(newTerminal(t), nil, "call", "demo", "say", "--args", `{"name":"\u202ex","as":"json"}`)
	if status != 0 || !strings.Contains(seen, "{\r\n  \"greeting\": \"hello, \\u202ex\",\r\n") {
		t.Errorf("call of JSON: status %d: %q", status, seen)
	}
	status, seen = w.on(newTerminal(t), nil, "call", "demo", "say", "--args", `{"name":"\u202ex"}`, "--json")
	if status != 0 || !strings.Contains(seen, `"text": "hello, \u202ex"`) {
		t.Errorf("call --json: status %d: %q", status, seen)
	}
}

func TestSignalAtThePromptIsANo(t *testing.T) {
	w := newWorld(t, sharedCache)
	term := newTerminal(t)
	cmd := w.command("install", filepath.Join(w.ext, "demo"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.process, term.process, term.process
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the question", func() bool { return strings.Contains(term.seen.String(), "Install demo") })
	_ = cmd.Process.Signal(syscall.SIGINT)
	if got := exitCode(cmd.Wait()); got != 130 {
		t.Errorf("status %d, want 130: %q", got, term.seen.String())
	}
	assertEmpty(t, filepath.Join(w.home, "extensions"))
	assertEmpty(t, filepath.Join(w.home, ".staging"))
}

// A call that waits for its arguments can be ended as well.
func TestSignalWhileReadingArguments(t *testing.T) {
	w := newWorld(t, sharedCache)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"-", "@" + fifo} {
		cmd := w.command("call", "demo", "say", "--args", from)
		never, held, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = never
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the wait for input", func() bool { return waitsInPoll(cmd.Process.Pid) })
		_ = cmd.Process.Signal(syscall.SIGINT)
		if got := exitCode(cmd.Wait()); got != 130 {
			t.Errorf("--args %s: status %d, want 130", from, got)
		}
		_, _ = never.Close(), held.Close()
	}
}

// pollNumber is poll(2) on amd64; other machines have only ppoll(2), and no call that blocks a
// reader at 7.
const pollNumber = "7"

// waitsInPoll reports whether a thread of a process is in poll(2).
func waitsInPoll(pid int) bool {
	calls, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, path := range calls {
		text, _ := os.ReadFile(path)
		number, _, _ := strings.Cut(string(text), " ")
		if number == strconv.Itoa(unix.SYS_PPOLL) || number == pollNumber {
			return true
		}
	}
	return false
}

// A reader who has left is no reason to die with children: the command ends as a pipe does.
func TestReaderOfResultsHasLeft(t *testing.T) {
	w := newWorld(t, sharedCache)
	r, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	cmd := w.command("version")
	cmd.Stdout = wr
	var stderr watched
	cmd.Stderr = &stderr
	err = cmd.Run()
	_ = wr.Close()
	if got := exitCode(err); got != 141 || stderr.String() != "" {
		t.Errorf("status %d, stderr %q; want 141 and silence", got, stderr.String())
	}
}
