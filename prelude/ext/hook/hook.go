// Package hook is what an extension's author writes hooks against: functions that
// a harness calls at moments of an agent's life. There are nine events, each with
// a payload type of its own and a function named after it: a hook's entry package
// exports OnToolCall for the event tool_call.
//
//	func OnToolCall(ctx context.Context, call hook.Call) (hook.Verdict, error) {
//		if call.Tool == "shell" {
//			return hook.Block("no shell here; use the file tools"), nil
//		}
//		return hook.Allow, nil
//	}
//
// Some events are only told (session_start, agent_end, agent_settled, usage),
// some take text to add (before_agent_start, before_compact), one is a gate
// (tool_call), and two take back what they hand over (context, tool_result).
//
// Conversation messages are opaque JSON. A hook reads in them what it came for
// and gives the rest back as it came, number for number: an untouched
// json.RawMessage travels byte for byte, and [Rendered] turns a decoded one back.
//
// The functions of this package that are named after events pair a function with
// its event; the generated main program calls them, so that a function of another
// event's type does not compile. This package knows no channel and starts
// nothing: [Hook.Answer] is a document in and a document out.
package hook

import (
	"context"
	"fmt"
	"slices"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// Events is every event there is, in the order of an agent's life. It is a copy.
func Events() []string { return slices.Clone(events) }

// IsEvent reports whether name is an event.
func IsEvent(name string) bool { return slices.Contains(events, name) }

var events = []string{
	sessionStart, beforeAgentStart, contextEvent, toolCall, toolResult,
	agentEnd, agentSettled, beforeCompact, usage,
}

const (
	sessionStart     = "session_start"
	beforeAgentStart = "before_agent_start"
	contextEvent     = "context"
	toolCall         = "tool_call"
	toolResult       = "tool_result"
	agentEnd         = "agent_end"
	agentSettled     = "agent_settled"
	beforeCompact    = "before_compact"
	usage            = "usage"
)

// Hook is a function and the event it answers. The zero Hook answers none.
type Hook struct {
	event  string
	answer func(context.Context, *document) ([]byte, error)
}

// Event is the name of the event the hook answers.
func (h Hook) Event() string { return h.event }

// Answer runs the hook once: args is the event's JSON document, and so is what it
// gives. Members that the event does not know are ignored.
//
// Text that is no JSON is an error that wraps a syntax error of the prelude's
// scanner; a document without what the event needs is a *[DocumentError]. Either
// way the function is not called. An error of the function comes back as it is.
func (h Hook) Answer(ctx context.Context, args []byte) ([]byte, error) {
	if h.event == "" {
		return nil, fmt.Errorf("hook: this hook answers no event; make one with OnToolCall or its like")
	}
	if h.answer == nil {
		return nil, fmt.Errorf("hook: %s: the extension's function is nil", h.event)
	}
	d, err := read(h.event, args)
	if err != nil {
		return nil, err
	}
	return h.answer(ctx, d)
}

// on pairs a function with its event, the payload it takes and the document its
// answer becomes.
func on[P, R any](event string, fn func(context.Context, P) (R, error),
	payload func(*document) P, render func(R) ([]byte, error)) Hook {
	if fn == nil {
		return Hook{event: event}
	}
	return Hook{event, func(ctx context.Context, d *document) ([]byte, error) {
		p := payload(d)
		if d.fault != nil {
			return nil, d.fault
		}
		answer, err := fn(ctx, p)
		if err != nil {
			return nil, err
		}
		return render(answer)
	}}
}

// told is on for an event whose answer is ignored.
func told[P any](event string, fn func(context.Context, P) error, payload func(*document) P) Hook {
	if fn == nil {
		return Hook{event: event}
	}
	return on(event, func(ctx context.Context, p P) (struct{}, error) { return struct{}{}, fn(ctx, p) },
		payload, func(struct{}) ([]byte, error) { return []byte("{}"), nil })
}

// textOrNull renders {"name": text}, where an empty text is null.
func textOrNull(name string) func(string) ([]byte, error) {
	return func(text string) ([]byte, error) {
		document := append(jsontext.AppendString([]byte("{"), name), ':')
		if text == "" {
			return append(document, "null}"...), nil
		}
		return append(jsontext.AppendString(document, text), '}'), nil
	}
}
