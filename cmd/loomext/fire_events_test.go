package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/prelude/ext/hook"
)

// indifferent are hooks that take every event and change nothing.
func indifferent() map[string]hook.Hook {
	hooks := []hook.Hook{
		hook.OnSessionStart(func(context.Context, hook.SessionStart) error { return nil }),
		hook.OnBeforeAgentStart(func(context.Context, hook.RunStart) (string, error) { return "", nil }),
		hook.OnContext(func(_ context.Context, c hook.Context) ([]json.RawMessage, error) { return c.Messages, nil }),
		hook.OnToolCall(func(context.Context, hook.Call) (hook.Verdict, error) { return hook.Block("no"), nil }),
		hook.OnToolResult(func(_ context.Context, m json.RawMessage) (json.RawMessage, error) { return m, nil }),
		hook.OnAgentEnd(func(context.Context, string) error { return nil }),
		hook.OnAgentSettled(func(context.Context, string) error { return nil }),
		hook.OnBeforeCompact(func(context.Context, hook.Compaction) (string, error) { return "a note", nil }),
		hook.OnUsage(func(context.Context, hook.Usage) error { return nil }),
	}
	all := map[string]hook.Hook{}
	for _, h := range hooks {
		all[h.Event()] = h
	}
	return all
}

// What fire takes and what the prelude takes is the same: the sample, without each of its
// members, and with each of another type or size.
func TestPayloadsAreThoseOfThePrelude(t *testing.T) {
	hooks := indifferent()
	if names := slices.Sorted(maps.Keys(hooks)); !slices.Equal(names, slices.Sorted(slices.Values(eventNames()))) || !slices.Equal(eventNames(), hook.Events()) {
		t.Fatalf("fire knows %v, the prelude %v, this test %v", eventNames(), hook.Events(), names)
	}
	for _, e := range events {
		t.Run(e.name, func(t *testing.T) {
			for _, schema := range []string{e.payload, e.answer} {
				if _, err := manifest.CompileSchema([]byte(schema)); err != nil {
					t.Fatal(err)
				}
			}
			agree := func(payload string) bool {
				t.Helper()
				answer, refusal := hooks[e.name].Answer(t.Context(), []byte(payload))
				faults := e.checkPayload("x", []byte(payload))
				if (refusal == nil) != (faults == nil) {
					t.Errorf("%s: the prelude says %v, fire %v", payload, refusal, faults)
				}
				if refusal == nil {
					if err := e.checkAnswer("x", answer); err != nil {
						t.Errorf("%s: its own answer %s is refused: %v", payload, answer, err)
					}
				}
				return faults == nil
			}
			if !agree(e.sample) || !agree(e.empty()) {
				t.Error("a payload of ours is refused")
			}
			var whole map[string]json.RawMessage
			if err := json.Unmarshal([]byte(e.sample), &whole); err != nil {
				t.Fatal(err)
			}
			for key, value := range whole {
				delete(whole, key)
				if agree(render(t, whole)) {
					t.Errorf("%s is not missed", key)
				}
				for _, other := range []string{`"text"`, `7`, `7.5`, `true`, `null`, `[1]`, `{"a": 1}`,
					`1e3`, `1.0`, `1e-1`, `1e300`, `1e400`, `9223372036854775807`, `9223372036854775808`} {
					whole[key] = json.RawMessage(other)
					agree(render(t, whole))
				}
				whole[key] = value
			}
		})
	}
}

// A number that the prelude cannot hold is the payload's fault, and so is a count below 0, which it could.
func TestNumbersBeyondTheirSize(t *testing.T) {
	for _, c := range []struct{ event, payload string }{
		{"session_start", `{"restarts": %s}`},
		{"tool_call", `{"op_id": "op-1", "tool": "bash", "arguments": {}, "source_index": %s}`},
		{"before_compact", `{"op_id": "op-1", "reason": "threshold", "tokens_before": 1, "summarized_messages": %s, "retained_messages": 6}`},
	} {
		e, _ := eventNamed(c.event)
		for _, n := range []string{"0", "1e18", "9223372036854775807"} {
			if err := e.checkPayload("x", fmt.Appendf(nil, c.payload, n)); err != nil {
				t.Errorf("%s: %s: %v", c.event, n, err)
			}
		}
		for _, n := range []string{"-1", "1.5", "1e19", "1e300", "-1e300", "9223372036854775808", "1e999999999"} {
			if e.checkPayload("x", fmt.Appendf(nil, c.payload, n)) == nil {
				t.Errorf("%s: %s is taken", c.event, n)
			}
		}
	}
}

func render(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, answers := range map[string][]string{
		"tool_call":      {`{}`, `{"verdict": "maybe"}`, `{"verdict": "block"}`, `"allow"`},
		"before_compact": {`{}`, `{"note": 1}`, `[]`},
		"context":        {`{"messages": {}}`},
		"tool_result":    {`{}`},
	} {
		e, _ := eventNamed(name)
		for _, answer := range answers {
			if e.checkAnswer("x", []byte(answer)) == nil {
				t.Errorf("%s: %s was taken", name, answer)
			}
		}
	}
}
