package broker

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// Invocation is one call that a satellite answers: the authority of its effects and what they may still cost. Serve may
// be called from many goroutines at once, but for report.emit, whose calls are in order.
type Invocation struct {
	scope    *Scope
	emit     func(Report)
	asker    Asker        // nil: nobody can be asked
	requests atomic.Int64 // to the network, redirects included
	reports  reports
	asks     asks
	ended    atomic.Bool
}

// Begin opens an invocation. What it reports goes to emit, which may be nil: in order, on the goroutine that calls
// Serve, which it must not block. What it asks goes to asker, which may be nil: nobody can be asked then.
func (s *Scope) Begin(emit func(Report), asker Asker) *Invocation {
	if emit == nil {
		emit = func(Report) {}
	}
	return &Invocation{scope: s, emit: emit, asker: asker}
}

// End closes the invocation: what is served after it is unauthorized. It does not wait for what is being served, which
// is for the contexts of those calls to end.
func (i *Invocation) End() { i.ended.Store(true) }

// Serve judges one call of a capability, by its wire name, and performs it. The arguments are a map; nothing of them is
// kept or changed. It returns soon after ctx ends.
func (i *Invocation) Serve(ctx context.Context, capability string, args wire.Value) wire.Result {
	begun := time.Now()
	r, known := routes[capability]
	value, refused := i.perform(ctx, r, known, capability, args)
	log := i.scope.broker.log
	if log.Enabled(ctx, slog.LevelDebug) {
		if !known {
			capability = "unknown" // the word is the extension's
		}
		code := "ok"
		if refused != nil {
			code = refused.Code
		}
		log.LogAttrs(ctx, slog.LevelDebug, "capability", slog.String("extension", i.scope.terms.Extension),
			slog.String("capability", capability), slog.String("code", code), slog.Duration("duration", time.Since(begun)))
	}
	if refused != nil {
		return wire.Result{Fault: wire.Fault(*refused)}
	}
	return wire.Result{OK: true, Value: value}
}

func (i *Invocation) perform(ctx context.Context, r route, known bool, capability string, args wire.Value) (wire.Value, *refusal) {
	if i.ended.Load() {
		return wire.Value{}, answered()
	}
	if !known {
		return wire.Value{}, &refusal{wire.CodeUnknownCapability, quoted(capability) + " is no capability; docs/wire.md lists them"}
	}
	if refused := i.scope.allow(r.capability); refused != nil {
		return wire.Value{}, refused
	}
	if r.serve == nil {
		return wire.Value{}, &refusal{wire.CodeUnavailable, capability + " is not served by this version of loomext; do without it"}
	}
	if refused := over(ctx, capability); refused != nil {
		return wire.Value{}, refused
	}
	return r.serve(i, ctx, read(args))
}

// refusal is why a call was not performed or failed.
type refusal wire.Fault

func answered() *refusal {
	return &refusal{wire.CodeUnauthorized, "the invocation has been answered; ask before the answer"}
}

func denied(msg string) *refusal { return &refusal{wire.CodeDenied, msg} }

func policy(msg string) *refusal { return &refusal{wire.CodePolicy, msg} }

func unavailable(msg string) *refusal { return &refusal{wire.CodeUnavailable, msg} }

// over is the refusal of a call whose context has ended.
func over(ctx context.Context, capability string) *refusal {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return &refusal{wire.CodeDeadline, capability + ": the time for it is over"}
	default:
		return &refusal{wire.CodeCancelled, capability + ": nobody waits for it any longer"}
	}
}

// maxQuoted is how much of a foreign text a message repeats, in bytes: enough to recognize it.
const maxQuoted = 64

func quoted(text string) string {
	if len(text) > maxQuoted {
		return strconv.QuoteToASCII(text[:maxQuoted]) + "…"
	}
	return strconv.QuoteToASCII(text)
}
