package record

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// Error is a record that cannot be written or read.
type Error struct {
	Path string
	Line int // of the record, from 1; 0 where it is about the whole
	Err  error
}

// Error has the place, the cause and, in the cause, what to do.
func (e *Error) Error() string {
	at := e.Path
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	return "record: " + at + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// bare is an error of the system without the path, which an Error has.
func bare(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok && at == err {
		return at.Err
	}
	return err
}

// unwritable is why a file cannot be opened to be written, and what to do.
func unwritable(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("its directory is not there: %w; make it, or name a file elsewhere", bare(err))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; name a file that you may write", bare(err))
	}
	return fmt.Errorf("%w; name another file", bare(err))
}

// unreadable is why a file cannot be opened to be read, and what to do.
func unreadable(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("it is not there: %w; name a file that --record wrote", bare(err))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; name a file that you may read", bare(err))
	}
	return fmt.Errorf("%w; name a file that --record wrote", bare(err))
}
