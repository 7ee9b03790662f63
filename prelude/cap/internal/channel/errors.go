package channel

import (
	"context"
	"errors"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap"
)

// gone is what a call meets when the channel has ended.
var gone = wire.Fault{Code: wire.CodeGone, Msg: "the channel to the host is closed"}

// Outcome turns a cap_result into what a caller gets.
func Outcome(r wire.Result) (wire.Value, error) {
	if r.OK {
		return r.Value, nil
	}
	return wire.Value{}, failed(r.Fault)
}

func failed(f wire.Fault) error {
	return &cap.Error{Code: f.Code, Msg: f.Msg}
}

// Unsendable is the error of a call that could not be written as a frame.
func Unsendable(err error) error {
	code := wire.CodeInvalidArgument
	if errors.Is(err, wire.ErrTooLarge) {
		code = wire.CodeTooLarge
	}
	return failed(wire.Fault{Code: code, Msg: "the arguments do not fit the channel: " + err.Error()})
}

// Misshapen is the error of a call whose answer is not what the capability promises.
func Misshapen(capability string, err error) error {
	return failed(wire.Fault{Code: wire.CodeProtocol, Msg: "the host's answer to " + capability + " is not one: " + err.Error()})
}

// abandoned is a call whose own caller gave up. It is both the capability error and
// the context's.
type abandoned struct {
	fault cap.Error
	cause error
}

// GaveUp is the error of a call whose own context ended, for this cause.
func GaveUp(capability string, cause error) error {
	code := wire.CodeCancelled
	if errors.Is(cause, context.DeadlineExceeded) {
		code = wire.CodeDeadline
	}
	return &abandoned{fault: cap.Error{Code: code, Msg: capability + ": the caller's context ended: " + cause.Error()}, cause: cause}
}

func (a *abandoned) Error() string   { return a.fault.Error() }
func (a *abandoned) Unwrap() []error { return []error{&a.fault, a.cause} }
