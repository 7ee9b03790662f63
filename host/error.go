package host

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/satellite"
)

// Kind is what a caller can do about a failed invocation.
type Kind string

// The kinds.
const (
	// Refused: the extension answered that it will not, in words that a model reads
	// and repairs. It works as written.
	Refused Kind = "refused"
	// Arguments: they do not fit the tool's schema, or are no JSON. Nothing was called.
	Arguments Kind = "arguments"
	// Unhandled: there is no such extension, tool or hook. Nothing happened.
	Unhandled Kind = "unhandled"
	// Crashed: the extension panicked or its process died, or it made an answer that
	// has no encoding. Output has its last words.
	Crashed Kind = "crashed"
	// Deadline: it did not answer in time.
	Deadline Kind = "deadline"
	// Cancelled: the caller gave up, or closed the session.
	Cancelled Kind = "cancelled"
	// Busy: it answers another call, and the wait that was allowed is over, or too many
	// wait. Nothing was called.
	Busy Kind = "busy"
	// Gone: nothing was called, because there is no satellite to call: the extension
	// is out, was refused or was removed, the session is closed, or it could not be loaded
	// or started for want of something of this machine's.
	Gone Kind = "gone"
	// Protocol: the satellite did not keep to the protocol, or does not serve what
	// its manifest declares.
	Protocol Kind = "protocol"
	// Unrecorded: the session is recorded, and the record cannot be written. Nothing was
	// called, or the answer is withheld.
	Unrecorded Kind = "unrecorded"
)

// Kinds are all of them, for what has to know each: a table, or a page of documents.
func Kinds() []Kind {
	return []Kind{Refused, Arguments, Unhandled, Crashed, Deadline, Cancelled, Busy, Gone, Protocol, Unrecorded}
}

// Error is why an invocation has no answer.
type Error struct {
	Kind      Kind
	Extension string
	Target    string // the tool or the event
	// Code is one of the protocol's, or the extension's own where it refused.
	Code string
	// Msg is one sentence, or the extension's own words. It is foreign text: escape it
	// before it reaches a terminal.
	Msg string
	// Faults are what is wrong with the arguments.
	Faults []manifest.SchemaFault
	// Output is the tail of what the satellite wrote to standard output and standard
	// error, where it died or did not answer. It is foreign text.
	Output string
	// Signal, Bound and SystemCall say how a satellite ended that ended by itself; see
	// jail.Exit.
	Signal, Bound, SystemCall string
	minted                    bool // the words are the host's

	// Err is the cause, where there is one: a load that was refused, a jail that could
	// not be built, the end of a context.
	Err error
}

// Error is one line, and the satellite's last words below it.
func (e *Error) Error() string {
	text := "host: " + e.Extension
	if e.Target != "" {
		text += " " + e.Target
	}
	text += ": " + e.Code + ": " + indented(e.Msg)
	for _, f := range e.Faults {
		text += "; " + f.Error()
	}
	if e.Output != "" {
		text += "\n  " + indented(e.Output)
	}
	return text
}

// Reply is what a model is told in place of an outcome: the words of a refusal, what
// is wrong with the arguments, or that the tool failed and how. It has none of the
// satellite's output.
func (e *Error) Reply() string {
	switch e.Kind {
	case Refused, Unhandled:
		return e.Msg
	case Arguments:
		lines := []string{e.Msg}
		for _, f := range e.Faults {
			lines = append(lines, f.Error())
		}
		return strings.Join(lines, "\n")
	}
	switch e.Kind { // for reasons of this machine
	case Gone:
		return "the tool failed: " + e.Extension + " is not there"
	case Unrecorded:
		return "the tool failed: the record of this session cannot be written"
	}
	return "the tool failed: " + string(e.Kind) + ": " + e.Msg
}

// Died reports whether the satellite ended over it. Where it crashed and did not die, it
// panicked or made an answer that cannot be sent, and takes the next call as it is.
func (e *Error) Died() bool { return e.Kind == Crashed && e.minted }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf is the kind of a failed invocation, or empty where the error is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func indented(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}

// timerSlack is how long after its deadline a context may end.
const timerSlack = 100 * time.Millisecond

// failed is what a satellite's error is to the caller.
func (x *extension) failed(target string, sat *satellite.Satellite, err error) *Error {
	e := &Error{Extension: x.name, Target: target, Err: err}
	var fault *satellite.Error
	if !errors.As(err, &fault) {
		e.Kind, e.Code, e.Msg = Protocol, wire.CodeProtocol, err.Error()
		return e
	}
	e.Code, e.Msg, e.Kind, e.minted = fault.Code, fault.Msg, kindOf(fault), fault.Host
	e.Signal, e.Bound, e.SystemCall = fault.Signal, fault.Bound, fault.Call
	if fault.Host || e.Kind == Crashed {
		e.Msg, e.Output, _ = strings.Cut(fault.Msg, "\n")
	}
	if e.Output == "" && (e.Kind == Crashed || e.Kind == Deadline || e.Kind == Protocol) {
		e.Output = sat.Tail()
	}
	return e
}

// late has an error that came when the caller had given up, or when the time was over,
// say so: what an extension answers then is its way of saying that it was stopped.
func (e *Error) late(ctx context.Context, over bool) {
	if e.Kind == Refused && over {
		e.Kind, e.Code, e.Msg = Deadline, wire.CodeDeadline, "no outcome in time; the extension says: "+e.Msg
	}
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		select { // its timer is as late as it may be
		case <-ctx.Done():
		case <-time.After(timerSlack):
		}
	}
	switch {
	case e.Kind != Cancelled && e.Kind != Deadline:
	case ctx.Err() != nil:
		e.Err = context.Cause(ctx)
	case e.Kind == Deadline:
		e.Err = context.DeadlineExceeded
	}
}

// kindOf sorts the codes. One that is not listed is the extension's own.
func kindOf(fault *satellite.Error) Kind {
	switch fault.Code {
	case wire.CodeCrashed:
		return Crashed
	case wire.CodeUnencodable:
		if fault.Host {
			return Arguments
		}
		return Crashed
	case wire.CodeDeadline:
		if fault.Host {
			return Deadline
		}
	case wire.CodeUnhandled:
		return Unhandled
	case wire.CodeBadArguments:
		return Arguments
	case wire.CodeCancelled:
		if fault.Host {
			return Cancelled
		}
	case wire.CodeGone:
		if fault.Host {
			return Gone
		}
	case wire.CodeProtocol, wire.CodeBusy, wire.CodeBadKind, wire.CodeUnknownTool, wire.CodeMismatchedHook:
		return Protocol
	}
	return Refused
}
