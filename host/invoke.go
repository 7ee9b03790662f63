package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/loomext/loomext/broker"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/satellite"
)

// Outcome is what a tool answered.
type Outcome = satellite.ToolOutcome

// Block is one piece of an Outcome.
type Block = satellite.Block

// Types of a Block.
const (
	BlockText = satellite.BlockText
	BlockJSON = satellite.BlockJSON
)

// Report is what an extension emits while it answers: a partial, which is a line of
// progress, or an artifact that was stored under an id.
type Report = broker.Report

// Asker answers what an extension asks whoever runs the agent: see [Call.Ask]. Its
// requests are foreign text and were bounded; its answers are judged as foreign too.
type Asker = broker.Asker

// AskRequest is one thing that an extension asks.
type AskRequest = broker.AskRequest

// Whom an AskRequest is for: its Kind.
const (
	AskUser  = broker.AskUser
	AskModel = broker.AskModel
	AskRoots = broker.AskRoots
)

// Call is one call of a tool.
type Call struct {
	Extension, Tool string
	// Args are JSON text. They reach the tool byte for byte; empty is {}.
	Args json.RawMessage
	// Strand says what the call belongs to. It is opaque to loomext.
	Strand string
	// Timeout shortens the time that was approved for the tool. Zero, and more than
	// was approved, is what was approved. It counts from when the tool is called.
	Timeout time.Duration
	// Report, if not nil, takes what the tool emits, in order and before Call
	// returns. It is called on the goroutine that reads the satellite: it must not
	// block, nor call the session, nor change the Data.
	Report func(Report)
	// Output, if not nil, is told each line that the satellite writes to standard output and
	// standard error while it answers this call, in pieces of at most 8 KiB, beside the log: the
	// last words of one that dies among them. What it writes at another time is in the log
	// alone. The line is an extension's: escape it for a terminal. It is called on the goroutine
	// that reads the output, and before Call returns: it must not block.
	Output func(line string)
	// Ask, if not nil, answers what the tool asks. Without one it is told that nobody can
	// be asked. It runs on a goroutine of its own, and on several where the tool asks from
	// several. Its time is the call's: it must return soon after its context ends, for
	// Call waits for it.
	Ask Asker
}

// Event is one event for an extension's hook.
type Event struct {
	Extension, Name string
	// Document is the event's JSON; empty is {}. docs/wire.md has its fields.
	Document json.RawMessage
	// Limit, where it is not zero, takes the place of the [HookTimeout]: it is what the
	// operator gives the hook, and to miss it counts against the extension.
	Limit time.Duration
	// Timeout shortens that; zero is that. It counts from when the hook is called: a call of
	// the same extension's tool comes before it. To miss it is no fault.
	Timeout time.Duration
	// Wait bounds the time in the queue. A satellite that has to be loaded or started is waited
	// for as long as the answer, or Wait where that is longer. After either the error is of
	// kind [Busy]. Zero bounds neither, but for ctx.
	Wait time.Duration
	// Report is that of [Call].
	Report func(Report)
	// Output is that of [Call].
	Output func(line string)
	// Ask is that of [Call].
	Ask Asker
}

// Call calls a tool and waits for its outcome. The arguments are held against the
// tool's schema first. The error is an [*Error].
func (s *Session) Call(ctx context.Context, c Call) (Outcome, error) {
	for {
		x := s.extension(c.Extension)
		if x == nil {
			return Outcome{}, unknown(c.Extension, c.Tool)
		}
		if outcome, err := x.call(ctx, c); !errors.Is(err, errReplaced) {
			return outcome, err
		}
	}
}

