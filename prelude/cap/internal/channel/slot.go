// Package channel is the satellite's one way out: it carries capability calls to
// the host and their answers back.
//
// It is not the serve loop. The loop, in cap/runtime, reads frames and owns what
// is open; this package owns everything that is written, the calls that wait for
// an answer, and the contexts invocations hand out.
//
// Its invariants:
//
//   - Authority follows the context. A call goes out under the token of the
//     invocation whose context it was made with, and under an empty token when
//     there is none or when that invocation has been answered, no matter what
//     else is open.
//   - The token is looked up and the frame is written under one lock, so no frame
//     that follows a result on the wire carries that result's token.
//   - Every frame is one write.
package channel

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap"
)

// Transport carries capability calls. The connection to a host is one, an open
// invocation is one, and a test's fake is one.
type Transport interface {
	// Call sends one call and waits for its answer, or for ctx.
	Call(ctx context.Context, capability string, args wire.Value) (wire.Value, error)
	// Post sends one call and does not wait; nobody hears of its failure.
	Post(ctx context.Context, capability string, args wire.Value)
}

// boundKey is the context key under which a bound context holds its transport.
type boundKey struct{}

// slot holds the transport of calls whose context is bound to no invocation. It
// is the only global state of a satellite.
var slot atomic.Pointer[Transport]

// ErrTaken says that the process already has a channel.
var ErrTaken = errors.New("channel: this process already serves one; end that loop first")

// Install puts t into the process's one slot and returns what takes it out again.
func Install(t Transport) (remove func(), err error) {
	held := &t
	if !slot.CompareAndSwap(nil, held) {
		return nil, ErrTaken
	}
	return func() { slot.CompareAndSwap(held, nil) }, nil
}

// Bind derives a context whose calls go to t.
func Bind(ctx context.Context, t Transport) context.Context {
	return context.WithValue(ctx, boundKey{}, t)
}

// bound is the transport ctx is bound to.
func bound(ctx context.Context) (Transport, bool) {
	if ctx == nil {
		return nil, false
	}
	t, ok := ctx.Value(boundKey{}).(Transport)
	return t, ok
}

// Call makes one capability call with the authority of ctx.
func Call(ctx context.Context, capability string, args wire.Value) (wire.Value, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	if t, ok := bound(ctx); ok {
		return t.Call(ctx, capability, args)
	}
	if t := slot.Load(); t != nil {
		return (*t).Call(ctx, capability, args)
	}
	return wire.Value{}, &cap.Error{
		Code: wire.CodeUnavailable,
		Msg: capability + ": this context belongs to no invocation and the process has no channel; " +
			"pass on the context you were called with (in a test, the one captest gives)",
	}
}

// Post makes one capability call and waits for nothing. A context bound to no
// invocation has no authority to report under, so its call is dropped here.
func Post(ctx context.Context, capability string, args wire.Value) {
	if t, ok := bound(ctx); ok {
		t.Post(ctx, capability, args)
	}
}
