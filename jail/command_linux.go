//go:build amd64 || arm64

package jail

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// outputGrace is how long output is read on after the program has ended: a
// process that left the group may hold the pipe open for ever.
const outputGrace = 500 * time.Millisecond

// Command is a started command. All its methods may be called at any time, by
// many goroutines.
type Command struct {
	pid      int
	leave    func() // gives back the user it was made
	report   Report
	group    *group
	listener *listener
	stderr   *capped
	limits   Limits

	mu     sync.Mutex // held while the identifiers are used or given up
	killed bool
	gone   bool // reaped: the identifiers belong to nobody
	pidfd  *os.File
	number int // of pidfd, once taken: Fd could change the file's mode

	done    chan struct{} // closed after exit and waitErr are set
	exit    Exit
	waitErr error
}

// start does the system's part of [Start].
func start(ctx context.Context, s Spec, o Options) (*Command, error) {
	var own closers // the child's ends and, until the launch holds, ours
	defer own.close()
	// Its own: what a program sets on a shared one would be another's to see.
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &Error{Place: "descriptors", What: "the null device could not be opened", Err: err}
	}
	own.add(null)
	errOut, errIn, err := outputPipe(&own)
	if err != nil {
		return nil, err
	}
	files := []uintptr{uintptr(null), uintptr(null), uintptr(errIn)}
	out := -1
	if s.Joined {
		files[1] = uintptr(errIn)
	}
	if s.Stdout != nil {
		var in int
		if out, in, err = outputPipe(&own); err != nil {
			return nil, err
		}
		files[1] = uintptr(in)
	}
	if s.Stdin != nil {
		if files[0], err = descriptor(s.Stdin); err != nil {
			return nil, &Error{Place: "descriptors", What: "standard input is closed", Fix: "keep it open until Start returns", Err: err}
		}
	}
	for _, f := range s.Files {
		fd, err := descriptor(f)
		if err != nil {
			return nil, &Error{Place: "descriptors", What: "a file to hand over is closed", Fix: "keep it open until Start returns", Err: err}
		}
		files = append(files, fd)
	}

	jobs := forks.hold()
	l, err := launchOn(ctx, jobs, s, o, files)
	if err != nil {
		forks.release()
		return nil, err
	}
	c := &Command{pid: l.pid, leave: l.leave, report: newReport(s.Profile, l.layers), group: l.group, stderr: newCapped(s.StderrCap), limits: s.Limits, done: make(chan struct{})}
	_ = unix.SetNonblock(l.pidfd, true) // so that the wait parks a goroutine, not a thread
	c.number, c.pidfd = l.pidfd, os.NewFile(uintptr(l.pidfd), "pidfd")
	if c.group != nil {
		c.group.closeProcs()
	}
	if l.listenFD >= 0 {
		c.listener = listen(l.listenFD, c.end)
	}
	readers := []*reader{read(own.take(errOut), c.stderr.beside(s.Stderr))}
	if out >= 0 {
		readers = append(readers, read(own.take(out), s.Stdout))
	}
	stop := context.AfterFunc(ctx, c.Kill)
	go c.mourn(readers, stop)
	return c, nil
}

// PID is the process identifier. It names nothing once Done is closed.
func (c *Command) PID() int { return c.pid }

// Report is what stood around the command.
func (c *Command) Report() Report {
	return Report{Level: c.report.Level, Layers: slices.Clone(c.report.Layers)}
}

// Done closes when the command is gone and nothing of it is left here.
func (c *Command) Done() <-chan struct{} { return c.done }

// Wait waits for Done. The error says that the end could not be watched or
// that Spec.Stdout refused what it was given; how the program ended is in Exit.
func (c *Command) Wait() (Exit, error) {
	<-c.done
	return c.exit, c.waitErr
}

// Stderr is what was kept of standard error so far, and of standard output where
// the two are joined.
func (c *Command) Stderr() string { return c.stderr.String() }

// CPU is the processor time that the command's process has used so far, of all of its
// threads. It is false once the command is gone.
func (c *Command) CPU() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return 0, false
	}
	var spent unix.Timespec
	if err := unix.ClockGettime(processClock(c.pid), &spent); err != nil {
		return 0, false
	}
	return time.Duration(spent.Nano()), true
}

// processClock is the kernel's number for the CPU clock of a process, from
// include/linux/posix-timers.h: CPUCLOCK_SCHED of the whole of it.
func processClock(pid int) int32 { return ^int32(pid)<<3 | 2 }

