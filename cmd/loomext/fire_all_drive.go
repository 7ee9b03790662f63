package main

import (
	"context"
	"encoding/json"

	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/manifest"
)

// noFaults is a list for JSON.
var noFaults = []manifest.SchemaFault{}

// drive fires one event with one payload over a bus, and says what a harness gets.
type drive func(ctx context.Context, bus *hookbus.Bus, out *fireAllOutcome)

// driven reads a payload for its event's method.
func driven(e event, payload []byte) (drive, error) {
	if err := e.checkPayload(allExtensions, payload); err != nil {
		return nil, err
	}
	switch e.name {
	case "session_start":
		return func(_ context.Context, bus *hookbus.Bus, _ *fireAllOutcome) { bus.SessionStart() }, nil
	case "before_agent_start":
		return reading(e, payload, func(ctx context.Context, bus *hookbus.Bus, r hookbus.RunStart, out *fireAllOutcome) {
			for _, i := range bus.BeforeAgentStart(ctx, r) {
				out.Injections = append(out.Injections, fireText(i))
			}
		})
	case "context":
		return reading(e, payload, func(ctx context.Context, bus *hookbus.Bus, p conversation, out *fireAllOutcome) {
			out.Messages = append(out.Messages, bus.Context(ctx, p.OpID, p.Messages)...)
		})
	case "tool_call":
		return reading(e, payload, func(ctx context.Context, bus *hookbus.Bus, p toolCall, out *fireAllOutcome) {
			v := bus.ToolCall(ctx, hookbus.Call(p))
			out.Verdict = &fireVerdict{Allowed: v.Allowed, By: v.By, Reason: v.Reason, Reply: v.Reply()}
		})
	case "tool_result":
		return reading(e, payload, func(ctx context.Context, bus *hookbus.Bus, p toolResult, out *fireAllOutcome) {
			out.Message = bus.ToolResult(ctx, p.Message)
		})
	case "agent_end":
		return reading(e, payload, func(_ context.Context, bus *hookbus.Bus, p operation, _ *fireAllOutcome) { bus.AgentEnd(p.OpID) })
	case "agent_settled":
		return reading(e, payload, func(_ context.Context, bus *hookbus.Bus, p operation, _ *fireAllOutcome) { bus.AgentSettled(p.OpID) })
	case "before_compact":
		return reading(e, payload, func(ctx context.Context, bus *hookbus.Bus, p hookbus.Compaction, out *fireAllOutcome) {
			for _, n := range bus.BeforeCompact(ctx, p) {
				out.Notes = append(out.Notes, fireText(n))
			}
		})
	case "usage":
		return reading(e, payload, func(_ context.Context, bus *hookbus.Bus, p hookbus.Usage, _ *fireAllOutcome) { bus.Usage(p) })
	}
	return nil, usagef("there is no way to fire %s at all extensions; name one", e.name)
}

// The payloads that the bus takes in parts.
type (
	operation struct {
		OpID string `json:"op_id"`
	}
	conversation struct {
		OpID     string            `json:"op_id"`
		Messages []json.RawMessage `json:"messages"`
	}
	toolCall struct {
		OpID        string          `json:"op_id"`
		Tool        string          `json:"tool"`
		Arguments   json.RawMessage `json:"arguments"`
		SourceIndex int             `json:"source_index"`
	}
	toolResult struct {
		Message json.RawMessage `json:"message"`
	}
)

// reading decodes a payload that fits its event. What can still be wrong is a number: a
// schema takes 1.0 and 1e3 for whole ones.
func reading[P any](e event, payload []byte, fire func(context.Context, *hookbus.Bus, P, *fireAllOutcome)) (drive, error) {
	var p P
	if err := json.Unmarshal(payload, &p); err != nil {
		return nil, &host.Error{
			Kind: host.Arguments, Extension: allExtensions, Target: e.name, Code: wire.CodeBadArguments, Msg: payloadMisfit,
			Faults: []manifest.SchemaFault{{Msg: err.Error() + "; write a whole number without a point and without an exponent"}},
		}
	}
	return func(ctx context.Context, bus *hookbus.Bus, out *fireAllOutcome) { fire(ctx, bus, p, out) }, nil
}
