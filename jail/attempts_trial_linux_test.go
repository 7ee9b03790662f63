//go:build amd64 || arm64

package jail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Exit statuses of the probe.
	probeHeld    = 0
	probeEscaped = 3
	// trialPatience ends a trial that hangs; the longest honest one takes two seconds.
	trialPatience = 30 * time.Second
	// trialBudget is the memory beyond the floor: small, so that bombs are quick.
	trialBudget = 20 << 20
	// trialMiB is what a memory bomb must not reach, well above the limit.
	trialMiB = 100
	// trialTables is what a bomb of page tables must not reach, in MiB: as much as
	// the data limit, since the smallest mapping of a page takes a page of tables.
	trialTables = (DataFloor + trialBudget) >> 20
	// trialFileMiB is the size that no file may have.
	trialFileMiB = 16
	// trialFloodMiB is more than a socket and a kept output hold together.
	trialFloodMiB = 8
	// trialAreas would hold twice the budget, as half of them are pages to write to.
	trialAreas = 25_000
	// trialSignals is a number of signals that nobody has waiting.
	trialSignals = 1000
	// trialDescriptors, trialThreads and trialProcesses are beyond what a satellite
	// may have. At the level where its threads are counted together with those of
	// the host's user, it may have many.
	trialDescriptors = 2000
	trialThreads     = 2500
	trialProcesses   = 64
	// trialCPU and trialSpin: the limit that a spin ends at and the time it wants.
	trialCPU  = time.Second
	trialSpin = 1300 * time.Millisecond
	// trialPause is how long a flood waits for a reader, where there is none, and
	// trialReader where there is.
	trialPause  = 50 * time.Millisecond
	trialReader = 10 * time.Second
	// trialLimit is the processor time that every other attempt may have.
	trialLimit = 10 * time.Second
)

// try makes one trial.
func (s *scene) try(t trial) finding {
	switch t.Attempt {
	case "thread-bomb", "runtime-thread-bomb":
		s.crowd.Lock()
		defer s.crowd.Unlock()
	case "ptrace":
		s.tracing.Lock()
		defer s.tracing.Unlock()
		fallthrough
	default:
		s.crowd.RLock()
		defer s.crowd.RUnlock()
	}
	f := finding{Trial: t}
	if err := s.run(&f); err != nil {
		f.Broken = err.Error()
	}
	return f
}

// run gives the attempt a directory and a channel of its own.
func (s *scene) run(f *finding) error {
	attempt := f.Trial.Attempt
	dir, err := os.MkdirTemp(s.dir, "t")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	victim, binary := filepath.Join(dir, "victim"), filepath.Join(dir, "binary")
	err = errors.Join(os.Chmod(dir, 0o777), os.WriteFile(victim, []byte("the host's own\n"), 0o666),
		os.Chmod(victim, 0o666), os.Link(s.probe, binary))
	if err != nil {
		return err
	}
	ours, theirs, err := channelPair()
	if err != nil {
		return err
	}
	defer ours.Close()
	defer theirs.Close()
	files := []*os.File{theirs}
	extra, done, err := extraFile(attempt)
	if err != nil {
		f.Unmade, f.Text = true, err.Error()
		return nil
	}
	defer done()
	if extra != nil {
		files = append(files, extra)
	}
	if attempt == "descriptor-received" {
		if err := unix.Sendmsg(int(ours.Fd()), []byte{'x'}, unix.UnixRights(2), nil, 0); err != nil {
			return err
		}
	}
	args := append([]string{attempt, "dir=" + dir, "victim=" + victim, "binary=" + binary, "setuid=" + s.setuid,
		"mib=" + strconv.Itoa(mebibytesOf(attempt)), "count=" + strconv.Itoa(countOf(attempt)),
		"milliseconds=" + strconv.FormatInt(timeOf(f.Trial).Milliseconds(), 10)}, s.facts...)
	given := len(args) + 2
	if f.Trial.Outside != "" {
		given-- // so that there is one it was not given
	}
	args = append(args, "arguments="+strconv.Itoa(given))
	if f.Trial.Outside != "" {
		return s.outside(f, binary, dir, args, ours, files)
	}
	return s.inside(f, binary, args, files)
}

func channelPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs"), nil
}

// extraFile is a descriptor that only one attempt is about: a terminal.
func extraFile(attempt string) (extra *os.File, done func(), err error) {
	switch attempt {
	case "terminal-input":
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return nil, nil, err
		}
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
		slave, _, errno := unix.Syscall(unix.SYS_IOCTL, master.Fd(), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if err == nil && errno != 0 {
			err = errno
		}
		if err != nil {
			_ = master.Close()
			return nil, nil, err
		}
		extra = os.NewFile(slave, "terminal")
		return extra, func() { _ = extra.Close(); _ = master.Close() }, nil
	case "console-selection":
		extra, err = os.OpenFile("/dev/tty0", os.O_RDWR|unix.O_NOCTTY, 0)
		return extra, func() { _ = extra.Close() }, err
	}
	return nil, func() {}, nil
}

