//go:build unix

package runtime

import (
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
)

const (
	// ownGoroutines are those of a satellite whose extension has started none: the one
	// that waits for the end of the loop, and the one that reads.
	ownGoroutines = 2

	// yieldEvery is after how many reads the reader lets the scheduler have a look. Go
	// takes the processor, with a good deal of trouble, from a goroutine that has not
	// been scheduled anew for 10 ms; so many questions take less.
	yieldEvery = 16
)

// socket is a channel over plain, blocking system calls: one to read a question, one to
// write its answer. Waiting in the Go runtime's poller, as an os.File does, doubles them.
type socket struct {
	fd     int
	closed atomic.Bool
	reads  uint // by whoever reads, as is alone
	alone  bool // there is one processor
}

// Read waits in the kernel, and until the Go runtime notices it keeps its processor
// from all other goroutines. So they go first where there is no second one.
func (s *socket) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	round := s.reads%yieldEvery == 0
	s.reads++
	if round {
		s.alone = runtime.GOMAXPROCS(0) == 1
	}
	if round || s.alone && runtime.NumGoroutine() > ownGoroutines {
		runtime.Gosched()
	}
	for !s.closed.Load() {
		n, err := syscall.Read(s.fd, b)
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF
		case err != syscall.EINTR:
			return 0, os.NewSyscallError("read", err)
		}
	}
	return 0, os.ErrClosed
}

// Write writes all of b.
func (s *socket) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		if s.closed.Load() {
			return done, os.ErrClosed
		}
		n, err := syscall.Write(s.fd, b[done:])
		done += max(n, 0)
		if err != nil && err != syscall.EINTR {
			return done, os.NewSyscallError("write", err)
		}
	}
	return done, nil
}

// Close ends both directions, which wakes whoever waits in either. The descriptor
// itself stays until the process ends: its number must not come to mean something
// else while a thread is about to use it.
func (s *socket) Close() error {
	if s.closed.Swap(true) {
		return os.ErrClosed
	}
	return os.NewSyscallError("shutdown", syscall.Shutdown(s.fd, syscall.SHUT_RDWR))
}
