package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/loomext/loomext/internal/wire"
)

// Error is why a call did nothing.
type Error struct {
	Code string // of the protocol: docs/capabilities.md has each
	Op   string // "open", "read", "write", "list" or "edit"
	Path string // as it was called with
	Msg  string // what is wrong, and what to do; without any path of the host
	Err  error  // the system's or the context's, where there is one
}

// Error has the layer, the place and the cause.
func (e *Error) Error() string {
	return "workspace: " + e.Op + " " + strconv.Quote(e.Path) + ": " + e.Msg
}

// Unwrap is the system's error, or the context's.
func (e *Error) Unwrap() error { return e.Err }

// refuse is an error that does not know yet what it was called with.
func refuse(code, msg string) *Error { return &Error{Code: code, Msg: msg} }

// explain makes the error of a call from what a layer below refused or the system said. It gives nil for nil.
func explain(op, path string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = ofSystem(err)
	}
	e.Op, e.Path = op, path
	return e
}

// What stands in a file's place, or in its way.
const (
	directoryMsg = "it is a directory; list it"
	linkMsg      = "it is a link, or a part of its path is one, and nothing is written through links; name what it leads to"
	outsideMsg   = "it leads out of the workspace, over a link or a mount; name what lies inside"
	racingMsg    = "it was moved or changed while it was looked up; call again"
)

// answers are the system's errors in the words of the protocol.
var answers = []struct {
	err       error
	code, msg string
}{
	{context.DeadlineExceeded, wire.CodeDeadline, "the time for it is over"},
	{context.Canceled, wire.CodeCancelled, "nobody waits for it any longer"},
	{errLink, wire.CodeWrongKind, linkMsg},
	{errOutside, wire.CodePermissionDenied, outsideMsg},
	{fs.ErrNotExist, wire.CodeNotFound, "nothing is there; list the directory to see what is"},
	{syscall.ENOTDIR, wire.CodeWrongKind, "a part of its path is no directory; list the directory above it"},
	{syscall.EISDIR, wire.CodeWrongKind, directoryMsg},
	{syscall.ELOOP, wire.CodeWrongKind, "its links lead in circles, or into the system; name a file"},
	{syscall.EXDEV, wire.CodePermissionDenied, outsideMsg},
	{syscall.EAGAIN, wire.CodeUnavailable, racingMsg},
	{syscall.ENAMETOOLONG, wire.CodeInvalidArgument, "the path or a part of it is longer than the system takes; shorten it"},
	{syscall.ENXIO, wire.CodeWrongKind, notRegularMsg},
	{syscall.EROFS, wire.CodePermissionDenied, "the disk is mounted read-only; the operator can change that"},
	{fs.ErrPermission, wire.CodePermissionDenied, "the system does not let this user; the operator can change that"},
	{syscall.ENOSPC, wire.CodeUnavailable, "the disk is full; the operator can make room"},
	{syscall.EDQUOT, wire.CodeUnavailable, "the user's share of the disk is used up; the operator can make room"},
}

// errEscapes is the text of os.Root's error for what leads out, which it has no name for.
const errEscapes = "path escapes from parent"

func ofSystem(err error) *Error {
	switch e := err.(type) { // without the paths in them, which may be the host's
	case *fs.PathError:
		err = e.Err
	case *os.LinkError:
		err = e.Err
	}
	for _, a := range answers {
		if errors.Is(err, a.err) {
			return &Error{Code: a.code, Msg: a.msg, Err: err}
		}
	}
	if err.Error() == errEscapes {
		return &Error{Code: wire.CodePermissionDenied, Msg: outsideMsg, Err: err}
	}
	msg := "the file system failed"
	if number, ok := errors.AsType[syscall.Errno](err); ok { // others may have paths in them
		msg += " (" + number.Error() + ")"
	}
	return &Error{Code: wire.CodeUnavailable, Msg: msg + "; the operator can look at the disk", Err: err}
}

// maxQuoted is how much of a text a message repeats, in bytes: enough to recognize it.
const maxQuoted = 64

func quoted(text string) string {
	if len(text) > maxQuoted {
		return strconv.QuoteToASCII(strings.ToValidUTF8(text[:maxQuoted], "")) + "…"
	}
	return strconv.QuoteToASCII(text)
}
