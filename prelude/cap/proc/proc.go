// Package proc asks the host to run commands. It is the capability proc, with the
// [proc] table of the manifest.
//
// The satellite cannot start a process. The host runs a command that begins with one
// of the argument lists the manifest names, over the session's workspace and in its own
// jail, and gives back what it wrote.
//
// What the host refuses is an [Error], with the codes that any capability has, and
// not_allowed for a command that the manifest does not name, not_found for a program that
// is not on the host. Where the session has no workspace it is denied. Package cap has the
// codes as constants.
package proc

import (
	"context"
	"fmt"
	"time"

	"github.com/loomext/loomext/prelude/cap/internal/channel"
	"github.com/loomext/loomext/prelude/cap/report"
)

const capRun = "proc.run"

// Command is what to run. There is no shell between Argv and the program, which is looked
// up among those of the host's system. It starts in the workspace.
type Command struct {
	Argv  []string // at most 1,024 words, of 131,072 bytes together
	Stdin []byte   // at most 1 MiB
	// Timeout is how long it may take; the host counts in milliseconds, so a part of
	// one counts as one. Zero leaves it to the invocation. At the end of it the command is
	// killed with all that it started.
	Timeout time.Duration
}

// Result is a command that ran. An exit status other than 0 is a result, not an
// error.
type Result struct {
	Exit           int // 128+n for a program that signal n ended
	Stdout, Stderr []byte
	// Truncated says that the command wrote more than the host keeps: the first 1 MiB of
	// each.
	Truncated bool
}

// Error is a command that did not run to its end. It wraps a *cap.Error, whose code
// cap.CodeOf tells.
type Error struct {
	Argv []string
	Err  error
}

// Error names the command and the cause.
func (e *Error) Error() string { return fmt.Sprintf("proc: run %q: %v", e.Argv, e.Err) }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Run runs a command and waits for its end.
func Run(ctx context.Context, c Command) (Result, error) {
	argv := make([]report.Value, 0, len(c.Argv))
	for _, arg := range c.Argv {
		argv = append(argv, report.String(arg))
	}
	v, err := channel.Call(ctx, capRun, report.Map(
		report.Field{Key: "argv", Value: report.List(argv...)},
		report.Field{Key: "stdin", Value: report.Bytes(c.Stdin)},
		report.Field{Key: "timeout_ms", Value: report.Int(milliseconds(c.Timeout))},
	))
	if err != nil {
		return Result{}, &Error{Argv: c.Argv, Err: err}
	}
	result, err := read(v)
	if err != nil {
		return Result{}, &Error{Argv: c.Argv, Err: channel.Misshapen(capRun, err)}
	}
	return result, nil
}

// milliseconds rounds up, so that a short timeout does not become none.
func milliseconds(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > 0 && d%time.Millisecond != 0 {
		ms++
	}
	return ms
}

func read(v report.Value) (Result, error) {
	exit, err := report.IntAt(v, "exit")
	if err != nil {
		return Result{}, err
	}
	stdout, err := report.BytesAt(v, "stdout")
	if err != nil {
		return Result{}, err
	}
	stderr, err := report.BytesAt(v, "stderr")
	if err != nil {
		return Result{}, err
	}
	truncated, err := report.BoolAt(v, "truncated")
	if err != nil {
		return Result{}, err
	}
	return Result{Exit: int(exit), Stdout: stdout, Stderr: stderr, Truncated: truncated}, nil
}
