package jail

import (
	"fmt"
	"io"
	"sync"
)

// DefaultStderrCap keeps the whole of a stack trace and the first complaint
// before it, and is small enough to hold one for every satellite.
const DefaultStderrCap = 64 << 10

// The least that is kept whatever a caller asks for: one line at each end.
const minStderrCap = 512

// capped keeps the first quarter and the last three quarters of what is
// written to it, and counts the rest. It grows to its cap and never beyond.
type capped struct {
	mu    sync.Mutex
	head  []byte
	ring  []byte // the bytes after head; once full, next is the oldest
	next  int
	total int64

	headCap, ringCap int
}

func newCapped(limit int) *capped {
	if limit <= 0 {
		limit = DefaultStderrCap
	}
	limit = max(limit, minStderrCap)
	return &capped{headCap: limit / 4, ringCap: limit - limit/4}
}

func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += int64(n)
	if room := c.headCap - len(c.head); room > 0 {
		take := min(room, len(p))
		c.head = append(c.head, p[:take]...)
		p = p[take:]
	}
	if len(p) > c.ringCap {
		p = p[len(p)-c.ringCap:]
	}
	for len(p) > 0 {
		if len(c.ring) < c.ringCap {
			take := min(c.ringCap-len(c.ring), len(p))
			c.ring = append(c.ring, p[:take]...)
			p = p[take:]
			continue
		}
		copied := copy(c.ring[c.next:], p)
		c.next = (c.next + copied) % c.ringCap
		p = p[copied:]
	}
	return n, nil
}

// beside is the writer that keeps and passes on to another, if there is one.
func (c *capped) beside(w io.Writer) io.Writer {
	if w == nil {
		return c
	}
	return &kept{c, w}
}

type kept struct {
	capped *capped
	on     io.Writer
}

func (k *kept) Write(p []byte) (int, error) {
	_, _ = k.on.Write(p)
	return k.capped.Write(p)
}

// String is what was kept, with a line that says how much was left out.
func (c *capped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := make([]byte, 0, len(c.head)+len(c.ring)+64)
	text = append(text, c.head...)
	if lost := c.total - int64(len(c.head)+len(c.ring)); lost > 0 {
		text = fmt.Appendf(text, "\n[… %d bytes left out …]\n", lost)
	}
	text = append(text, c.ring[c.next:]...)
	text = append(text, c.ring[:c.next]...)
	return string(text)
}
