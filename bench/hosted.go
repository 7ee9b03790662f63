package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/wire"
)

const (
	roleSession = "session"
	roleEffect  = "effect"

	echoExtension   = "echo"
	callerExtension = "caller"
	storeTool       = "store"
	fetchTool       = "fetch"

	sessionLimit = 1.4
	effectLimit  = 1.4

	// effectBatch is how many effects one call has: as few as fit into a time slice.
	effectBatch, effectRounds = 20, 1500
	// effectKey and effectSize are what the store tool stores.
	effectKey  = "value"
	effectSize = 1 << 10
)

// hosted is a session of the real host on extensions of the bed, which are started ahead of need.
type hosted struct {
	host    *host.Host
	session *host.Session
}

func openHosted(ctx context.Context, home string, c config.Config, extensions ...string) (*hosted, error) {
	return openHostedOn(ctx, home, c, host.SessionOptions{Extensions: extensions})
}

// openHostedOn is openHosted with more to say of the session.
func openHostedOn(ctx context.Context, home string, c config.Config, o host.SessionOptions) (*hosted, error) {
	h, err := host.New(host.Options{Home: home, Config: &c})
	if err != nil {
		return nil, err
	}
	o.Ahead = true
	s, err := h.Open(ctx, o)
	if err != nil {
		h.Close()
		return nil, err
	}
	return &hosted{host: h, session: s}, nil
}

// close closes the session as well.
func (h *hosted) close() { h.host.Close() }

// echo calls the echo tool and wants its arguments back.
func (h *hosted) echo(ctx context.Context, text []byte) func() error {
	return func() error {
		outcome, err := h.session.Call(ctx, host.Call{Extension: echoExtension, Tool: echoTool, Args: text})
		if err != nil {
			return err
		}
		if len(outcome.Content) != 1 || len(outcome.Content[0].Body) != len(text) {
			return errors.New("the session did not give the arguments back")
		}
		return nil
	}
}

// caller calls a tool of the caller extension that does something so many times.
func (h *hosted) caller(ctx context.Context, tool string) func(times int) error {
	return func(times int) error {
		args := fmt.Appendf(nil, `{"times":%d}`, times)
		_, err := h.session.Call(ctx, host.Call{Extension: callerExtension, Tool: tool, Args: args})
		return err
	}
}

// sessionCall is a call of a tool as a harness makes it.
func sessionCall(ctx context.Context, b *bed) (row, error) {
	s, err := inPinnedChild(ctx, roleSession, b.path("home"), b.netecho)
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(sessionLimit), behind(s)), nil
}

func takeSession(ctx context.Context, args []string) (_ sample, err error) {
	if len(args) != 2 {
		return sample{}, errors.New("want a home and an echo")
	}
	text := jsonText(smallArgs)
	echo, err := echoOfCall(ctx, args[1], text)
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, echo.close()) }()
	h, err := openHosted(ctx, args[0], config.Default(), echoExtension)
	if err != nil {
		return sample{}, err
	}
	defer h.close()
	return compare(ctx, smallRounds, batches(smallBatch, echo.trip), batches(smallBatch, h.echo(ctx, text)))
}

// effect is a capability call of a tool, served by the real broker.
func effect(ctx context.Context, b *bed) (row, error) {
	s, err := inPinnedChild(ctx, roleEffect, b.path("home"), b.netecho)
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(effectLimit), behind(s)), nil
}

func takeEffect(ctx context.Context, args []string) (_ sample, err error) {
	if len(args) != 2 {
		return sample{}, errors.New("want a home and an echo")
	}
	call, err := wire.AppendCapCall(nil, 1, storeCall())
	if err != nil {
		return sample{}, err
	}
	answer, err := wire.AppendResult(nil, wire.KindCapResult, 1, wire.Result{OK: true, Value: wire.Map()})
	if err != nil {
		return sample{}, err
	}
	echo, err := newEcho(ctx, args[1], call, len(answer))
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, echo.close()) }()
	h, err := openHosted(ctx, args[0], config.Default(), callerExtension)
	if err != nil {
		return sample{}, err
	}
	defer h.close()
	return compare(ctx, effectRounds, batches(effectBatch, echo.trip), perEffect(effectBatch, h.caller(ctx, storeTool)))
}

// storeCall is the cap_call that the store tool makes.
func storeCall() wire.CapCall {
	return wire.CapCall{
		Token: make([]byte, wire.TokenLen), Cap: "kv.set", DeadlineMS: callerTime.Milliseconds(),
		Args: wire.Map(
			wire.Field{Key: "key", Value: wire.String(effectKey)},
			wire.Field{Key: "value", Value: wire.Bin(make([]byte, effectSize))},
		),
	}
}

// callerTime is what the manifest of the caller extension gives its tools.
const callerTime = 20 * time.Second

// perEffect is an op that has one call do the same n times, and tells the time of one: what a call takes that does it not at all
// is taken off.
func perEffect(n int, call func(times int) error) op {
	return func(context.Context) (time.Duration, error) {
		if err := call(leadIn); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := call(0); err != nil {
			return 0, err
		}
		bare := time.Now()
		if err := call(n); err != nil {
			return 0, err
		}
		return (time.Since(bare) - bare.Sub(start)) / time.Duration(n), nil
	}
}
