package hookbus_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
)

var call = hookbus.Call{OpID: "op-1", Tool: "shell", Arguments: json.RawMessage(`{"command":"ls -l"}`)}

// BenchmarkGate is a tool call over five extensions of which two are gates, as a multiple
// of one round trip of the same event. The two are taken by turns, and the medians
// compared: other work on the machine comes and goes.
func BenchmarkGate(b *testing.B) {
	s := open(b, config.Config{}, "alpha", "beta", "gamma", "delta", "epsilon")
	bus := over(b, s, hookbus.Options{})
	bus.ToolCall(b.Context(), call)
	document := json.RawMessage(`{"op_id":"op-1","tool":"shell","arguments":{"command":"ls -l"},"source_index":0}`)
	var trips, gates []time.Duration
	for b.Loop() {
		began := time.Now()
		_, err := s.Fire(b.Context(), host.Event{Extension: "alpha", Name: "tool_call", Document: document})
		trips = append(trips, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		v := bus.ToolCall(b.Context(), call)
		gates = append(gates, time.Since(began))
		if !v.Allowed {
			b.Fatal(v)
		}
	}
	trip, gate := median(trips), median(gates)
	b.ReportMetric(float64(trip.Nanoseconds()), "ns/trip")
	b.ReportMetric(float64(gate.Nanoseconds()), "ns/gate")
	b.ReportMetric(float64(gate)/float64(trip), "trips/gate")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkFold hands 2 MB of messages through three extensions, beside three passes of
// encoding/json over the same document.
func BenchmarkFold(b *testing.B) {
	s := open(b, config.Config{}, "alpha", "beta", "gamma")
	bus := over(b, s, hookbus.Options{})
	messages := conversation(2 << 20)
	document, err := json.Marshal(map[string]any{"op_id": "op-1", "messages": messages})
	if err != nil {
		b.Fatal(err)
	}
	bus.Context(b.Context(), "op-1", messages)
	passes := func(b *testing.B, decoded func() any) {
		for b.Loop() {
			for range 3 {
				v := decoded()
				if err := json.Unmarshal(document, v); err != nil {
					b.Fatal(err)
				}
				if _, err := json.Marshal(v); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("three passes", func(b *testing.B) { passes(b, func() any { return new(any) }) })
	b.Run("three passes of raw messages", func(b *testing.B) {
		passes(b, func() any {
			return &struct {
				OpID     string            `json:"op_id"`
				Messages []json.RawMessage `json:"messages"`
			}{}
		})
	})
	for name, op := range map[string]string{"identity": "op-1", "one adds": "beta:add:1", "all add": "all:add:1"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if got := bus.Context(b.Context(), op, messages); len(got) < len(messages) {
					b.Fatal(len(got))
				}
			}
		})
	}
}

// BenchmarkUndeclared is every event where none is declared.
func BenchmarkUndeclared(b *testing.B) {
	bus := over(b, open(b, config.Config{}, "delta", "epsilon"), hookbus.Options{})
	ctx, messages := b.Context(), conversation(1000)
	for name, fire := range map[string]func(){
		"session_start":      func() { bus.SessionStart() },
		"before_agent_start": func() { bus.BeforeAgentStart(ctx, hookbus.RunStart{OpID: "op-1"}) },
		"context":            func() { bus.Context(ctx, "op-1", messages) },
		"tool_call":          func() { bus.ToolCall(ctx, call) },
		"tool_result":        func() { bus.ToolResult(ctx, messages[0]) },
		"agent_end":          func() { bus.AgentEnd("op-1") },
		"agent_settled":      func() { bus.AgentSettled("op-1") },
		"before_compact":     func() { bus.BeforeCompact(ctx, hookbus.Compaction{OpID: "op-1"}) },
		"usage":              func() { bus.Usage(hookbus.Usage{OpID: "op-1"}) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fire()
			}
		})
	}
}

func TestAnUndeclaredEventAllocatesNothing(t *testing.T) {
	bus, _ := on(t, hookbus.Options{}, "delta")
	ctx, messages := t.Context(), conversation(1000)
	if n := testing.AllocsPerRun(100, func() {
		bus.SessionStart()
		bus.BeforeAgentStart(ctx, hookbus.RunStart{OpID: "op-1"})
		bus.Context(ctx, "op-1", messages)
		bus.ToolCall(ctx, call)
		bus.ToolResult(ctx, messages[0])
		bus.AgentEnd("op-1")
		bus.AgentSettled("op-1")
		bus.BeforeCompact(ctx, hookbus.Compaction{OpID: "op-1"})
		bus.Usage(hookbus.Usage{OpID: "op-1"})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
