//go:build unix

package runtime

import (
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
)

// ownGoroutines are those of a satellite whose extension has started none: the one
// that waits for the loop to end, and the one that reads.
const ownGoroutines = 2

// socket is a channel over plain, blocking system calls. The Go runtime's poller,
// which an os.File would wait in, costs a satellite three more system calls a
// question and a set-up at its start; what it saves, a thread for each goroutine that
// waits, is here one thread in all.
type socket struct {
	fd     int
	closed atomic.Bool
}

// Read waits in the kernel. The runtime takes the processor back from a thread that
// does, but not at once, so where there is just one whatever else can run goes first.
func (s *socket) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if runtime.NumGoroutine() > ownGoroutines && runtime.GOMAXPROCS(0) == 1 {
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
	for done := 0; ; {
		if s.closed.Load() {
			return done, os.ErrClosed
		}
		n, err := syscall.Write(s.fd, b[done:])
		done += max(n, 0)
		switch {
		case done == len(b):
			return done, nil
		case err != nil && err != syscall.EINTR:
			return done, os.NewSyscallError("write", err)
		}
	}
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