func mebibytesOf(attempt string) int {
	switch attempt {
	case "table-bomb", "sparse-bomb", "spread-bomb", "guard-bomb":
		return trialTables
	case "large-file":
		return trialFileMiB
	case "stderr-flood", "frame-flood":
		return trialFloodMiB
	}
	return trialMiB
}

func countOf(attempt string) int {
	switch attempt {
	case "area-bomb":
		return trialAreas
	case "signal-bomb":
		return trialSignals
	case "descriptor-bomb":
		return trialDescriptors
	case "process-bomb":
		return trialProcesses
	}
	return trialThreads
}

func timeOf(t trial) time.Duration {
	switch {
	case t.Attempt == "processor-spin":
		return trialSpin
	case t.Outside != "":
		return trialReader
	}
	return trialPause
}

// outside runs the attempt with nothing around it.
func (s *scene) outside(f *finding, binary, dir string, args []string, ours *os.File, files []*os.File) error {
	ctx, cancel := context.WithTimeout(context.Background(), trialPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var said bytes.Buffer
	cmd.Stderr, cmd.ExtraFiles, cmd.Dir, cmd.WaitDelay = &said, files, dir, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if f.Trial.Outside == outsideNamespaces {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	switch f.Trial.Attempt {
	case "frame-flood": // somebody reads
		go func() { _, _ = io.Copy(io.Discard, ours) }()
	case "standard-mode": // a file of its own in the place of the null device
		stdin, err := os.Open(filepath.Join(dir, "victim"))
		if err != nil {
			return err
		}
		defer stdin.Close()
		cmd.Stdin = stdin
	case outlive:
		cmd.Stderr = nil
		cmd.Cancel = func() error { return nil }
		pipe, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			_, err = pipe.Read(make([]byte, len(asleepLine)))
		}
		if err == nil {
			f.Text = strconv.Itoa(cmd.Process.Pid)
			s.stay()
		}
		return err
	}
	if err := cmd.Start(); err != nil {
		f.Unmade, f.Text = true, err.Error()
		return nil
	}
	err := cmd.Wait()
	f.Text = lastLine(said.String())
	switch cmd.ProcessState.ExitCode() {
	case probeEscaped:
		f.Escaped = true
	case probeHeld:
	default:
		return fmt.Errorf("%w: %s", err, said.String())
	}
	return nil
}

// inside runs the attempt as a satellite.
func (s *scene) inside(f *finding, binary string, args []string, files []*os.File) error {
	limits := Limits{CPU: trialLimit, DataBytes: DataFloor + trialBudget}
	if f.Trial.Attempt == "processor-spin" {
		limits.CPU = trialCPU
	}
	ctx, cancel := context.WithTimeout(context.Background(), trialPatience)
	defer cancel()
	life := ctx
	if f.Trial.Attempt == outlive {
		life = context.Background()
	}
	spec := Spec{Path: binary, Image: s.image, Args: args, Files: files, Limits: limits, Profile: Satellite}
	c, err := Start(life, spec, Options{BestEffort: true, without: f.Trial.Without})
	if err != nil {
		return err
	}
	report := c.Report()
	f.Level, f.Missing = report.Level, map[string]string{}
	for _, l := range report.Layers {
		if l.State == Enforced {
			f.Stands = append(f.Stands, l.Name)
		} else {
			f.Missing[l.Name] = l.Reason
		}
	}
	if f.Trial.Attempt == outlive { // until the host is gone
		for !strings.Contains(c.Stderr(), asleepLine) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			time.Sleep(time.Millisecond)
		}
		f.Text = strconv.Itoa(c.PID())
		s.stay()
		return nil
	}
	exit, err := c.Wait()
	if err != nil {
		return err
	}
	f.Bound, f.Call = exit.Bound, exit.Call
	f.Text = lastLine(c.Stderr())
	switch {
	case exit.Killed:
		return fmt.Errorf("hung: %s", c.Stderr())
	case exit.Code == probeEscaped && f.Trial.Attempt == "stderr-flood":
		f.Escaped = len(c.Stderr()) > 2*DefaultStderrCap
	case exit.Code == probeEscaped:
		f.Escaped = true
	case exit.Bound != "":
		f.Text = exit.String()
	case exit.Code != probeHeld:
		return fmt.Errorf("%s: %s", exit, c.Stderr())
	}
	return nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
