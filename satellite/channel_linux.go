package satellite

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	"golang.org/x/sys/unix"
)

// keptBuffer is the largest frame buffer that is kept for the next frame: most
// calls fit, and a satellite at rest holds no more.
const keptBuffer = 64 << 10

// channel is the host's end of the socket pair. Writers hold mu for a whole
// frame and encode into buf.
type channel struct {
	file *os.File
	raw  syscall.RawConn

	mu  sync.Mutex
	buf []byte

	// try makes one write without waiting; it is kept so that a call makes no
	// closure. Its operands are under mu.
	try     func(fd uintptr) bool
	pending []byte
	n       int
	err     error
}

// newChannel makes the pair. Theirs is a blocking descriptor; the satellite
// does with its end what it likes.
func newChannel() (ours *channel, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(pair[0], true)
		if err != nil {
			_ = unix.Close(pair[0])
			_ = unix.Close(pair[1])
		}
	}
	if err != nil {
		return nil, nil, &jail.Error{Place: "descriptors", What: "no socket pair for the satellite", Err: err}
	}
	c := &channel{file: os.NewFile(uintptr(pair[0]), "satellite")}
	theirs = os.NewFile(uintptr(pair[1]), "satellite's end")
	c.raw, err = c.file.SyscallConn()
	if err != nil {
		_ = c.file.Close()
		_ = theirs.Close()
		return nil, nil, &jail.Error{Place: "descriptors", What: "the socket pair cannot be used", Err: err}
	}
	c.try = func(fd uintptr) bool {
		for {
			c.n, c.err = unix.Write(int(fd), c.pending)
			if c.err != unix.EINTR {
				return true
			}
		}
	}
	return c, theirs, nil
}

// attempt writes what the socket takes at once. mu is held.
func (c *channel) attempt(frame []byte) (int, error) {
	c.pending = frame
	err := c.raw.Write(c.try)
	c.pending = nil
	switch {
	case err != nil:
		return 0, err
	case c.err == unix.EAGAIN:
		return 0, nil
	case c.err != nil:
		return 0, c.err
	}
	return c.n, nil
}

// write writes a whole frame and waits for room. mu is held.
func (c *channel) write(frame []byte) error {
	n, err := c.attempt(frame)
	if err == nil && n < len(frame) {
		_, err = c.file.Write(frame[n:])
	}
	return err
}

// keep hands the buffer to the next frame. mu is held.
func (c *channel) keep(frame []byte) {
	if cap(frame) <= keptBuffer {
		c.buf = frame
	}
}

// cancel tells the satellite that a call is no longer wanted. Its failure shows
// in the reading.
func (c *channel) cancel(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.write(wire.AppendCancel(nil, id))
}

// sayGoodbye asks the satellite to serve no more, within a bound that holds for
// every writer from now on.
func (c *channel) sayGoodbye(within time.Duration) error {
	if err := c.file.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write(wire.AppendCancel(nil, 0))
}
