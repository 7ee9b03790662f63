package channel

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// Invocation is one open hook_call: its id, its token until it is answered, and the
// context the author's function runs under.
type Invocation struct {
	id       int64
	conn     *Conn
	deadline time.Time
	token    []byte // guarded by conn.wmu
	answered bool   // guarded by conn.wmu
	context  invocationContext
}

// Open installs the token of a hook_call and starts its clock. deadlineMS is what
// is left of the call, counted from now.
func (c *Conn) Open(id int64, token []byte, deadlineMS int64) *Invocation {
	i := &Invocation{id: id, conn: c, token: token, deadline: time.Now().Add(wire.Left(deadlineMS))}
	i.context.of = i
	return i
}

// ID is the id of the hook_call.
func (i *Invocation) ID() int64 { return i.id }

// Context is what the author's function runs under. Calls made with it, or with one
// derived from it, are this invocation's.
func (i *Invocation) Context() context.Context { return &i.context }

// Answer writes the result and clears the token in one step: no frame comes between
// them, and none after them carries the token.
func (i *Invocation) Answer(r wire.Result) error {
	c := i.conn
	c.wmu.Lock()
	defer c.wmu.Unlock()
	err := c.writeResult(i.id, r)
	i.token, i.answered = nil, true
	return err
}

// Answered reports whether the result has been written.
func (i *Invocation) Answered() bool {
	i.conn.wmu.Lock()
	defer i.conn.wmu.Unlock()
	return i.answered
}

// Call makes a capability call under this invocation.
func (i *Invocation) Call(ctx context.Context, capability string, args wire.Value) (wire.Value, error) {
	return i.conn.call(ctx, i, capability, args)
}

// Post sends a capability call under this invocation and does not wait.
func (i *Invocation) Post(ctx context.Context, capability string, args wire.Value) {
	i.conn.post(ctx, i, capability, args)
}

// End ends the context as canceled, unless it has ended before.
func (i *Invocation) End() { i.context.end() }

// invocationContext is the context of an invocation. It is handed to foreign code,
// which may ask any value for more methods than it was given it for, so it has those
// of a context and of a printer, and no others.
//
// Most answers never look at their context, so the channel and the timer behind it
// are made when somebody first asks for Done. From then on a standard context does
// the work, and contexts derived from this one attach to it as they would to any
// other, without a goroutine each.
type invocationContext struct {
	of *Invocation

	mu     sync.Mutex
	inner  context.Context // nil until Done is asked for
	cancel context.CancelFunc
	err    error // why it ended, while inner is nil
}

func (c *invocationContext) end() {
	c.mu.Lock()
	cancel := c.cancel
	if c.inner == nil && c.err == nil {
		c.err = context.Canceled
	}
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Deadline is when the host's patience ends.
func (c *invocationContext) Deadline() (time.Time, bool) { return c.of.deadline, true }

// Done is closed when the invocation ends, whatever ends it.
func (c *invocationContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = c.standard()
	}
	return c.inner.Done()
}

// standard makes the context that takes over. mu is held.
func (c *invocationContext) standard() (context.Context, context.CancelFunc) {
	if c.err == context.Canceled {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx, cancel
	}
	return context.WithDeadline(context.Background(), c.of.deadline)
}

// Err is nil until the invocation ends.
func (c *invocationContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner != nil {
		return c.inner.Err()
	}
	if c.err == nil && !time.Now().Before(c.of.deadline) {
		c.err = context.DeadlineExceeded
	}
	return c.err
}

// Value finds the binding of the context. Everything else is the standard context's
// own bookkeeping.
func (c *invocationContext) Value(key any) any {
	if key == (boundKey{}) {
		return Transport(c.of)
	}
	c.mu.Lock()
	inner := c.inner
	c.mu.Unlock()
	if inner == nil {
		return nil
	}
	return inner.Value(key)
}

// Format keeps the token out of whatever an extension prints.
func (c *invocationContext) Format(f fmt.State, _ rune) { io.WriteString(f, "cap.Invocation") }

// String is Format's text, for code that names contexts.
func (c *invocationContext) String() string { return "cap.Invocation" }
