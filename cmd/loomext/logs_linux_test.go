package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loomext/loomext/host/satlog"
)

// logOf is a log that the test writes to.
func (w world) logOf(name string) *satlog.Log {
	w.t.Helper()
	log := satlog.Open(filepath.Join(w.home, satlog.DirName), name)
	w.t.Cleanup(func() {
		if err := log.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return log
}

func TestFollowedLogEndsWithTheSignal(t *testing.T) {
	w := newWorld(t, sharedCache)
	log := w.logOf("demo")
	log.Note("session1", "started")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := w.command("logs", "demo", "--follow", "--notes", "-n", "1")
		var stdout, stderr watched
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the last line", func() bool { return strings.Count(stdout.String(), "\n") == 1 })
		if _, err := io.WriteString(log.Writer("session1"), "output\n"); err != nil {
			t.Fatal(err)
		}
		log.Note("session1", s.String())
		eventually(t, "the line that came", func() bool { return strings.HasSuffix(stdout.String(), " session1 # "+s.String()+"\n") })
		_ = cmd.Process.Signal(s)
		said := "loomext: stopped by SIGTERM before it was done\n"
		if s == syscall.SIGINT {
			said = "" // Ctrl-C is how it ends
		}
		if got := exitCode(cmd.Wait()); got != 128+int(s) || stderr.String() != said || strings.Contains(stdout.String(), "output") {
			t.Errorf("%s: status %d, stdout %q, stderr %q", s, got, stdout.String(), stderr.String())
		}
	}
}

// A reader who leaves ends a followed log with the next line.
func TestReaderOfAFollowedLogHasLeft(t *testing.T) {
	w := newWorld(t, sharedCache)
	log := w.logOf("demo")
	log.Note("s", "first")
	r, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := w.command("logs", "demo", "-f", "--json")
	cmd.Stdout = wr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = wr.Close()
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || !strings.HasSuffix(line, `"session":"s","note":true,"text":"first"}`+"\n") {
		t.Errorf("%q, %v", line, err)
	}
	_ = r.Close()
	log.Note("s", "second")
	if got := exitCode(cmd.Wait()); got != 141 {
		t.Errorf("status %d, want 141", got)
	}
}

func TestLogsOnATerminal(t *testing.T) {
	w := newWorld(t, sharedCache)
	log := w.logOf("demo")
	log.Note("session-of-demo", "started")
	if _, err := io.WriteString(log.Writer("s1"), "\x1b[31mred\x1b[0m\rover \u202egnp.exe\n"); err != nil {
		t.Fatal(err)
	}
	status, seen := w.on(newTerminal(t), nil, "logs", "demo")
	if status != 0 || !strings.HasPrefix(seen, colorDim+"20") || !strings.Contains(seen, "Z session- #"+colorOff+" started\r\n") ||
		!strings.Contains(seen, " s1 |"+colorOff+` \x1b[31mred\x1b[0m\rover \u202egnp.exe`+"\r\n") {
		t.Errorf("status %d: %q", status, seen)
	}
	status, seen = w.on(newTerminal(t), nil, "logs", "demo", "--json", "-n", "1")
	if status != 0 || !strings.Contains(seen, `"text":"\u001b[31mred\u001b[0m\rover \u202egnp.exe"}`+"\r\n") || strings.Contains(seen, colorDim) {
		t.Errorf("status %d: %q", status, seen)
	}
	w.env = append(w.env, "NO_COLOR=1")
	if status, seen = w.on(newTerminal(t), nil, "logs", "demo"); status != 0 || strings.Contains(seen, "\x1b") || !strings.Contains(seen, ` s1 | \x1b[31mred`) {
		t.Errorf("NO_COLOR: status %d: %q", status, seen)
	}
}
