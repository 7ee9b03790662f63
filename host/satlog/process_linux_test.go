package satlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The test binary is also the process that tests run beside themselves: with jobVariable set
// it does that job and exits.
const jobVariable = "LOOMEXT_TEST_SATLOG"

func TestMain(m *testing.M) {
	if job := os.Getenv(jobVariable); job != "" {
		os.Exit(runJob(job))
	}
	goleak.VerifyTestMain(m)
}

// runJob is what a process beside a test does: "<what> <sessions> <lines> <older> <id> <dir>".
// A negative number of lines goes on until the process is killed.
func runJob(job string) int {
	var (
		what, id, dir          string
		sessions, lines, older int
	)
	if _, err := fmt.Sscanf(job, "%s %d %d %d %s %s", &what, &sessions, &lines, &older, &id, &dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	p := small(dir, older)
	if what == "limited" {
		signal.Ignore(syscall.SIGXFSZ)
		p.file = 1 << 20
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limitedBytes, Max: limitedBytes}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	return writeSessions(p, id, sessions, lines)
}

// limitedBytes is how large a file of a limited process may get: a disk that is full.
const limitedBytes = 10_000

// writeSessions writes lines from several sessions at once, of which every second has a Log of
// its own, some lines at a time and cut anywhere.
func writeSessions(p place, id string, sessions, lines int) int {
	shared := p.log()
	status := 0
	var writers sync.WaitGroup
	for i := range sessions {
		log := shared
		if i%2 == 1 {
			log = p.log()
			defer log.Close()
		}
		writers.Go(func() {
			session := fmt.Sprintf("%s.%d", id, i)
			w := log.Writer(session)
			var text strings.Builder
			for n := 0; n != lines; n++ {
				text.WriteString(numbered(session, n) + "\n")
				if n%7 == 3 {
					_, _ = w.Write([]byte(text.String()[:text.Len()/2]))
					_, _ = w.Write([]byte(text.String()[text.Len()/2:]))
					text.Reset()
				}
			}
			_, _ = w.Write([]byte(text.String()))
			_ = w.Close()
		})
	}
	writers.Wait()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	return status
}

func beside(t *testing.T, p place, what string, sessions, lines int, id string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d %d %s %s", jobVariable, what, sessions, lines, p.older, id, p.dir))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &said
}

// Several processes with several sessions write and rotate at once, while one reader follows
// and another reads: nothing is torn, lost, doubled or out of order.
func TestManyProcessesWriteAndRotate(t *testing.T) {
	const processes, sessions, lines = 4, 3, 600
	p := small(t.TempDir(), everything)
	done := errors.New("all was seen")
	var (
		followed []Entry
		follower sync.WaitGroup
		ended    error
	)
	follower.Go(func() {
		ended = p.follow(t.Context(), -1, func(e Entry) error {
			if followed = append(followed, e); len(followed) == processes*sessions*lines {
				return done
			}
			return nil
		}, nil)
	})
	var all sync.WaitGroup
	for i := range processes {
		cmd, said := beside(t, p, "write", sessions, lines, fmt.Sprintf("p%d", i))
		all.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
	finished := make(chan struct{})
	go func() { defer close(finished); all.Wait() }()
	for reading := true; reading; {
		select {
		case <-finished:
			reading = false
		default:
			if entries, err := p.read(200, nil); err == nil {
				inOrder(t, entries, -1, -1)
			} else if !errors.Is(err, errMoving) {
				t.Fatal(err)
			}
		}
	}
	follower.Wait()
	if !errors.Is(ended, done) {
		t.Fatal(ended)
	}
	if n := inOrder(t, p.must(t), 0, lines-1); n != processes*sessions {
		t.Errorf("%d sessions", n)
	}
	inOrder(t, followed, 0, lines-1)
	files := filesOf(t, p.dir)
	if len(files) < 10 {
		t.Errorf("only %d files", len(files))
	}
	for name, size := range files {
		if size > p.file+batchBytes {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
}

// The same with the usual number of files: what is kept is the end, without a hole.
func TestManyProcessesKeepTheEnd(t *testing.T) {
	p := small(t.TempDir(), olderFiles)
	const lines = 600
	first, _ := beside(t, p, "write", 2, lines, "p1")
	second, _ := beside(t, p, "write", 2, lines, "p2")
	if err := errors.Join(first.Wait(), second.Wait()); err != nil {
		t.Fatal(err)
	}
	inOrder(t, p.must(t), -1, lines-1)
	if files := filesOf(t, p.dir); len(files) > olderFiles+1 {
		t.Errorf("%v", files)
	}
}

// Processes are killed as they rotate. What they had written is there, at most one line for
// each is cut, and the next writer goes on.
func TestKilledWhileRotating(t *testing.T) {
	p := small(t.TempDir(), everything)
	const rounds = 25
	for round := range rounds {
		cmd, _ := beside(t, p, "write", 3, -1, fmt.Sprintf("r%d", round))
		before, _ := os.Lstat(p.path(2))
		eventually(t, "a rotation", func() bool {
			now, err := os.Lstat(p.path(2))
			return err == nil && (before == nil || !os.SameFile(before, now))
		})
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log := p.log()
		log.Note("test", numbered("test", round))
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var whole []Entry
	cut := 0
	for _, e := range p.must(t) {
		if numberOf(e) < 0 {
			cut++
			continue
		}
		whole = append(whole, e)
	}
	inOrder(t, whole, 0, -1)
	if cut > rounds {
		t.Errorf("%d lines are cut", cut)
	}
}

// On a disk that is full lines are lost, none is cut, and how many is told.
func TestAFullDisk(t *testing.T) {
	p := small(t.TempDir(), 3)
	p.file = 1 << 20
	const lines = 1000
	cmd, said := beside(t, p, "limited", 1, lines, "p")
	if err := cmd.Wait(); exitCode(err) != 1 {
		t.Fatalf("%v: %s", err, said)
	}
	entries := p.must(t)
	if size := filesOf(t, p.dir)["demo.log"]; size > limitedBytes || len(entries) < 50 {
		t.Errorf("%d bytes, %d lines", size, len(entries))
	}
	seen := -1
	for _, e := range entries {
		if n := numberOf(e); n <= seen {
			t.Fatalf("%+v after %d", e, seen)
		} else {
			seen = n
		}
	}
	if want := fmt.Sprintf("log of demo: lines not written: %d: ", lines-len(entries)); !strings.HasPrefix(said.String(), want) {
		t.Errorf("%q, want %q", said, want)
	}
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// A pipe in the place of a log would hold up whoever opens it.
func TestAPipeIsRefused(t *testing.T) {
	p := small(t.TempDir(), 3)
	if err := unix.Mkfifo(p.path(0), 0o600); err != nil {
		t.Fatal(err)
	}
	log := p.log()
	log.Note("s", "x")
	if err := log.Close(); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Error(err)
	}
	if _, err := p.read(-1, nil); err == nil {
		t.Error("it was read")
	}
	if err := p.follow(context.Background(), 0, func(Entry) error { return nil }, nil); err == nil {
		t.Error("it was followed")
	}
	if len(filesOf(t, filepath.Dir(p.path(0)))) != 1 {
		t.Error("something was made")
	}
}
