// Package clock asks the host what time it is. It is the capability clock.
//
// The time is the host's wall clock, to the nanosecond where the host's has such. It is
// not monotonic: of two answers the later may be the earlier time. The standard
// library's time.Now works in a satellite as well, but a host can record what it
// answered here and answer the same again.
//
// What the host refuses is an [Error], with the codes that any capability has: denied,
// unauthorized, deadline, cancelled. Package cap has them as constants.
package clock

import (
	"context"
	"time"

	"github.com/loomext/loomext/prelude/cap/internal/channel"
	"github.com/loomext/loomext/prelude/cap/report"
)

const capNow = "clock.now"

// Error is a question the host did not answer. It wraps a *cap.Error, whose code
// cap.CodeOf tells.
type Error struct{ Err error }

// Error names the cause.
func (e *Error) Error() string { return "clock: now: " + e.Err.Error() }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Now is the host's wall-clock time, in UTC.
func Now(ctx context.Context) (time.Time, error) {
	v, err := channel.Call(ctx, capNow, report.Map())
	if err != nil {
		return time.Time{}, &Error{Err: err}
	}
	ns, err := report.IntAt(v, "unix_ns")
	if err != nil {
		return time.Time{}, &Error{Err: channel.Misshapen(capNow, err)}
	}
	return time.Unix(0, ns).UTC(), nil
}
