// Package captest plays the host in an author's own tests, so that a tool or a hook
// that uses capabilities runs in go test, with no channel, no satellite and no network.
//
//	func TestLooksTheCityUp(t *testing.T) {
//		host := captest.New(t)
//		host.Handle("net.request", func(call captest.Call) (captest.Value, error) {
//			return captest.Response(200, nil, []byte(`{"sky":"clear"}`)), nil
//		})
//		outcome, err := tool.Run(host.Ctx(), json.RawMessage(`{"city":"Oslo"}`))
//		…
//	}
//
// A call reaches a fake through the context, exactly as a real one reaches its
// invocation. So any number of fakes run side by side in parallel tests, and code that
// drops the context it was given fails here as it would in a satellite. Nothing global
// is touched, but by [Host.Config].
//
// A fake has no policy of its own: it answers what its handlers answer. Arguments and
// answers pass through the real encoding both ways, so what could not travel fails here
// too. To see what a tool does with a refusal, answer one with [Host.Refuse] and a code
// of package cap.
package captest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/internal/channel"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// Value is what a handler answers. The constructors of prelude/cap/report make any; the
// functions of this package make those of the capabilities.
type Value = report.Value

// Call is one capability call as it arrived.
type Call struct {
	// Cap is the capability's name, like "net.request".
	Cap string
	// Args are its arguments, to be read with the At functions of prelude/cap/report.
	Args Value
	// DeadlineMS is the time the call was given, in milliseconds.
	DeadlineMS int64
	// Context is the caller's.
	Context context.Context
}

// Handler answers calls. To answer with a host's error, return a *cap.Error. Handlers
// run on the caller's goroutine, so overlapping calls overlap in them.
type Handler func(Call) (Value, error)

// Host is a fake host with one open invocation.
type Host struct {
	ctx context.Context
	end context.CancelFunc

	t        testing.TB // nil outside a test
	mu       sync.Mutex
	handlers map[string]Handler
	calls    []Call
	partials []string
	emitted  int
	ended    bool
}

// deadline is what an invocation of a fake has: longer than a test, and finite, since
// every real one has a deadline.
const deadline = 10 * time.Minute

// New makes a fake host whose invocation ends with the test.
func New(t testing.TB) *Host {
	h := open(t.Context())
	h.t = t
	t.Cleanup(h.end)
	return h
}

// Open makes a fake host where there is no test, as in an Example. Its invocation ends
// with [Host.End].
func Open() *Host { return open(context.Background()) }

func open(ctx context.Context) *Host {
	h := &Host{handlers: make(map[string]Handler)}
	h.handlers["report.emit"] = h.emit
	ctx, cancel := context.WithTimeout(ctx, deadline)
	h.end = cancel
	h.ctx = channel.Bind(ctx, h)
	return h
}

// Handle answers the calls of one capability from now on. A capability without a
// handler answers unknown_capability, except report.emit, which is always there.
func (h *Host) Handle(capability string, answer Handler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers[capability] = answer
}

// Refuse answers the calls of one capability with an error from now on.
func (h *Host) Refuse(capability, code, msg string) {
	h.Handle(capability, func(Call) (Value, error) { return Value{}, &cap.Error{Code: code, Msg: msg} })
}

// Context is the context of the open invocation, for hooks and for calls made directly.
func (h *Host) Context() context.Context { return h.ctx }

// Ctx is the open invocation as a tool gets it. Its Report is recorded in Partials.
func (h *Host) Ctx() ext.Ctx {
	return ext.Ctx{
		Context:    h.ctx,
		Strand:     "test",
		DeadlineMS: deadline.Milliseconds(),
		Report:     func(text string) { report.Partial(h.ctx, text) },
	}
}

// End ends the invocation, as its answer does: the context ends, and later calls are
// refused as unauthorized.
func (h *Host) End() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.end()
}

func (h *Host) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}

// Calls is every call so far, partials left out, in the order they came.
func (h *Host) Calls() []Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// Partials is what was reported so far.
func (h *Host) Partials() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.partials)
}

// Call is what the capability packages reach through the context.
func (h *Host) Call(ctx context.Context, capability string, args Value) (Value, error) {
	if h.over() {
		return Value{}, &cap.Error{Code: wire.CodeUnauthorized, Msg: "the invocation has ended"}
	}
	if err := ctx.Err(); err != nil {
		return Value{}, channel.GaveUp(capability, err)
	}
	var left int64
	if end, ok := ctx.Deadline(); ok {
		left = time.Until(end).Milliseconds()
	}
	args, err := travelled(capability, args, left)
	if err != nil {
		return Value{}, err
	}
	call := Call{Cap: capability, Args: args, DeadlineMS: left, Context: ctx}
	h.mu.Lock()
	h.calls = append(h.calls, call)
	answer, handled := h.handlers[capability]
	h.mu.Unlock()
	if !handled {
		return Value{}, &cap.Error{
			Code: wire.CodeUnknownCapability,
			Msg:  fmt.Sprintf("captest: no handler for %s; add one with Handle(%q, …)", capability, capability),
		}
	}
	v, err := answer(call)
	if gone := ctx.Err(); gone != nil {
		return Value{}, channel.GaveUp(capability, gone)
	}
	return answered(capability, v, err)
}

// Post records a partial, unless the invocation or ctx has ended.
func (h *Host) Post(ctx context.Context, capability string, args Value) {
	if ctx.Err() != nil || h.over() {
		return
	}
	args, err := travelled(capability, args, 0)
	if err != nil {
		return
	}
	text, err := report.BytesAt(args, "bytes")
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.partials = append(h.partials, string(text))
}

// emit keeps nothing: what was emitted is in Calls.
func (h *Host) emit(Call) (Value, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.emitted++
	return Emitted(fmt.Sprint("r", h.emitted)), nil
}

// travelled is the arguments as a host would have read them.
func travelled(capability string, args Value, left int64) (Value, error) {
	frame, err := wire.AppendCapCall(nil, 1, wire.CapCall{Cap: capability, Args: args, DeadlineMS: left})
	if err != nil {
		return Value{}, channel.Unsendable(err)
	}
	decoded, err := wire.Decode(frame[headerLen:], wire.Host)
	if err != nil {
		return Value{}, fmt.Errorf("captest: %s: %w", capability, err)
	}
	return decoded.Cap.Args, nil
}

// answered is the answer as a satellite would have read it.
func answered(capability string, v Value, failure error) (Value, error) {
	r := wire.Result{OK: failure == nil, Value: v}
	if failure != nil {
		r.Fault = wire.Fault{Code: wire.CodeUnavailable, Msg: failure.Error()}
		var e *cap.Error
		if errors.As(failure, &e) {
			r.Fault = wire.Fault{Code: e.Code, Msg: e.Msg}
		}
	}
	frame, err := wire.AppendResult(nil, wire.KindCapResult, 1, r)
	if err != nil {
		return Value{}, fmt.Errorf("captest: the answer of the handler for %s cannot travel: %w", capability, err)
	}
	decoded, err := wire.Decode(frame[headerLen:], wire.Satellite)
	if err != nil {
		return Value{}, fmt.Errorf("captest: %s: %w", capability, err)
	}
	return channel.Outcome(decoded.Result)
}

// headerLen is the length in front of a frame's payload.
const headerLen = 4
