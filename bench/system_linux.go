package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeInherited closes what this program was given beside the standard streams. A launch copies the table of descriptors, so
// what it costs must not hang on what a shell happened to leave open. What the Go runtime opened itself closes at exec and stays.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
	return nil
}

// socketPair makes a connected pair: ours, and theirs to hand to a child.
func socketPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "its other end"), nil
}

// pinned runs a command on so many cores, and everything the command starts with it: affinity is inherited, and a Go program
// counts the cores it may use when it starts.
func pinned(ctx context.Context, cores int, name string, args ...string) ([]byte, error) {
	type answer struct {
		out []byte
		err error
	}
	answers := make(chan answer)
	go func() {
		runtime.LockOSThread() // never unlocked, so the pinned thread ends with the goroutine
		var all, some unix.CPUSet
		err := unix.SchedGetaffinity(0, &all)
		if err == nil {
			for range min(cores, all.Count()) {
				cpu := last(&all)
				all.Clear(cpu)
				some.Set(cpu)
			}
			err = unix.SchedSetaffinity(0, &some)
		}
		var out []byte
		if err == nil {
			cmd := exec.CommandContext(ctx, name, args...)
			cmd.Stderr = os.Stderr
			out, err = cmd.Output()
		}
		answers <- answer{out, err}
	}()
	a := <-answers
	return a.out, a.err
}

// last is the highest core of a set: the lowest tends to serve interrupts.
func last(set *unix.CPUSet) int {
	found := 0
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			found = cpu
		}
	}
	return found
}

// watched are processes whose ends can be seen, whoever reaps them and whatever their numbers come to mean.
type watched []unix.PollFd

func watch(pids []int) (watched, error) {
	var w watched
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err == unix.ESRCH {
			continue // it has ended
		}
		if err != nil {
			w.close()
			return nil, os.NewSyscallError("pidfd_open", err)
		}
		w = append(w, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	return w, nil
}

// alive is how many of them have not ended.
func (w watched) alive() int {
	for {
		ended, err := unix.Poll(w, 0)
		if err != unix.EINTR {
			return len(w) - max(ended, 0)
		}
	}
}

func (w watched) close() {
	for _, p := range w {
		_ = unix.Close(int(p.Fd))
	}
}
