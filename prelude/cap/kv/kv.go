// Package kv keeps small values with the host, by key. It is the capability kv.
//
// What is kept lives as long as the session: it outlives an invocation and the
// satellite, which may be started anew between two calls, and is gone when the session
// ends. It belongs to the extension. No other sees it, and no other session.
//
// A key has 1 to 256 bytes and is UTF-8; a value has at most 256 KiB. There are at most
// 1,000 keys, and keys and values have at most 4 MiB together. Each operation is whole:
// of two that overlap one comes first. There is none that compares before it sets, so
// invocations that overlap need keys of their own.
//
// A key that is not there is no error. What the host refuses is an [Error], with the
// codes that any capability has, and
//
//   - too_large for a key or a value that is longer than that,
//   - policy where there are too many keys or too many bytes: delete some,
//   - invalid_argument for an empty key.
//
// Package cap has the codes as constants.
package kv

import (
	"context"
	"strconv"

	"github.com/loomext/loomext/prelude/cap/internal/channel"
	"github.com/loomext/loomext/prelude/cap/report"
)

const (
	capGet    = "kv.get"
	capSet    = "kv.set"
	capDelete = "kv.delete"
)

// Error is an operation on a key that was refused or failed. It wraps a *cap.Error,
// whose code cap.CodeOf tells.
type Error struct {
	// Op is "get", "set" or "delete".
	Op, Key string
	Err     error
}

// Error names the operation, the key and the cause.
func (e *Error) Error() string {
	return "kv: " + e.Op + " " + strconv.Quote(e.Key) + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Get gives the value of a key, and whether there is one. The value is the caller's own.
func Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	v, err := channel.Call(ctx, capGet, report.Map(keyField(key)))
	if err != nil {
		return nil, false, &Error{Op: "get", Key: key, Err: err}
	}
	found, err = report.BoolAt(v, "found")
	if err == nil {
		value, err = report.BytesAt(v, "value")
	}
	if err != nil {
		return nil, false, &Error{Op: "get", Key: key, Err: channel.Misshapen(capGet, err)}
	}
	if !found {
		return nil, false, nil
	}
	return value, true, nil
}

// Set makes value, at most 256 KiB, the value of a key until the session ends.
func Set(ctx context.Context, key string, value []byte) error {
	_, err := channel.Call(ctx, capSet, report.Map(
		keyField(key),
		report.Field{Key: "value", Value: report.Bytes(value)},
	))
	if err != nil {
		return &Error{Op: "set", Key: key, Err: err}
	}
	return nil
}

// Delete removes a key. Removing one that is not there is fine.
func Delete(ctx context.Context, key string) error {
	if _, err := channel.Call(ctx, capDelete, report.Map(keyField(key))); err != nil {
		return &Error{Op: "delete", Key: key, Err: err}
	}
	return nil
}

func keyField(key string) report.Field {
	return report.Field{Key: "key", Value: report.String(key)}
}
