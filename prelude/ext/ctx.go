package ext

import (
	"context"
	"time"
)

// Ctx is one call: a context that ends with it, and what the call carries beside
// its arguments.
//
// The zero Ctx is usable in tests: as a context it is context.Background. Its
// Report is nil, and calling a nil function panics; [Typed] and [Ctx.With] put
// one there that drops what it is told, so only a test that calls a plain Tool
// with a Ctx of its own must set Report where the tool calls it.
type Ctx struct {
	context.Context

	// Strand names the line of conversation the call belongs to, for attribution.
	// It is opaque, and empty where the caller named none.
	Strand string

	// DeadlineMS is what was left of the call when it began, in milliseconds. The
	// context ends with it; Deadline tells what is left now.
	DeadlineMS int64

	// Report sends a partial result while the call is still running. It waits for
	// no answer, only for room in the channel, and a partial that is lost never
	// fails the call.
	Report func(string)
}

// With is the same call under a context derived from it, such as one with a
// shorter timeout.
func (c Ctx) With(ctx context.Context) Ctx {
	c.Context = ctx
	return c.reporting()
}

// reporting is c with a Report that can be called.
func (c Ctx) reporting() Ctx {
	if c.Report == nil {
		c.Report = func(string) {}
	}
	return c
}

// base is the embedded context, which a zero Ctx does not have.
func (c Ctx) base() context.Context {
	if c.Context == nil {
		return context.Background()
	}
	return c.Context
}

// Deadline is when the call must be answered, if there is such a time.
func (c Ctx) Deadline() (time.Time, bool) { return c.base().Deadline() }

// Done is closed when the call ends.
func (c Ctx) Done() <-chan struct{} { return c.base().Done() }

// Err says why the call ended; nil while it runs.
func (c Ctx) Err() error { return c.base().Err() }

// Value is a value of the context.
func (c Ctx) Value(key any) any { return c.base().Value(key) }