func (x *extension) call(ctx context.Context, c Call) (Outcome, error) {
	if err := x.load(ctx, c.Tool, 0); err != nil {
		return Outcome{}, err
	}
	own, schema, ok := x.tool(c.Tool)
	if !ok && x.program != nil {
		return Outcome{}, &Error{Kind: Unhandled, Extension: x.name, Target: c.Tool, Code: wire.CodeUnknownTool, Msg: fmt.Sprintf("%s has no tool %q; it has %s", x.name, c.Tool, x.tools())}
	}
	if len(c.Args) == 0 {
		c.Args = json.RawMessage("{}")
	}
	if ok {
		if faults := schema.Check(c.Args); len(faults) > 0 {
			return Outcome{}, &Error{Kind: Arguments, Extension: x.name, Target: c.Tool, Code: wire.CodeBadArguments, Msg: "the arguments do not fit the schema", Faults: faults}
		}
	}
	given := x.allow(own, c.Timeout, 0)
	given.asker, given.output = c.Ask, c.Output
	v, err := x.invoke(ctx, satellite.ToolCall(c.Tool, c.Args, c.Strand), given, c.Report)
	if err != nil {
		return Outcome{}, err
	}
	outcome, err := satellite.Outcome(v)
	if err != nil {
		return Outcome{}, x.misshapen(c.Tool, err)
	}
	return outcome, nil
}

// Fire fires an event at the hook of one extension and returns the document that
// it answered. An extension without a hook for the event is not started: the error
// is of kind [Unhandled].
func (s *Session) Fire(ctx context.Context, e Event) (json.RawMessage, error) {
	for {
		x := s.extension(e.Extension)
		if x == nil {
			return nil, unknown(e.Extension, e.Name)
		}
		if answer, err := x.fire(ctx, e); !errors.Is(err, errReplaced) {
			return answer, err
		}
	}
}

func (x *extension) fire(ctx context.Context, e Event) (json.RawMessage, error) {
	if !x.refused() && !x.hooks(e.Name) {
		return nil, &Error{Kind: Unhandled, Extension: x.name, Target: e.Name, Code: wire.CodeUnhandled, Msg: fmt.Sprintf("%s has no hook for %q", x.name, e.Name)}
	}
	if len(e.Document) == 0 {
		e.Document = json.RawMessage("{}")
	}
	if !json.Valid(e.Document) {
		return nil, &Error{Kind: Arguments, Extension: x.name, Target: e.Name, Code: wire.CodeBadArguments, Msg: "the event's document is not JSON"}
	}
	given := x.allow(cmp.Or(e.Limit, HookTimeout), e.Timeout, e.Wait)
	given.asker, given.output = e.Ask, e.Output
	if err := x.load(ctx, e.Name, given.start()); err != nil {
		return nil, err
	}
	v, err := x.invoke(ctx, satellite.EventCall(e.Name, e.Document), given, e.Report)
	if err != nil {
		return nil, err
	}
	answer, err := satellite.Document(v)
	if err != nil {
		return nil, x.misshapen(e.Name, err)
	}
	return answer, nil
}

// unknown is the error for an extension that the session was not opened on.
func unknown(name, target string) *Error {
	return &Error{Kind: Unhandled, Extension: name, Target: target, Code: wire.CodeUnhandled, Msg: fmt.Sprintf("there is no extension %q in this session", name)}
}

// allowed is the time that one invocation has, who answers what it asks in it, and who is
// told what it prints.
type allowed struct {
	own    time.Duration // as approved
	asked  time.Duration // by the caller, at most own
	wait   time.Duration // in the queue; zero is no bound
	asker  Asker         // nil: nobody
	output func(line string)
}

// allow is the time of an invocation under the operator's ceiling: what was approved, or
// less where that is asked for.
func (x *extension) allow(approved, asked, wait time.Duration) allowed {
	own := x.ceiling(approved)
	if asked <= 0 || asked > own {
		asked = own
	}
	return allowed{own: own, asked: asked, wait: wait}
}

// start is how long the start of a satellite is waited for: where the wait is bounded, as
// long as the answer at least.
func (a allowed) start() time.Duration {
	if a.wait == 0 {
		return 0
	}
	return max(a.wait, a.asked)
}

