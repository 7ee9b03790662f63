package satellite

import (
	"os"
	"sync"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// keptBuffer is the largest frame buffer that is kept for the next frame: most
// calls fit, and a satellite at rest holds no more.
const keptBuffer = 64 << 10

// channel is the host's end of the socket pair. Writers hold mu for a whole
// frame and encode into buf.
type channel struct {
	file *os.File
	mu   sync.Mutex
	buf  []byte
}

// write writes a whole frame, waiting for room. What ends the wait of a writer
// whose satellite does not read is the satellite's destruction. mu is held.
func (c *channel) write(frame []byte) (int, error) { return c.file.Write(frame) }

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
