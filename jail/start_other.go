//go:build !linux

package jail

import (
	"context"
	"runtime"
)

// Command is a started command. There are none on this system.
type Command struct{}

func start(context.Context, Spec, Options) (*Command, error) {
	return nil, &Error{Place: "system", What: "there is no jail for " + runtime.GOOS, Fix: "run on Linux"}
}

// PID is 0: nothing runs.
func (*Command) PID() int { return 0 }

// Report is empty: nothing is enforced.
func (*Command) Report() Report { return Report{} }

// Wait returns at once.
func (*Command) Wait() (Exit, error) { return Exit{Code: -1}, nil }

// Done is closed.
func (*Command) Done() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

// Kill does nothing.
func (*Command) Kill() {}

// Stderr is empty.
func (*Command) Stderr() string { return "" }
