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
	// Effects serves the cap_calls of this invocation. Nil is [Config.Effects].
	Effects Effects
	// Prompt, if not nil, says which capabilities wait for nothing but a lock or a
	// disk. They are served on the goroutine that reads the satellite, which spares
	// each a goroutine and two changes of thread.
	Prompt func(capability string) bool
}

// Error is why an invocation has no value.
type Error struct {
	Code string // one of wire's codes, or what the satellite made up
	Msg  string // always escape it: the satellite's words, or its last ones after ours
	// Host says that this side minted the error. Where it is false the satellite
	// answered, and lives.
	Host bool

	// Signal, Bound and Call are those of jail.Exit, where the process ended by
	// itself, and Bound is [BoundFrames] or [BoundIdleCPU] where that is why it was
	// destroyed.
	Signal, Bound, Call string
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
//   - gone: the satellite was not there when it was called; where it ended by
//     itself the message has how, and its last words;
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
	if !s.busy.CompareAndSwap(false, true) {
		return wire.Value{}, minted(wire.CodeBusy, "the satellite is answering another call")
	}
	defer s.busy.Store(false) // the answer has been taken out of answers
	waits, err := s.begin(ctx, call)
	if err == errEnded {
		return wire.Value{}, s.obituary(ctx)
	}
	if err != nil {
		return wire.Value{}, err
	}
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, s.abandon)
	}
	if waits {
		s.takeBaton()
	}
	if s.send(call) {
		s.channel.soon = true
		s.read()
	}
	s.baton <- struct{}{}
	a := <-s.answers // the one read just now, the timer's, or the supervisor's
	stop()
	switch {
	case a.err != nil:
		return wire.Value{}, a.err
	case codeOf(ctx.Err()) == wire.CodeCancelled:
		return wire.Value{}, minted(wire.CodeCancelled, "the caller gave up")
	case !a.result.OK:
		return wire.Value{}, &Error{Code: a.result.Fault.Code, Msg: a.result.Fault.Msg}
	}
	return a.result.Value, nil
}

// errEnded says that there is no satellite to call, for no reason of this side's.
var errEnded = errors.New("ended")

// codeOf is the code for a context's end, or empty.
func codeOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return wire.CodeDeadline
	}
	return wire.CodeCancelled
}

// begin opens an invocation, mints its token and sets its clock. It takes the
// baton if it lies there; otherwise it interrupts the keeper, and the caller
// waits for it.
func (s *Satellite) begin(ctx context.Context, call Invocation) (waits bool, err error) {
	left, serve := call.Deadline, call.Effects
	if serve == nil {
		serve = s.serve
	}
	if left <= 0 {
		left = DefaultDeadline
	}
	now := time.Now()
	if end, ok := ctx.Deadline(); ok {
		left = min(left, end.Sub(now))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.gone(); err != nil {
		return false, err
	}
	s.open = true
	s.call = invocation{id: s.call.id + 1, caller: ctx, serve: serve, prompt: call.Prompt, deadline: now.Add(left), killAt: now.Add(left + deadlineGrace)}
	_, _ = rand.Read(s.call.token[:]) // never fails: it ends the program instead
	s.input.budget.Store(callBytes)
	s.arm(s.call.killAt)
	select {
	case <-s.baton:
		s.call.sent = true
	default:
		waits = true
		if s.keeping {
			_ = s.channel.file.SetReadDeadline(longAgo)
		}
	}
	return waits, nil
}

// gone is why the satellite takes no call, or nil: an *Error, or errEnded where its
// process has to be asked. s.mu is held.
func (s *Satellite) gone() error {
	switch {
	case s.fate != nil:
		gone := minted(wire.CodeGone, "the satellite was destroyed: "+s.fate.Error())
		gone.Bound = s.fate.Bound
		return gone
	case s.closed:
		return minted(wire.CodeGone, "the satellite was closed")
	case s.lost:
		return errEnded
	}
	return nil
}

// Ended is why the satellite takes no further call, as the next one would be told,
// or nil where it takes one.
func (s *Satellite) Ended() error {
	s.mu.Lock()
	err := s.gone()
	s.mu.Unlock()
	if err == errEnded {
		return s.obituary(context.Background())
	}
	return err
}

// send writes the call. It reports whether there is an answer to read for.
func (s *Satellite) send(call Invocation) bool {
	c := s.channel
	c.mu.Lock()
	// s.call's id, token and deadline are written by begin alone, and there is
	// no other begin while this invocation is open.
	left := time.Until(s.call.deadline)
	frame, err := wire.AppendHookCall(c.buf[:0], s.call.id, wire.HookCall{
		Token: s.call.token[:], Kind: call.Kind, Name: call.Name, Args: call.Args,
		DeadlineMS: max(int64((left+time.Millisecond-1)/time.Millisecond), 0),
	})
	if err != nil {
		c.mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open {
			s.settle(answer{err: minted(wire.CodeUnencodable, "the arguments do not fit a frame: "+err.Error())})
		}
		return false
	}
	n, err := c.write(frame)
	c.keep(frame)
	c.mu.Unlock()
	if err != nil {
		s.hangUp(n == 0)
	}
	return true
}

// abandonOpen shortens the life of an open invocation whose caller has given
// up, and tells the satellite. Where only time ran out the satellite knows its
// deadline. It looks at the open invocation's own context, so that it is
// harmless when it runs late.
func (s *Satellite) abandonOpen() {
	s.mu.Lock()
	if !s.open || s.fate != nil || s.call.cancelled || codeOf(s.call.caller.Err()) != wire.CodeCancelled {
		s.mu.Unlock()
		return
	}
	s.call.cancelled = true
	if at := time.Now().Add(cancelGrace); at.Before(s.call.killAt) {
		s.call.killAt = at
	}
	s.arm(s.call.killAt)
	id := s.call.id
	s.mu.Unlock()
	s.channel.cancel(id)
}
