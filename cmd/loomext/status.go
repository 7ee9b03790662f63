package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
)

// The exit statuses beside those of the layers, which [install.Layer.ExitStatus] has.
const (
	statusOK       = 0
	statusInternal = 1
	statusUsage    = 2
	statusRefused  = 3
	statusCrashed  = 4
	statusDeadline = 5
	statusGone     = 6
	statusArgs     = 7
	statusTests    = 8
	statusConfig   = 9
	statusDeclined = 20
	// statusDifferent is a replay with differences: neither a fault nor what was hoped for.
	statusDifferent = 21
	// statusSignal is added to the number of the signal that ended a command, as shells do.
	statusSignal = 128
)

// usageError is a command line that cannot be carried out as it stands.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// statusError is an outcome with a status of its own whose lines are printed already, or
// which has none.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// exitStatus is the status of a command that ended with err under ctx.
func exitStatus(ctx context.Context, err error) int {
	var (
		own      *statusError
		signaled *signalError
		usage    *usageError
		grant    *install.GrantError
		tests    *testsError
		operator *config.Error
		fault    *host.Error
		refusal  *install.Error
	)
	switch {
	case err == nil:
		return statusOK
	case errors.As(context.Cause(ctx), &signaled):
		return statusSignal + int(signaled.signal)
	case errors.Is(err, syscall.EPIPE):
		return statusSignal + int(syscall.SIGPIPE)
	case errors.As(err, new(*outputError)):
		return statusInternal
	case errors.As(err, &own):
		return own.status
	case errors.Is(err, install.ErrDeclined):
		return statusDeclined
	case errors.As(err, &usage), errors.As(err, &grant):
		return statusUsage
	case errors.As(err, &tests):
		return statusTests
	case errors.As(err, &operator):
		return statusConfig
	case errors.As(err, &fault):
		return invocationStatus(fault.Kind)
	case errors.As(err, &refusal):
		return refusal.Layer.ExitStatus()
	}
	return statusInternal
}

// invocationStatus is the status of an invocation that failed.
func invocationStatus(kind host.Kind) int {
	switch kind {
	case host.Crashed:
		return statusCrashed
	case host.Deadline:
		return statusDeadline
	case host.Gone, host.Busy, host.Protocol, host.Unhandled:
		return statusGone
	case host.Arguments:
		return statusArgs
	case host.Unrecorded:
		return install.LayerRecord.ExitStatus()
	case host.Cancelled:
		return statusInternal
	}
	return statusRefused
}

// exitStatuses is what `loomext help exitcodes` prints.
const exitStatuses = `Every command of loomext ends with one of these:

   0  it was done
   1  an internal fault, or the result could not be written
   2  usage: the command line cannot be carried out as it stands

  An invocation (loomext call, fire):
   3  the extension refused it
   4  the extension crashed, or made a result that has no encoding
   5  it missed its deadline
   6  its satellite was gone, or did not keep to the protocol
   7  the arguments are no JSON or do not fit the tool's schema, or the payload not the event;
      nothing was started

   8  the author's own tests failed, or came to a bound (loomext test)
   9  config: the operator's config.toml is at fault

  The layer that refused (install, check, verify, show, remove, inspect, call, fire, mcp, audit, replay, test, dev, doctor):
  10  fetch       the source cannot be read
  11  extract     the source holds what no tree may hold: links, odd names, too much
  12  manifest    extension.toml, its schemas, or --set
  13  vetting     the source imports, names or contains what no extension may
  14  generate    the entry of the satellite, a schema or a new file cannot be rendered or written
  15  compile     the build failed, or what it made is not what was declared
  16  record      the store or a record in it: not installed, damaged, not writable
  17  verify      a check of what is installed, or of what new, vendor and schema write, failed
  18  jail        what has to run cannot be confined
  19  host        a satellite cannot be started

  20  the operator said no, or could not be asked: no terminal and neither --yes nor --grant
  21  a replay is different from its record

 128+n  signal n ended it (130 for SIGINT, 143 for SIGTERM, 141 for a reader who left)
`

func exitcodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exitcodes",
		Short: "The exit statuses of every command",
		Long:  exitStatuses,
	}
}
