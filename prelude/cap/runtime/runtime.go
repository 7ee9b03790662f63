// Package runtime runs a satellite: it finds the channel to the host, reads what the
// host asks, has each question answered, and writes the answer.
//
// It does not know what a tool is. It hands every question to one function and keeps
// the rules of the channel around it: one invocation at a time, a token that is good
// while that invocation is open, a deadline, a cancellation, and an answer to every
// question, whatever the function does. Extensions do not import it; the entry that
// the build generates reaches it through ext/runtime.
//
// Its invariants:
//
//   - Writing a result, clearing its token and becoming idle are one step for whoever
//     reads the next question, so a host that waits for each answer is never told
//     busy.
//   - What the host says is read soon, whatever an answer does: computes, waits for the
//     host, or writes a result that the host does not take. Soon is a few milliseconds,
//     or a time slice of the Go scheduler where an answer keeps the only processor busy.
//   - A panic and a runtime.Goexit are answers, with the code crashed, and the
//     satellite lives on.
//   - Whatever the host sends, the loop ends without a panic: with nil after the end
//     of the stream or a cancel of 0, else with the fault.
//   - It never writes an outcome.
package runtime

import (
	"context"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap/report"
)

// Kind is what sort of question an invocation is.
type Kind string

// The kinds that reach the answering function. Any other is answered bad_kind here.
const (
	Tool    Kind = wire.CallTool
	Event   Kind = wire.CallEvent
	Command Kind = wire.CallCommand
)

// Invocation is what is asked for: a tool, an event or a command, by name.
type Invocation struct {
	Kind Kind
	Name string
}

// Asked is one question of the host.
type Asked struct {
	Invocation Invocation
	// Args is what came with it, in the shape its kind has.
	Args report.Value
	// DeadlineMS is the time left when the host wrote the question, in milliseconds.
	DeadlineMS int64

	ctx context.Context
}

// Context is the context of the invocation. It ends with the deadline, when the host
// cancels, and when the answer is written; capability calls made with it, or with one
// derived from it, carry the invocation's authority. An Asked made by hand has the
// background context, which has none.
func (a Asked) Context() context.Context {
	if a.ctx == nil {
		return context.Background()
	}
	return a.ctx
}

// WithContext is the same question under another context.
func (a Asked) WithContext(ctx context.Context) Asked {
	a.ctx = ctx
	return a
}

// Answer is what goes back: a value, or a code and a sentence.
type Answer struct {
	OK        bool
	Value     report.Value
	Code, Msg string
}

// Answered is an answer with a value.
func Answered(v report.Value) Answer { return Answer{OK: true, Value: v} }

// Failed is an answer that says why there is no value.
func Failed(code, msg string) Answer { return Answer{Code: code, Msg: msg} }

func (a Answer) result() wire.Result {
	if a.OK {
		return wire.Result{OK: true, Value: a.Value}
	}
	return wire.Result{Fault: wire.Fault{Code: a.Code, Msg: a.Msg}}
}

// Unencodable is the code of an answer that cannot travel.
const Unencodable = wire.CodeUnencodable
