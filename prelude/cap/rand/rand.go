// Package rand asks the host for random bytes fit for keys. It is the capability rand.
//
// One call gives at most 65,536 bytes. The standard library's crypto/rand works in a
// satellite as well, but a host can record what it answered here and answer the same
// again.
//
// What the host refuses is an [Error], with the codes that any capability has, and
// invalid_argument for a negative number and too_large for more than 65,536. Package cap
// has the codes as constants.
package rand

import (
	"context"
	"fmt"

	"github.com/loomext/loomext/prelude/cap/internal/channel"
	"github.com/loomext/loomext/prelude/cap/report"
)

const capBytes = "rand.bytes"

// Error is a request for bytes the host did not fulfil. It wraps a *cap.Error, whose
// code cap.CodeOf tells.
type Error struct {
	N   int
	Err error
}

// Error names the number of bytes and the cause.
func (e *Error) Error() string { return fmt.Sprintf("rand: %d bytes: %v", e.N, e.Err) }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Bytes gives exactly n random bytes, of which there are at most 65,536.
func Bytes(ctx context.Context, n int) ([]byte, error) {
	v, err := channel.Call(ctx, capBytes, report.Map(report.Field{Key: "n", Value: report.Int(int64(n))}))
	if err != nil {
		return nil, &Error{N: n, Err: err}
	}
	b, err := report.BytesAt(v, "bytes")
	if err == nil && len(b) != n {
		err = &report.ShapeError{Field: "bytes", Want: fmt.Sprintf("%d bytes", n), Have: fmt.Sprintf("%d bytes", len(b))}
	}
	if err != nil {
		return nil, &Error{N: n, Err: channel.Misshapen(capBytes, err)}
	}
	return b, nil
}
