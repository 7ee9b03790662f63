// Package clock asks the host what time it is.
package clock

import (
	"context"
	"time"

	"github.com/loomext/loomext/prelude/cap/internal/channel"
	"github.com/loomext/loomext/prelude/cap/report"
)

const capNow = "clock.now"

// Error is a question the host did not answer. It wraps a cap.Error.
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
