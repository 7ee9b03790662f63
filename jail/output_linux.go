//go:build amd64 || arm64

package jail

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// pastDeadline ends a wait at once.
var pastDeadline = time.Unix(1, 0)

// outputBuffer is what one read of a program's output takes: small, because one
// stands idle for every satellite.
const outputBuffer = 8 << 10

// closers are descriptors that are closed unless somebody takes them.
type closers []int

func (c *closers) add(fd int) { *c = append(*c, fd) }

func (c *closers) take(fd int) int {
	for i, have := range *c {
		if have == fd {
			(*c)[i] = -1
		}
	}
	return fd
}

func (c *closers) closeOne(fd int) { _ = unix.Close(c.take(fd)) }

func (c *closers) close() {
	for _, fd := range *c {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// outputPipe is a pipe whose reading end can be polled and whose writing end is
// an ordinary blocking one.
func outputPipe(own *closers) (out, in int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, &Error{Place: "descriptors", What: "no pipe for the program's output", Err: err}
	}
	own.add(p[0])
	own.add(p[1])
	_ = unix.SetNonblock(p[0], true)
	return p[0], p[1], nil
}

// descriptor is f's number, without making it blocking as Fd would.
func descriptor(f *os.File) (uintptr, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var fd uintptr
	err = raw.Control(func(n uintptr) { fd = n })
	return fd, err
}

// reader moves a program's output to a writer until its end.
type reader struct {
	from *os.File
	done chan struct{}
	err  error
}

func read(fd int, to io.Writer) *reader {
	r := &reader{from: os.NewFile(uintptr(fd), "output"), done: make(chan struct{})}
	go r.drain(to)
	return r
}

// drain goes on reading after the writer has failed: the program must never
// block on its output.
func (r *reader) drain(to io.Writer) {
	defer close(r.done)
	buf := make([]byte, outputBuffer)
	for {
		n, err := r.from.Read(buf)
		if n > 0 && r.err == nil {
			_, r.err = to.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// finish waits for the end of the output, or for the deadline.
func (r *reader) finish(deadline time.Time) error {
	err := r.from.SetReadDeadline(deadline)
	<-r.done
	return errors.Join(r.err, err, r.from.Close())
}

// lastWords are how a Go program says that it got no memory.
var lastWords = []string{
	"runtime: out of memory", "fatal error: out of memory", "runtime: cannot allocate memory",
}

// noThread is how one says that it got no thread.
const noThread = "failed to create new OS thread"

// insideRuntime is how it dies where its own collector stumbles over the missing
// memory first: of a fault on a stack of the runtime's own, which no fault of the
// program's shows. A program that was nowhere near its limit has another fault.
var insideRuntime = []string{"SIGSEGV: segmentation violation\nPC=", "\n\ngoroutine 0 "}

func ranOutOfMemory(stderr string, near bool) bool {
	if near && strings.Contains(stderr, insideRuntime[0]) && strings.Contains(stderr, insideRuntime[1]) {
		return true
	}
	for _, words := range lastWords {
		if strings.Contains(stderr, words) {
			return true
		}
	}
	return false
}
