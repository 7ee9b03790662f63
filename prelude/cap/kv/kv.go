// Package kv keeps small values with the host, by key.
//
// What is kept belongs to the extension and outlives the satellite. What the host
// refuses is an [Error] with the host's code; a key that is not there is not an
// error.
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

// Error is an operation on a key that was refused or failed. It wraps a cap.Error.
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

// Get gives the value of a key, and whether there is one.
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

// Set makes value the value of a key.
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
