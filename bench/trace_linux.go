package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// children runs a command under ptrace and returns the command line of every program that it and its children started, in
// that order. A fork that runs no program of its own is not told: os/exec makes one to learn what the kernel can do. A
// command that fails is an error: what it would have started is unknown.
//
// The command's own use of ptrace fails meanwhile, so one that starts a child in a jail fails here. That is an answer too.
func children(cmd *exec.Cmd) ([][]string, error) {
	type answer struct {
		started [][]string
		err     error
	}
	answers := make(chan answer)
	go func() {
		// The tracer is a thread: it alone may wait for what it traces. It ends with the goroutine, as it is not unlocked.
		runtime.LockOSThread()
		started, err := trace(cmd)
		answers <- answer{started, err}
	}()
	a := <-answers
	return a.started, a.err
}

func trace(cmd *exec.Cmd) ([][]string, error) {
	said, err := os.CreateTemp("", "loomext-bench-said-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(said.Name())
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("ptrace: %w", err)
	}
	t := tracer{root: cmd.Process.Pid, known: map[int]bool{}}
	defer cmd.Process.Release() // reaped below
	if err := t.follow(); err != nil {
		_ = unix.Kill(t.root, unix.SIGKILL)
		return nil, err
	}
	if t.status != 0 {
		text, _ := os.ReadFile(said.Name())
		return nil, fmt.Errorf("traced, it ended with status %d: %s", t.status, bytes.TrimSpace(text))
	}
	return t.started, nil
}

// tracer follows a process and everything it starts to their ends.
type tracer struct {
	root    int
	status  int          // of the root
	known   map[int]bool // threads that have made their first stop
	started [][]string
}

const traceOptions = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC |
	unix.PTRACE_O_EXITKILL

func (t *tracer) follow() error {
	for {
		var status unix.WaitStatus
		// Only what this thread traces: the program may have other children.
		pid, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return fmt.Errorf("ptrace: wait: %w", err)
		case !status.Stopped():
			if pid == t.root {
				t.status = status.ExitStatus()
			}
			continue
		}
		signal, err := t.stopped(pid, status)
		if err == nil {
			err = unix.PtraceCont(pid, signal)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // killed while it was stopped
			return fmt.Errorf("ptrace: %w", err)
		}
	}
}

// stopped notes what a stop means and returns the signal the thread goes on with.
func (t *tracer) stopped(pid int, status unix.WaitStatus) (int, error) {
	first := !t.known[pid]
	t.known[pid] = true
	if status.StopSignal() == unix.SIGTRAP {
		if first && pid == t.root { // its exec
			return 0, unix.PtraceSetOptions(pid, traceOptions)
		}
		switch status.TrapCause() {
		case unix.PTRACE_EVENT_EXEC:
			t.ran(pid)
			return 0, nil
		case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_CLONE: // it is traced from its start
			return 0, nil
		}
	}
	if first && status.StopSignal() == unix.SIGSTOP {
		return 0, nil // how the kernel introduces a new thread
	}
	return int(status.StopSignal()), nil
}

// ran notes the program a process has become.
func (t *tracer) ran(pid int) {
	argv := []string{"?"}
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err == nil && len(line) > 0 {
		argv = strings.Split(string(bytes.TrimSuffix(line, []byte{0})), "\x00")
	}
	t.started = append(t.started, argv)
}
