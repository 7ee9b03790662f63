package satellite

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// Invocation is one call into the satellite.
type Invocation struct {
	Kind string // wire.CallTool, wire.CallEvent or wire.CallCommand
	Name string
	Args wire.Value
	// Deadline is how long the satellite has; zero is DefaultDeadline. A context
	// that ends sooner shortens it.
	Deadline time.Duration
}

// Error is why an invocation has no value.
type Error struct {
	Code string // one of wire's codes, or what the satellite made up
	Msg  string // foreign text where Host is false: escape it
	// Host says that this side minted the error. Where it is false the satellite
	// answered, and lives.
	Host bool
}

func (e *Error) Error() string { return e.Code + ": " + e.Msg }

func minted(code, msg string) *Error { return &Error{Code: code, Msg: msg, Host: true} }

// answer is what ends an open invocation.
type answer struct {
	result wire.Result
	err    *Error
}

// Invoke calls the satellite and waits for its answer. The error is an *Error:
// the satellite's own refusal, or from this side
//
//   - busy: another invocation is open; nothing was sent;
//   - gone: the satellite was not there when it was called;
//   - crashed: it died during the call; the message has how, and its last words;
//   - deadline: it did not answer in time and was destroyed;
//   - cancelled: ctx ended, or the satellite was closed. An answer that still
//     came in half a second is thrown away and the satellite lives on; otherwise
//     it was destroyed, which is no fault of the extension's;
//   - protocol: it broke the protocol and was destroyed;
//   - unencodable: the arguments do not fit a frame; nothing was sent.
//
// The value aliases the frame it came in.
func (s *Satellite) Invoke(ctx context.Context, call Invocation) (wire.Value, error) {
	if err := ctx.Err(); err != nil {
		return wire.Value{}, minted(codeOf(err), "not called: "+err.Error())
	}
	left, err := s.begin(ctx, call.Deadline)
	if err != nil {
		return wire.Value{}, err
	}
	a := s.send(ctx, call, left)
	if a == nil {
		got := s.await(ctx)
		a = &got
	}
	switch {
	case a.err != nil:
		return wire.Value{}, a.err
	case !a.result.OK:
		return wire.Value{}, &Error{Code: a.result.Fault.Code, Msg: a.result.Fault.Msg}
	}
	return a.result.Value, nil
}

// codeOf is the code for a context's end.
func codeOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return wire.CodeDeadline
	}
	return wire.CodeCancelled
}

// begin opens an invocation, mints its token and sets its clock. It returns
// what is left until the deadline.
func (s *Satellite) begin(ctx context.Context, left time.Duration) (time.Duration, error) {
	if left <= 0 {
		left = DefaultDeadline
	}
	now := time.Now()
	if end, ok := ctx.Deadline(); ok {
		left = min(left, end.Sub(now))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open:
		return 0, minted(wire.CodeBusy, "the satellite is answering another call")
	case s.fate != nil:
		return 0, minted(wire.CodeGone, "the satellite was destroyed: "+s.fate.Error())
	case s.closed:
		return 0, minted(wire.CodeGone, "the satellite was closed")
	case s.lost:
		return 0, minted(wire.CodeGone, "the satellite has ended")
	}
	s.open = true
	s.call = invocation{id: s.call.id + 1, caller: ctx, deadline: now.Add(left), killAt: now.Add(left + deadlineGrace)}
	_, _ = rand.Read(s.call.token[:]) // never fails: it ends the program instead
	s.budget.Store(callBytes)
	s.arm(s.call.killAt)
	return left, nil
}

// send writes the call. It returns an answer only where nothing was sent.
func (s *Satellite) send(ctx context.Context, call Invocation, left time.Duration) *answer {
	ms := max(int64((left+time.Millisecond-1)/time.Millisecond), 0)
	c := s.channel
	guard := guarded(ctx, s)
	if !c.mu.TryLock() {
		guard.up()
		c.mu.Lock()
	}
	// s.call.token is written by begin alone, and there is no other begin while
	// this invocation is open.
	frame, err := wire.AppendHookCall(c.buf[:0], s.call.id, wire.HookCall{
		Token: s.call.token[:], Kind: call.Kind, Name: call.Name, Args: call.Args, DeadlineMS: ms,
	})
	if err != nil {
		c.mu.Unlock()
		guard.down()
		return s.withdraw(minted(wire.CodeUnencodable, "the arguments do not fit a frame: "+err.Error()))
	}
	n, err := c.attempt(frame)
	if err == nil && n < len(frame) {
		guard.up()
		var more int
		more, err = c.file.Write(frame[n:])
		n += more
	}
	c.keep(frame)
	c.mu.Unlock()
	guard.down()
	if err != nil {
		s.hangUp(n == 0)
	}
	return nil
}

// withdraw takes back an invocation of which nothing was sent.
func (s *Satellite) withdraw(err *Error) *answer {
	s.mu.Lock()
	if s.open {
		s.settle(answer{err: err})
	}
	s.mu.Unlock()
	a := <-s.answers
	return &a
}

// await waits for the answer. There always is one: the satellite's, or that of
// the timer or the supervisor.
func (s *Satellite) await(ctx context.Context) answer {
	done := ctx.Done()
	if done == nil {
		return <-s.answers
	}
	select {
	case a := <-s.answers:
		return a
	case <-done:
	}
	if s.abandon(ctx) {
		s.channel.cancel(s.call.id)
	}
	a := <-s.answers
	if codeOf(ctx.Err()) == wire.CodeCancelled && a.err == nil {
		a.err = minted(wire.CodeCancelled, "the caller gave up")
	}
	return a
}

// abandon shortens the life of an open invocation whose context has ended. It
// reports whether the satellite should be told: where only time ran out, it
// knows its deadline.
func (s *Satellite) abandon(ctx context.Context) bool {
	if codeOf(ctx.Err()) == wire.CodeDeadline {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open || s.fate != nil {
		return false
	}
	if !s.call.cancelled {
		s.call.cancelled = true
		if at := time.Now().Add(cancelGrace); at.Before(s.call.killAt) {
			s.call.killAt = at
		}
		s.arm(s.call.killAt)
	}
	return true
}

// guard watches a caller's context while a write may block, when the caller
// itself cannot.
type guard struct {
	ctx  context.Context
	s    *Satellite
	stop func() bool
}

func guarded(ctx context.Context, s *Satellite) guard { return guard{ctx: ctx, s: s} }

func (g *guard) up() {
	if g.stop == nil && g.ctx.Done() != nil {
		ctx, s := g.ctx, g.s // so that a guard that stays down costs nothing
		g.stop = context.AfterFunc(ctx, func() { s.abandon(ctx) })
	}
}

func (g *guard) down() {
	if g.stop != nil {
		g.stop()
	}
}