// invoke queues for the satellite and calls it.
func (x *extension) invoke(ctx context.Context, call satellite.Invocation, given allowed, report func(Report)) (wire.Value, error) {
	for again := false; ; again = true {
		if err := x.enter(ctx, call.Name, given.wait); err != nil {
			return wire.Value{}, err
		}
		sat, err := x.ready(ctx, call, given.start())
		if err != nil {
			return wire.Value{}, err
		}
		v, fault := x.ask(ctx, sat, call, given, report)
		x.leave()
		if fault == nil {
			return v, nil
		}
		if fault.Kind == Gone && !again && x.session.ctx.Err() == nil {
			continue // it ended before anything reached it: the next one is asked
		}
		return wire.Value{}, fault
	}
}

// ask makes one invocation. The turn is the caller's.
func (x *extension) ask(ctx context.Context, sat *satellite.Satellite, call satellite.Invocation, given allowed, report func(Report)) (wire.Value, *Error) {
	began, left := time.Now(), given.asked
	if end, ok := ctx.Deadline(); ok {
		left = min(left, end.Sub(began))
	}
	noted, unrecorded := x.note(call, left)
	if unrecorded != nil {
		return wire.Value{}, unrecorded
	}
	invocation := x.scope.Begin(report, given.asker)
	call.Deadline, call.Prompt = left, broker.Prompt
	call.Effects = recorded(noted, func(ctx context.Context, c satellite.CapCall) wire.Result {
		return invocation.Serve(ctx, c.Cap, c.Args)
	})
	x.printed.tellTo(given.output)
	v, err := sat.Invoke(ctx, call)
	x.printed.tellTo(nil)
	invocation.End()
	late := time.Since(began) >= left
	if err == nil && (!late || call.Kind != wire.CallEvent) {
		x.trace(call.Name, "", began)
		return v, x.end(noted, call.Name, v, nil)
	}
	if err == nil { // what a tool has done is done; a verdict that comes too late is none
		err = &satellite.Error{Code: wire.CodeDeadline, Msg: "it answered when its time was over", Host: true}
	}
	fault := x.failed(call.Name, sat, err)
	fault.late(ctx, late)
	if x.session.ctx.Err() != nil && fault.Kind == Gone {
		fault.Msg, fault.Err = "the session was closed", ErrClosed
	}
	if end := sat.Ended(); end != nil {
		// The words of an answer are the extension's, and no reason of the host's.
		reason := x.failed("", sat, end)
		if fault.minted {
			reason = fault
		}
		// A caller who gave up, or gave less than was approved, has ended it himself.
		caller := reason.Kind == Cancelled || reason.Kind == Deadline && left < given.own
		x.ended(sat, reason.summary(), !caller)
	}
	x.trace(call.Name, fault.Kind, began)
	return wire.Value{}, x.end(noted, call.Name, wire.Value{}, fault)
}

// trace logs an invocation, without a word that came from outside.
func (x *extension) trace(target string, failed Kind, began time.Time) {
	if logger := x.session.host.logger; logger.Enabled(x.session.ctx, slog.LevelDebug) {
		logger.Debug("invocation", "extension", x.name, "session", x.session.id, "target", target, "failed", string(failed), "took", time.Since(began))
	}
}

// misshapen is an answer of the wrong shape. The satellite lives on.
func (x *extension) misshapen(target string, err error) *Error {
	e := &Error{Kind: Protocol, Extension: x.name, Target: target, Code: wire.CodeProtocol, Msg: err.Error(), Err: err}
	var fault *satellite.Error
	if errors.As(err, &fault) {
		e.Msg = fault.Msg
	}
	return e
}

// unstarted is a satellite that could not be launched: nothing is said about the
// extension by that.
func (x *extension) unstarted(target string, err error) *Error {
	e := x.gone(target, "its satellite cannot be started: "+err.Error(), &install.Error{Layer: install.LayerJail, Err: err})
	var wall *jail.Error
	if errors.As(err, &wall) {
		e.Msg = "its satellite cannot be started: " + strings.TrimPrefix(wall.Error(), "jail: ")
	}
	return e
}

// summary is what ended a satellite, on one line.
func (e *Error) summary() string { return e.Code + ": " + e.Msg }
