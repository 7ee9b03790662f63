// Package hooks answers every event as the event asks.
package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"extension.invalid/probe/self"
	"github.com/loomext/loomext/prelude/ext/hook"
)

// OnSessionStart answers session_start.
func OnSessionStart(_ context.Context, s hook.SessionStart) error {
	self.See(fmt.Sprint("session_start ", s.Restarts))
	return nil
}

// OnBeforeAgentStart answers before_agent_start.
func OnBeforeAgentStart(ctx context.Context, run hook.RunStart) (string, error) {
	verb, argument := self.Asked(run.OpID)
	if verb == "say" {
		return argument, nil
	}
	return "", self.Act(ctx, verb, argument)
}

// OnContext answers context.
func OnContext(ctx context.Context, c hook.Context) ([]json.RawMessage, error) {
	verb, argument := self.Asked(c.OpID)
	switch verb {
	case "add":
		return append(c.Messages, json.RawMessage(argument)), nil
	case "grow": // by so many bytes
		n, err := strconv.Atoi(argument)
		return append(c.Messages, json.RawMessage(`"`+strings.Repeat("x", n)+`"`)), err
	case "clear":
		return nil, nil
	case "reverse":
		slices.Reverse(c.Messages)
	}
	return c.Messages, self.Act(ctx, verb, argument)
}

// OnToolCall answers tool_call.
func OnToolCall(ctx context.Context, call hook.Call) (hook.Verdict, error) {
	verb, argument := self.Asked(call.OpID)
	switch verb {
	case "block":
		return hook.Block(argument), nil
	case "arguments":
		return hook.Block(string(call.Arguments) + " " + call.Tool + " " + fmt.Sprint(call.SourceIndex)), nil
	case "nothing":
		return hook.Verdict{}, nil
	}
	return hook.Allow, self.Act(ctx, verb, argument)
}

// OnToolResult answers tool_result.
func OnToolResult(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	var asked struct {
		Do      string          `json:"do"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(message, &asked); err != nil {
		return message, nil
	}
	verb, argument := self.Asked(asked.Do)
	switch verb {
	case "become":
		return json.RawMessage(argument), nil
	case "append":
		var text string
		if err := json.Unmarshal(asked.Content, &text); err != nil {
			return nil, err
		}
		content, err := json.Marshal(text + argument)
		return json.RawMessage(`{"content":` + string(content) + `,"is_error":true,"id":"forged"}`), err
	}
	return message, self.Act(ctx, verb, argument)
}

// OnAgentEnd answers agent_end.
func OnAgentEnd(ctx context.Context, opID string) error { return told(ctx, "agent_end", opID) }

// OnAgentSettled answers agent_settled.
func OnAgentSettled(ctx context.Context, opID string) error {
	return told(ctx, "agent_settled", opID)
}

func told(ctx context.Context, event, opID string) error {
	self.See(event + " " + opID)
	verb, argument := self.Asked(opID)
	return self.Act(ctx, verb, argument)
}

// OnBeforeCompact answers before_compact.
func OnBeforeCompact(ctx context.Context, c hook.Compaction) (string, error) {
	verb, argument := self.Asked(c.OpID)
	switch verb {
	case "say":
		return argument, nil
	case "payload":
		return fmt.Sprint(c.Reason, " ", c.TokensBefore, " ", c.SummarizedMessages, " ", c.RetainedMessages), nil
	}
	return "", self.Act(ctx, verb, argument)
}

// OnUsage answers usage.
func OnUsage(ctx context.Context, u hook.Usage) error {
	return told(ctx, "usage", fmt.Sprint(u.OpID, " ", u.Seq, " ", u.Cost, " ", u.Origin))
}
