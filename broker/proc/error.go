package proc

import (
	"errors"
	"strconv"

	"github.com/loomext/loomext/jail"
)

// Kind is what kind of refusal an [Error] is.
type Kind uint8

// The kinds.
const (
	Invalid     Kind = iota // the request cannot be
	TooLarge                // a part of it is longer than it may be
	NotAllowed              // the terms do not name the command
	NotFound                // no such program is where programs are looked for
	Ceiling                 // the command wrote more than the host reads
	Unavailable             // the host cannot run it: the jail, the workspace or what is readable
	Deadline                // it ran out of time
	Cancelled               // its context ended
)

// Error is a command that did not run to its end. The text is made of what the extension may see.
type Error struct {
	Kind Kind
	Msg  string
}

func (e *Error) Error() string { return "proc: " + e.Msg }

func invalid(msg string) error { return &Error{Invalid, msg} }

func tooLarge(what string, has, most int) error {
	return &Error{TooLarge, what + " have " + strconv.Itoa(has) + " bytes; at most " + strconv.Itoa(most)}
}

func flooded() error {
	return &Error{Ceiling, "the command wrote more than " + strconv.Itoa(MaxFlood>>20) + " MiB and was killed; have it write less, or into a file"}
}

// unavailable names the layer of the jail that could not be had.
func unavailable(err error) error {
	fault, ok := errors.AsType[*jail.Error](err)
	if !ok {
		return &Error{Unavailable, "the command could not be run"}
	}
	msg := "the jail of commands cannot be had here: " + fault.Place + ": " + fault.What
	if fault.Err != nil {
		msg += " (" + fault.Err.Error() + ")"
	}
	if fault.Fix != "" {
		msg += "; " + fault.Fix
	}
	return &Error{Unavailable, msg}
}
