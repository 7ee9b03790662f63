package channel

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// keptBuffer is how large the write buffer may stay between frames: it spares
// ordinary results an allocation, and one huge result does not stay resident.
const keptBuffer = 256 << 10

// Conn is the writing half of the connection to the host, and the table of calls
// that wait for an answer. The loop that reads the connection hands it every
// cap_result with Deliver.
type Conn struct {
	out    io.Writer
	waits  func()
	broken func(error)

	// wmu orders everything that is written. It also guards the token of every
	// invocation, which is what makes "after the result" mean one thing.
	wmu  sync.Mutex
	buf  []byte
	dead error

	lastID atomic.Int64

	// pmu guards the waiting calls. It is never held while something is written,
	// so an answer can always be delivered.
	pmu     sync.Mutex
	waiting map[int64]chan wire.Result
	closed  bool
}

// NewConn writes to out. A call that is about to wait for its answer tells waits, so
// that somebody reads it, and one that fails to be written tells broken; the stream is
// then of no more use. No lock is held while they are told. The writers of results get
// the error back instead.
func NewConn(out io.Writer, waits func(), broken func(error)) *Conn {
	return &Conn{out: out, waits: waits, broken: broken, waiting: make(map[int64]chan wire.Result)}
}

// Call makes a call that belongs to no invocation: it carries no token, and the
// host will say so.
func (c *Conn) Call(ctx context.Context, capability string, args wire.Value) (wire.Value, error) {
	return c.call(ctx, nil, capability, args)
}

// Post drops the call: without an invocation there is nobody to report to.
func (c *Conn) Post(context.Context, string, wire.Value) {}

// Refuse answers a hook_call that never became an invocation.
func (c *Conn) Refuse(id int64, fault wire.Fault) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	return c.writeResult(id, wire.Result{Fault: fault})
}

// Deliver hands the answer with this id to whoever waits for it. An answer nobody
// waits for any more is dropped.
func (c *Conn) Deliver(id int64, r wire.Result) {
	c.pmu.Lock()
	defer c.pmu.Unlock()
	if ch, ok := c.waiting[id]; ok {
		delete(c.waiting, id)
		ch <- r // has room: each channel gets one answer
	}
}

// Close ends every waiting call and refuses every later one.
func (c *Conn) Close() {
	c.pmu.Lock()
	defer c.pmu.Unlock()
	c.closed = true
	for id, ch := range c.waiting {
		delete(c.waiting, id)
		ch <- wire.Result{Fault: gone}
	}
}

func (c *Conn) call(ctx context.Context, inv *Invocation, capability string, args wire.Value) (wire.Value, error) {
	// A context that ended on its own wants no effect, so nothing is sent. The
	// context of an answered invocation is another matter: the host is the one
	// that judges acts outside an invocation, and it should see the attempt.
	if err := ctx.Err(); err != nil && (inv == nil || !inv.Answered()) {
		return wire.Value{}, GaveUp(capability, err)
	}
	answer := make(chan wire.Result, 1)
	id, ok := c.await(answer)
	if !ok {
		return wire.Value{}, failed(gone)
	}
	if err := c.send(ctx, inv, id, capability, args); err != nil {
		c.forget(id)
		return wire.Value{}, err
	}
	c.waits()
	select {
	case r := <-answer:
		return inv.outcome(capability, r)
	case <-ctx.Done():
		if !c.forget(id) { // the answer came at the same moment, so it is here
			return inv.outcome(capability, <-answer)
		}
		c.cancel(id)
		return wire.Value{}, GaveUp(capability, ctx.Err())
	}
}

// outcome is what a caller gets. A host that no longer knows the token of an
// invocation that is not answered has seen its deadline pass.
func (i *Invocation) outcome(capability string, r wire.Result) (wire.Value, error) {
	if !r.OK && r.Fault.Code == wire.CodeUnauthorized && i != nil && !i.Answered() {
		return wire.Value{}, GaveUp(capability, context.DeadlineExceeded)
	}
	return Outcome(r)
}

// post sends a call nobody waits for. It is written by the caller itself: there is
// no queue, so a flood waits for the host to read and memory stays where it is.
func (c *Conn) post(ctx context.Context, inv *Invocation, capability string, args wire.Value) {
	if ctx.Err() != nil || inv.Answered() {
		return
	}
	_ = c.send(ctx, inv, c.lastID.Add(1), capability, args)
}

func (c *Conn) await(answer chan wire.Result) (int64, bool) {
	id := c.lastID.Add(1)
	c.pmu.Lock()
	defer c.pmu.Unlock()
	if c.closed {
		return 0, false
	}
	c.waiting[id] = answer
	return id, true
}

// forget reports whether the call was still waiting.
func (c *Conn) forget(id int64) bool {
	c.pmu.Lock()
	defer c.pmu.Unlock()
	_, waited := c.waiting[id]
	delete(c.waiting, id)
	return waited
}

func (c *Conn) send(ctx context.Context, inv *Invocation, id int64, capability string, args wire.Value) error {
	call := wire.CapCall{Cap: capability, Args: args, DeadlineMS: leftMS(ctx, inv)}
	refused, broken := c.writeCall(inv, id, call)
	if broken != nil {
		c.broken(broken)
		return failed(gone)
	}
	if refused != nil {
		return Unsendable(refused)
	}
	return nil
}

// writeCall looks up the token and writes the call under one lock. It tells a call
// that fits no frame from a stream that takes none.
func (c *Conn) writeCall(inv *Invocation, id int64, call wire.CapCall) (refused, broken error) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if inv != nil {
		call.Token = inv.token
	}
	frame, err := wire.AppendCapCall(c.buf[:0], id, call)
	if err != nil {
		return err, nil
	}
	return nil, c.write(frame)
}

// cancel tells the host that nobody waits for this call any more.
func (c *Conn) cancel(id int64) {
	c.wmu.Lock()
	err := c.write(wire.AppendCancel(c.buf[:0], id))
	c.wmu.Unlock()
	if err != nil {
		c.broken(err)
	}
}

// writeResult writes a hook_result. One that does not fit a frame goes out as the
// fault that says so.
func (c *Conn) writeResult(id int64, r wire.Result) error {
	frame, err := wire.AppendResult(c.buf[:0], wire.KindHookResult, id, r)
	if err != nil {
		r = wire.Result{Fault: wire.Fault{Code: wire.CodeUnencodable, Msg: "the result does not fit the channel: " + err.Error()}}
		if frame, err = wire.AppendResult(c.buf[:0], wire.KindHookResult, id, r); err != nil {
			return err
		}
	}
	return c.write(frame)
}

// write sends one whole frame. wmu is held.
func (c *Conn) write(frame []byte) error {
	if c.dead != nil {
		return c.dead
	}
	if len(frame) <= keptBuffer {
		c.buf = frame[:0]
	}
	_, err := c.out.Write(frame)
	if err != nil {
		// Part of the frame may be out, so nothing that follows could be read.
		c.dead = err
	}
	return err
}

// leftMS is the time a call may take, in milliseconds: its own deadline or what is
// left of the invocation's, whichever ends first. Without either it is 0.
func leftMS(ctx context.Context, inv *Invocation) int64 {
	end, ok := ctx.Deadline()
	if inv != nil && (!ok || inv.deadline.Before(end)) {
		end, ok = inv.deadline, true
	}
	if !ok {
		return 0
	}
	left := time.Until(end)
	if left <= 0 {
		return 0
	}
	ms := left.Milliseconds()
	if left%time.Millisecond != 0 {
		ms++ // something left must not read as nothing left
	}
	return ms
}
