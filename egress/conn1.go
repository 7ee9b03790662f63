package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"sync/atomic"
)

// conn1 is a connection that speaks HTTP/1.1. net/http writes what an origin sends
// unasked after a response to the standard logger, where an echoed secret would
// stand in clear, so nothing of it may reach net/http. conn1 parses nothing: it
// hands out bytes so that every read ends where a message may end, at an empty line
// or where a body of known length ends, and once the exchange is over it fails in
// place of handing out more.
type conn1 struct {
	*tls.Conn

	exchange atomic.Uint64 // counts the requests that were given the connection
	over     atomic.Uint64 // the last of them whose response was read whole
	body     atomic.Int64  // of a known length: what is left of it
	held     atomic.Bool   // there are bytes that were read and not handed out

	// The rest is the reader's.
	rest    []byte
	err     error // came with rest
	line    int   // bytes of the line so far
	carried bool  // and the first of them is a carriage return
}

var errUnasked = errors.New("the origin sent something after its response")

// begin gives the connection to a request. What is still held cannot be its answer.
func (c *conn1) begin() uint64 {
	if c.held.Load() {
		_ = c.Close()
	}
	return c.exchange.Add(1)
}

// finish says that the response to a request was read whole. It is called when the
// connection may already have been given to the next one.
func (c *conn1) finish(exchange uint64) { c.over.Store(exchange) }

// Read ends where a message may end.
func (c *conn1) Read(p []byte) (int, error) { return c.readFrom(c.Conn, p) }

func (c *conn1) readFrom(wire io.Reader, p []byte) (int, error) {
	n, err := c.fill(wire, p)
	if n > 0 && c.over.Load() == c.exchange.Load() {
		return 0, errUnasked
	}
	end := c.cut(p[:n])
	if end < n {
		c.rest = append(bytes.Clone(p[end:n]), c.rest...)
		c.err, err = err, nil
	}
	c.held.Store(len(c.rest) > 0)
	return end, err
}

// fill reads what is held, or from the wire.
func (c *conn1) fill(wire io.Reader, p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		return wire.Read(p)
	}
	n := copy(p, c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		c.rest = nil
	}
	return n, nil
}

// cut is how many of the bytes to hand out.
func (c *conn1) cut(b []byte) int {
	if left := c.body.Load(); left > 0 {
		n := min(left, int64(len(b)))
		c.body.Store(left - n)
		c.line, c.carried = 0, false
		return int(n)
	}
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			if c.line == 0 && at < len(b) {
				c.carried = b[at] == '\r'
			}
			c.line += len(b) - at
			return len(b)
		}
		if c.line == 0 && i > 0 {
			c.carried = b[at] == '\r'
		}
		length := c.line + i
		empty := length == 0 || length == 1 && c.carried
		c.line, c.carried = 0, false
		if at += i + 1; empty {
			return at
		}
	}
}
