package satellite

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
)

const (
	// crashTail is how much of its output goes into the message of a crash:
	// a stack trace of one goroutine.
	crashTail = 4 << 10
	// traceTail is the same for an author's trace. The frames at the top say where
	// the call was made, and a stack of a hundred must not push them out.
	traceTail = 16 << 10
)

// BoundFrames is the bound of an [Error] where the satellite wrote more to its
// channel than any honest one does. The others are those of jail.Exit.
const BoundFrames = "frame limit"

// BoundIdleCPU is the bound of one that kept the processor busy while nothing was
// asked of it.
const BoundIdleCPU = "idle cpu limit"

// boundThreads is named as the jail names the layer.
const boundThreads = "process limit"

// epitaph is what the caller of an invocation is told that the process left
// open. s.mu is held and the process is gone.
func (s *Satellite) epitaph() *Error {
	exit := s.ending()
	switch {
	case s.fate != nil:
		return s.fate
	case s.closed, exit.Killed:
		return minted(wire.CodeCancelled, "the satellite was closed during the call")
	case s.call.cancelled:
		return ended(wire.CodeCancelled, "the caller gave up; the satellite ended: "+exit.String(), exit)
	case !s.call.sent, s.call.unsent:
		return ended(wire.CodeGone, "the satellite had ended before it was called: "+s.lastWords(exit), exit)
	}
	return ended(wire.CodeCrashed, "the satellite ended during the call: "+s.lastWords(exit), exit)
}

// obituary is why a satellite is gone that was not destroyed. Its process may
// need a moment more to end, or to be destroyed for not ending.
func (s *Satellite) obituary(ctx context.Context) *Error {
	timer := time.NewTimer(exitGrace)
	defer timer.Stop()
	select {
	case <-s.command.Done():
		exit := s.ending()
		return ended(wire.CodeGone, "the satellite had ended before it was called: "+s.lastWords(exit), exit)
	case <-timer.C:
	case <-ctx.Done():
	}
	return minted(wire.CodeGone, "the satellite had closed its channel before it was called")
}

// ended is an error of this side's about a process that ended by itself.
func ended(code, msg string, exit jail.Exit) *Error {
	e := minted(code, msg)
	e.Signal, e.Bound, e.Call = exit.Signal, exit.Bound, exit.Call
	return e
}

// ending is how the process ended, with what its last words say of the bound
// that it met. It is gone.
func (s *Satellite) ending() jail.Exit {
	exit, _ := s.command.Wait()
	if exit.Bound != "" || exit.Signal != "" || exit.Code == 0 {
		return exit
	}
	said := s.command.Stderr()
	if nr, ok := trapped(said, runtime.GOARCH); ok && s.traced {
		exit.Bound, exit.Call = jail.BoundSystemCall, jail.CallName(nr)
	} else if strings.Contains(said, noThread) {
		exit.Bound = boundThreads
	}
	return exit
}

// lastWords are how the process ended and the tail of its output.
func (s *Satellite) lastWords(exit jail.Exit) string {
	text := exit.String()
	if tail := s.Tail(); tail != "" {
		text += "\n" + tail
	}
	return text
}

// Tail is the end of [Satellite.Output], in whole lines of valid UTF-8: of a trace the
// stack that made the refused call. It is what the message of a crash has.
func (s *Satellite) Tail() string {
	most, tail := crashTail, s.command.Stderr()
	if s.traced {
		most, tail = traceTail, stackOfTrap(tail)
	}
	tail = strings.TrimRight(tail, "\n")
	if len(tail) > most {
		tail = tail[len(tail)-most:]
		if _, whole, found := strings.Cut(tail, "\n"); found {
			tail = whole
		}
		tail = "…\n" + tail
	}
	return strings.ToValidUTF8(tail, "\uFFFD")
}

// What the Go runtime says before it ends for want of a thread, and when the
// kernel raised SIGSYS.
const (
	noThread  = "runtime: failed to create new OS thread"
	badCall   = "SIGSYS: bad system call"
	registerX = "\nrax "
	registerA = "\nr8 "
)

// trapped reads from the traceback of a Go program the number of the call that
// it was stopped at, which stands in a register. The words are the program's and
// only as good as it is.
func trapped(said, goarch string) (nr int, ok bool) {
	register, known := map[string]string{"amd64": registerX, "arm64": registerA}[goarch]
	at := strings.LastIndex(said, badCall)
	if at < 0 || !known {
		return 0, false
	}
	_, after, found := strings.Cut(said[at:], register)
	if !found {
		return 0, false
	}
	word, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	n, err := strconv.ParseUint(strings.TrimSpace(word), 0, 31)
	return int(n), err == nil
}

// stackOfTrap is what a program said up to the end of the stack that made the
// refused call: the other goroutines and the registers are of no use to an author.
func stackOfTrap(said string) string {
	at := strings.LastIndex(said, badCall)
	if at < 0 {
		return said
	}
	blocks := strings.Split(said[at:], "\n\n")
	keep := 2 // what happened, and the goroutine
	if len(blocks) > 1 && strings.HasPrefix(blocks[1], "goroutine 0 ") {
		keep = 3 // it was the runtime, on behalf of the next
	}
	return said[:at] + strings.Join(blocks[:min(keep, len(blocks))], "\n\n")
}
