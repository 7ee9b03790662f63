//go:build !linux || !(amd64 || arm64)

package jail

import (
	"context"
	"runtime"
	"time"
)

// Command is a started command. There are none on this system.
type Command struct{}

func start(context.Context, Spec, Options) (*Command, error) {
	return nil, &Error{Place: "system", What: "there is no jail for " + runtime.GOOS + "/" + runtime.GOARCH, Fix: "run on Linux, on amd64 or arm64"}
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

// CPU is never known.
func (*Command) CPU() (time.Duration, bool) { return 0, false }

type sealed struct{}

// firstProcess leaves it to start to refuse.
func firstProcess() (*Image, error) { return nil, nil }

// Seal refuses: nothing is run on this system.
func Seal(path, _ string) (*Image, error) {
	return nil, &Error{Place: layerSealed, What: path + ": there is no jail for " + runtime.GOOS + "/" + runtime.GOARCH, Fix: "run on Linux, on amd64 or arm64"}
}

// Close does nothing.
func (*Image) Close() error { return nil }

// Inspect is empty: nothing is enforced.
func Inspect() Report { return Report{} }