// Kill ends the command and its process group at once. It does not wait.
func (c *Command) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	c.killed = true
	c.killGroup()
}

// end is Kill for something the command has done itself.
func (c *Command) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.killGroup()
	}
}

// killGroup is called with mu held and the leader not reaped, so that neither
// number can have been given to another process.
func (c *Command) killGroup() {
	_ = unix.Kill(-c.pid, unix.SIGKILL)
	_ = unix.PidfdSendSignal(c.number, unix.SIGKILL, nil, 0)
}

// mourn watches the command to its end and clears up after it.
func (c *Command) mourn(readers []*reader, stop func() bool) {
	err := c.awaitExit()
	c.mu.Lock()
	if !errors.Is(err, unix.ECHILD) { // else somebody has reaped it, and the number may be another's
		c.killGroup() // what the leader left behind
	}
	var status unix.WaitStatus
	var usage unix.Rusage
	unseen := false
	for {
		var reapErr error
		if _, reapErr = unix.Wait4(c.pid, &status, 0, &usage); reapErr == unix.EINTR {
			continue
		}
		unseen = reapErr != nil
		err = errors.Join(err, reapErr)
		break
	}
	c.gone = true
	_ = c.pidfd.Close()
	killed := c.killed
	c.mu.Unlock()
	stop()
	deadline := time.Now().Add(outputGrace)
	for _, r := range readers {
		err = errors.Join(err, r.finish(deadline))
	}
	c.exit = c.verdict(status, usage, killed)
	if unseen {
		c.exit.Code = -1
	}
	c.leave()
	if call := c.listener.finish(); call >= 0 {
		c.exit.Bound, c.exit.Call, c.exit.Killed = BoundSystemCall, callName(arch, call), false
	}
	if c.group != nil {
		if c.exit.Bound == "" && !killed && c.group.overran() {
			c.exit.Bound = BoundMemory
		}
		c.group.remove()
	}
	if err != nil {
		c.waitErr = &Error{Place: "wait", What: "the end of the command was not seen whole", Err: err}
	}
	forks.release()
	close(c.done)
}

// awaitExit returns when the leader has ended, leaving it to be reaped.
func (c *Command) awaitExit() error {
	flags := unix.WEXITED | unix.WNOWAIT
	wait := func(fd, flags int) error {
		for {
			if err := unix.Waitid(unix.P_PIDFD, fd, nil, flags, nil); err != unix.EINTR {
				return err
			}
		}
	}
	raw, err := c.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var waitErr error
	err = raw.Read(func(fd uintptr) bool {
		waitErr = wait(int(fd), flags) // EAGAIN while it lives
		return waitErr != unix.EAGAIN
	})
	if err == nil {
		return waitErr
	}
	// The descriptor cannot be polled here: spend a thread on it.
	_ = unix.SetNonblock(c.number, false)
	return wait(c.number, flags)
}

// verdict reads an Exit from what the kernel said.
func (c *Command) verdict(status unix.WaitStatus, usage unix.Rusage, killed bool) Exit {
	e := Exit{Code: status.ExitStatus(), ResidentBytes: int64(usage.Maxrss) << 10}
	e.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	if !status.Signaled() {
		if e.Code == 2 && c.limits.DataBytes+c.limits.AddressBytes != 0 && ranOutOfMemory(c.stderr.String(), e.ResidentBytes > c.limits.DataBytes/2) {
			e.Bound = BoundMemory
		}
		if e.Code == 2 && c.limits.Processes != 0 && strings.Contains(c.stderr.String(), noThread) {
			e.Bound = BoundProcesses
		}
		return e
	}
	e.Code, e.Signal = -1, unix.SignalName(status.Signal())
	switch status.Signal() {
	case unix.SIGXCPU:
		e.Bound = BoundCPU
	case unix.SIGSYS:
		e.Bound = BoundSystemCall
	case unix.SIGXFSZ:
		e.Bound = BoundFileSize
	case unix.SIGKILL:
		e.Killed = killed
		limit := time.Duration(cpuSeconds(c.limits)) * time.Second
		if !killed && limit > 0 && e.CPU >= limit*cpuCounted/100 {
			e.Bound = BoundCPU
		}
	}
	return e
}

// cpuCounted is the percentage of the limit the exact accounting shows at least
// at the kill: the kernel judges the limit by sampled ticks.
const cpuCounted = 50

var _ io.Writer = (*capped)(nil)
