package hook

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// SessionStart is the payload of session_start: a satellite was launched.
type SessionStart struct {
	Restarts int64 // how often it had to be launched again in this session
}

// OnSessionStart answers session_start.
func OnSessionStart(fn func(context.Context, SessionStart) error) Hook {
	return told(sessionStart, fn, func(d *document) SessionStart {
		if !d.has("restarts") {
			return SessionStart{}
		}
		return SessionStart{Restarts: d.integer("restarts")}
	})
}

// RunStart is the payload of before_agent_start: a run is about to begin.
type RunStart struct {
	OpID   string // names the run; opaque
	Strand string // names the line of conversation; opaque
}

// OnBeforeAgentStart answers before_agent_start. The function's text is added to
// what the run begins with; an empty one adds nothing.
func OnBeforeAgentStart(fn func(context.Context, RunStart) (inject string, err error)) Hook {
	return on(beforeAgentStart, fn, func(d *document) RunStart {
		return RunStart{OpID: d.text("op_id"), Strand: d.text("strand")}
	}, textOrNull("inject"))
}

// Context is the payload of context: the conversation about to go to the model.
type Context struct {
	OpID     string
	Messages []json.RawMessage // each one opaque
}

// OnContext answers context. The function gives the messages that go to the
// model instead; to change nothing it gives back what it got.
func OnContext(fn func(context.Context, Context) ([]json.RawMessage, error)) Hook {
	return on(contextEvent, fn, func(d *document) Context {
		return Context{OpID: d.text("op_id"), Messages: d.list("messages")}
	}, func(messages []json.RawMessage) ([]byte, error) {
		size := len(`{"messages":[]}`)
		for i, message := range messages {
			if err := checkMessage(contextEvent, fmt.Sprintf("messages[%d]", i), message, 2); err != nil {
				return nil, err
			}
			size += len(message) + 1
		}
		document := append(make([]byte, 0, size), `{"messages":[`...)
		for i, message := range messages {
			if i > 0 {
				document = append(document, ',')
			}
			document = append(document, message...)
		}
		return append(document, "]}"...), nil
	})
}

// Call is the payload of tool_call: the model called a tool that has not run.
type Call struct {
	OpID        string
	Tool        string
	Arguments   json.RawMessage // the model's, whatever JSON they are
	SourceIndex int64           // the call's place among the calls of its message
}

// OnToolCall answers tool_call.
func OnToolCall(fn func(context.Context, Call) (Verdict, error)) Hook {
	return on(toolCall, fn, func(d *document) Call {
		return Call{
			OpID:        d.text("op_id"),
			Tool:        d.text("tool"),
			Arguments:   d.raw("arguments"),
			SourceIndex: d.integer("source_index"),
		}
	}, Verdict.render)
}

// OnToolResult answers tool_result: a tool has answered, and the function gives
// the message that the model reads instead; to change nothing, the one it got.
func OnToolResult(fn func(context.Context, json.RawMessage) (json.RawMessage, error)) Hook {
	return on(toolResult, fn, func(d *document) json.RawMessage {
		return d.raw("message")
	}, func(message json.RawMessage) ([]byte, error) {
		if err := checkMessage(toolResult, "message", message, 1); err != nil {
			return nil, err
		}
		document := append(make([]byte, 0, len(message)+len(`{"message":}`)), `{"message":`...)
		return append(append(document, message...), '}'), nil
	})
}

// OnAgentEnd answers agent_end: a run has ended. It gets the run's op id.
func OnAgentEnd(fn func(ctx context.Context, opID string) error) Hook {
	return told(agentEnd, fn, opID)
}

// OnAgentSettled answers agent_settled: a run has ended and nothing of it is
// still going on. It gets the run's op id.
func OnAgentSettled(fn func(ctx context.Context, opID string) error) Hook {
	return told(agentSettled, fn, opID)
}

func opID(d *document) string { return d.text("op_id") }

// Compaction is the payload of before_compact: older messages are about to be
// replaced by a summary.
type Compaction struct {
	OpID               string
	Reason             string // such as "threshold", "overflow", "requested"; there may be others
	TokensBefore       int64  // of the whole conversation
	SummarizedMessages int64  // how many the summary replaces
	RetainedMessages   int64  // how many stay
}

// OnBeforeCompact answers before_compact. The function's text is put before
// whoever writes the summary; an empty one adds nothing. It cannot stop the
// compaction.
func OnBeforeCompact(fn func(context.Context, Compaction) (note string, err error)) Hook {
	return on(beforeCompact, fn, func(d *document) Compaction {
		return Compaction{
			OpID:               d.text("op_id"),
			Reason:             d.text("reason"),
			TokensBefore:       d.integer("tokens_before"),
			SummarizedMessages: d.integer("summarized_messages"),
			RetainedMessages:   d.integer("retained_messages"),
		}
	}, textOrNull("note"))
}

// UsageOrigin says where a row of usage comes from.
type UsageOrigin uint8

const (
	ProviderReported UsageOrigin = iota // the provider counted it with its response
	Reconciliation                      // it corrects rows that came before
)

// String is the constant's name.
func (o UsageOrigin) String() string {
	switch o {
	case ProviderReported:
		return "ProviderReported"
	case Reconciliation:
		return "Reconciliation"
	default:
		return fmt.Sprintf("UsageOrigin(%d)", uint8(o))
	}
}

// Usage is the payload of usage: a row of the cost ledger, already written. What
// the provider does not count is nil.
type Usage struct {
	OpID               string
	UsageID            string
	Seq                int64   // the row's number in the ledger
	EntryID            *string // the conversation entry it belongs to; nil where there is none
	Origin             UsageOrigin
	InputTokens        int64
	OutputTokens       int64
	CacheReadTokens    int64
	CacheWriteTokens   int64
	CacheWrite1hTokens *int64
	ThinkingTokens     *int64
	TotalTokens        int64
	Cost               float64
}

// OnUsage answers usage.
func OnUsage(fn func(context.Context, Usage) error) Hook {
	return told(usage, fn, func(d *document) Usage {
		u := Usage{
			OpID:               d.text("op_id"),
			UsageID:            d.text("usage_id"),
			Seq:                d.integer("seq"),
			EntryID:            orNull(d, "entry_id", d.text),
			InputTokens:        d.integer("input_tokens"),
			OutputTokens:       d.integer("output_tokens"),
			CacheReadTokens:    d.integer("cache_read_tokens"),
			CacheWriteTokens:   d.integer("cache_write_tokens"),
			CacheWrite1hTokens: orNull(d, "cache_write_1h_tokens", d.integer),
			ThinkingTokens:     orNull(d, "thinking_tokens", d.integer),
			TotalTokens:        d.integer("total_tokens"),
			Cost:               d.number("cost"),
		}
		if d.boolean("adjustment") {
			u.Origin = Reconciliation
		}
		return u
	})
}

// checkMessage says whether a function's answer can stand in the document, as
// deep inside it as given.
func checkMessage(event, place string, message json.RawMessage, inside int) error {
	if jsontext.ValidWithin(message, jsontext.MaxDepth-inside) {
		return nil
	}
	reason := "it nests too deeply"
	if err := jsontext.Check(message); err != nil {
		reason = err.Error()
	}
	return fmt.Errorf("hook: %s: the extension gave a %s that cannot be sent: %s; give back what came, or what hook.Rendered makes", event, place, reason)
}
