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
// context the author's function runs under. It is that context itself.
//
// Most answers never look at their context, so the channel and the timer behind it
// are made when somebody first asks for Done. From then on a standard context does
// the work, and contexts derived from this one attach to it as they would to any
// other, without a goroutine each.
type Invocation struct {
	id       int64
	conn     *Conn
	deadline time.Time
	token    []byte // guarded by conn.wmu
	answered bool   // guarded by conn.wmu

	mu     sync.Mutex
	inner  context.Context // nil until Done is asked for
	cancel context.CancelFunc
	err    error // why it ended, while inner is nil
}

// Open installs the token of a hook_call and starts its clock. deadlineMS is what
// is left of the call, counted from now.
func (c *Conn) Open(id int64, token []byte, deadlineMS int64) *Invocation {
	return &Invocation{id: id, conn: c, token: token, deadline: time.Now().Add(wire.Left(deadlineMS))}
}

// ID is the id of the hook_call.
func (i *Invocation) ID() int64 { return i.id }

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
func (i *Invocation) End() {
	i.mu.Lock()
	cancel := i.cancel
	if i.inner == nil && i.err == nil {
		i.err = context.Canceled
	}
	i.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Deadline is when the host's patience ends.
func (i *Invocation) Deadline() (time.Time, bool) { return i.deadline, true }

// Done is closed when the invocation ends, whatever ends it.
func (i *Invocation) Done() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inner == nil {
		i.inner, i.cancel = i.standard()
	}
	return i.inner.Done()
}

// standard makes the context that takes over. mu is held.
func (i *Invocation) standard() (context.Context, context.CancelFunc) {
	if i.err == context.Canceled {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx, cancel
	}
	return context.WithDeadline(context.Background(), i.deadline)
}

// Err is nil until the invocation ends.
func (i *Invocation) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inner != nil {
		return i.inner.Err()
	}
	if i.err == nil && !time.Now().Before(i.deadline) {
		i.err = context.DeadlineExceeded
	}
	return i.err
}

// Value finds the binding of the context. Everything else is the standard context's
// own bookkeeping.
func (i *Invocation) Value(key any) any {
	if key == (boundKey{}) {
		return Transport(i)
	}
	i.mu.Lock()
	inner := i.inner
	i.mu.Unlock()
	if inner == nil {
		return nil
	}
	return inner.Value(key)
}

// Format keeps the token out of whatever an extension prints.
func (i *Invocation) Format(f fmt.State, _ rune) { io.WriteString(f, "cap.Invocation") }

// String is Format's text, for code that names contexts.
func (i *Invocation) String() string { return "cap.Invocation" }
