package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// socketPair makes a connected pair: ours, and theirs to hand to a child.
func socketPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "its other end"), nil
}

// pinned runs a command on one core, and everything the command starts with it: affinity is inherited, and a Go program counts
// the cores it may use when it starts.
func pinned(ctx context.Context, name string, args ...string) ([]byte, error) {
	type answer struct {
		out []byte
		err error
	}
	answers := make(chan answer)
	go func() {
		runtime.LockOSThread() // never unlocked, so the pinned thread ends with the goroutine
		var all, one unix.CPUSet
		err := unix.SchedGetaffinity(0, &all)
		if err == nil {
			one.Set(last(&all))
			err = unix.SchedSetaffinity(0, &one)
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
