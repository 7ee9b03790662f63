package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string {
	return fmt.Sprintf("stopped by %s before it was done", signalName(e.signal))
}

// hintedError is an error with something to add where a signal was its cause.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// endlessError is the end of what goes on until a signal ends it.
type endlessError struct{ error }

func (e *endlessError) Unwrap() error { return e.error }

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return s.String()
}

// lastResort is when a signal ends the process whatever it does: later than everything that
// ends a command takes.
const lastResort = 6 * time.Second

// withSignals gives a context that ends with the first SIGINT, SIGTERM or SIGHUP. Later
// signals change nothing: what ends a command is bounded in time, and cutting it short would
// leave the children and directories that it is about to remove.
//
// A signal that was ignored when the process started, as nohup does with SIGHUP and a shell with
// SIGINT for what runs in the background, stays ignored.
//
// SIGPIPE is taken so that a reader who left, of stdout or stderr, is an error of the write
// and not the death of a process with children.
func withSignals() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	arrived := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(arrived, s)
		}
	}
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-arrived:
			number, ok := s.(syscall.Signal)
			if !ok {
				number = syscall.SIGINT
			}
			cancel(&signalError{signal: number})
			// A write that nobody reads cannot be called off. By then all else is done.
			time.AfterFunc(lastResort, func() { os.Exit(statusSignal + int(number)) })
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
		// The signals stay taken: the process is about to exit with a status of its own.
	}
}
