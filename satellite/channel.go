package satellite

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// keptBuffer is the largest frame buffer that is kept for the next frame: most
// calls fit, and a satellite at rest holds no more.
const keptBuffer = 80 << 10

// channel is the host's end of the socket pair.
//
// A wait in the Go runtime's poller takes three system calls more than one in
// the kernel, and every call waits once. So the descriptor blocks, whoever may
// wait for long says so with every system call, and only a reader that expects
// its answer at once waits in the kernel, for a tick of its clock. It holds a
// thread for that tick and no longer; then it goes to the poller. The runtime
// takes the processor from under such a thread when another goroutine needs it.
type channel struct {
	file *os.File
	raw  syscall.RawConn // of file: it keeps the descriptor while it is used

	// The reader's alone.
	soon     bool // the next bytes are expected at once
	starting int  // how many more waits the first answer is worth
	into     []byte
	got      int
	readErr  error
	receive  func(fd uintptr) bool // made once

	// Writers hold mu for a whole frame and encode into buf.
	mu       sync.Mutex
	buf      []byte
	rest     []byte
	writeErr error
	send     func(fd uintptr) bool // made once
}

// Read waits for bytes. A read deadline of the file and its closing end the
// wait, where it is not one of a tick.
func (c *channel) Read(p []byte) (int, error) {
	c.into, c.got, c.readErr = p, 0, nil
	err := c.raw.Read(c.receive)
	if err == nil {
		err = c.readErr
	}
	c.into = nil
	return c.got, err
}

// write writes a whole frame, waiting for room, and returns how much of it was
// taken. What ends the wait of a writer whose satellite does not read is the
// satellite's destruction. mu is held.
func (c *channel) write(frame []byte) (int, error) {
	c.rest, c.writeErr = frame, nil
	err := c.raw.Write(c.send)
	if err == nil {
		err = c.writeErr
	}
	n := len(frame) - len(c.rest)
	c.rest = nil
	return n, err
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
	_, _ = c.write(wire.AppendCancel(nil, id))
}

// sayGoodbye asks the satellite to serve no more, within a bound that holds for
// every writer from now on.
func (c *channel) sayGoodbye(within time.Duration) error {
	if err := c.file.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.write(wire.AppendCancel(nil, 0))
	return err
}
