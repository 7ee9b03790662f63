//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// input reads a file that may have nothing to read for long, such as a terminal or a pipe. A
// Read ends with its context, and no goroutine is left waiting for a key.
type input struct {
	ctx   context.Context
	f     *os.File
	woken *os.File // becomes readable when ctx ends
	stop  func()
}

func newInput(ctx context.Context, f *os.File) (*input, error) {
	woken, wake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	unregister := context.AfterFunc(ctx, func() { _ = wake.Close() })
	stop := func() {
		if unregister() {
			_ = wake.Close()
		}
		_ = woken.Close()
	}
	return &input{ctx: ctx, f: f, woken: woken, stop: stop}, nil
}

// Close ends the waiting. The file stays open: it is its opener's.
func (i *input) Close() { i.stop() }

// Read waits until the file has something, then reads once.
func (i *input) Read(p []byte) (int, error) {
	fds := []unix.PollFd{
		{Fd: int32(i.f.Fd()), Events: unix.POLLIN},
		{Fd: int32(i.woken.Fd()), Events: unix.POLLIN},
	}
	for {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return 0, err
		}
		if i.ctx.Err() != nil {
			return 0, context.Cause(i.ctx)
		}
		if fds[0].Revents != 0 {
			n, err := i.f.Read(p)
			if errors.Is(err, unix.EIO) {
				err = io.EOF // a terminal that nobody has any longer
			}
			return n, err
		}
	}
}

// HungUp reports whether whoever writes has closed his side, though there may be more to read.
func (i *input) HungUp() bool {
	fds := []unix.PollFd{{Fd: int32(i.f.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLHUP != 0
}

// openInput opens a file to read. A named pipe does not block it until somebody writes.
func openInput(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
}
