package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/ext/hook"
	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// recorder makes a hook of every event that keeps the payload it was called with
// and changes nothing.
type recorder struct{ payload any }

func (r *recorder) hooks() map[string]hook.Hook {
	return map[string]hook.Hook{
		"session_start": hook.OnSessionStart(func(_ context.Context, s hook.SessionStart) error { r.payload = s; return nil }),
		"before_agent_start": hook.OnBeforeAgentStart(func(_ context.Context, run hook.RunStart) (string, error) {
			r.payload = run
			return "", nil
		}),
		"context": hook.OnContext(func(_ context.Context, c hook.Context) ([]json.RawMessage, error) {
			r.payload = c
			return c.Messages, nil
		}),
		"tool_call": hook.OnToolCall(func(_ context.Context, call hook.Call) (hook.Verdict, error) {
			r.payload = call
			return hook.Allow, nil
		}),
		"tool_result": hook.OnToolResult(func(_ context.Context, message json.RawMessage) (json.RawMessage, error) {
			r.payload = message
			return message, nil
		}),
		"agent_end":     hook.OnAgentEnd(func(_ context.Context, opID string) error { r.payload = opID; return nil }),
		"agent_settled": hook.OnAgentSettled(func(_ context.Context, opID string) error { r.payload = opID; return nil }),
		"before_compact": hook.OnBeforeCompact(func(_ context.Context, c hook.Compaction) (string, error) {
			r.payload = c
			return "", nil
		}),
		"usage": hook.OnUsage(func(_ context.Context, u hook.Usage) error { r.payload = u; return nil }),
	}
}

// events is a whole document of each event, what it decodes to and what an
// indifferent hook answers.
var events = []struct {
	event, args string
	payload     any
	answer      string
}{
	{"session_start", `{}`, hook.SessionStart{}, `{}`},
	{"session_start", `{"restarts":3}`, hook.SessionStart{Restarts: 3}, `{}`},
	{"before_agent_start", `{"op_id":"op-1","strand":"main"}`, hook.RunStart{OpID: "op-1", Strand: "main"}, `{"inject":null}`},
	{"context", `{"op_id":"op-1","messages":[ {"n": 1.0, "id":1234567890123456789} , 1e3,1,"<é>",null,[ ] ]}`,
		hook.Context{OpID: "op-1", Messages: raws(`{"n": 1.0, "id":1234567890123456789}`, `1e3`, `1`, `"<é>"`, `null`, `[ ]`)},
		`{"messages":[{"n": 1.0, "id":1234567890123456789},1e3,1,"<é>",null,[ ]]}`},
	{"context", `{"op_id":"","messages":[]}`, hook.Context{Messages: raws()}, `{"messages":[]}`},
	{"tool_call", `{"op_id":"op-1","tool":"shell","arguments":{"cmd" : "ls","n":1e3},"source_index":2}`,
		hook.Call{OpID: "op-1", Tool: "shell", Arguments: json.RawMessage(`{"cmd" : "ls","n":1e3}`), SourceIndex: 2}, `{"verdict":"allow"}`},
	{"tool_call", `{"op_id":"op-1","tool":"shell","arguments":null,"source_index":1.0}`,
		hook.Call{OpID: "op-1", Tool: "shell", Arguments: json.RawMessage(`null`), SourceIndex: 1}, `{"verdict":"allow"}`},
	{"tool_result", ` { "message" : {"role":"tool", "n":1.0} } `, json.RawMessage(`{"role":"tool", "n":1.0}`), `{"message":{"role":"tool", "n":1.0}}`},
	{"agent_end", `{"op_id":"op-1","extra":{"a":[1]}}`, "op-1", `{}`},
	{"agent_settled", `{"op_id":"\u00e9"}`, "é", `{}`},
	{"before_compact", `{"op_id":"op-1","reason":"a fourth word","tokens_before":100,"summarized_messages":7,"retained_messages":2}`,
		hook.Compaction{OpID: "op-1", Reason: "a fourth word", TokensBefore: 100, SummarizedMessages: 7, RetainedMessages: 2}, `{"note":null}`},
	{"usage", `{"op_id":"op-1","usage_id":"u","seq":9007199254740993,"entry_id":"e","adjustment":true,"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,` +
		`"cache_write_tokens":4,"cache_write_1h_tokens":5,"thinking_tokens":6,"total_tokens":7,"cost":0.25}`,
		hook.Usage{OpID: "op-1", UsageID: "u", Seq: 9007199254740993, EntryID: new("e"), Origin: hook.Reconciliation, InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3,
			CacheWriteTokens: 4, CacheWrite1hTokens: new(int64(5)), ThinkingTokens: new(int64(6)), TotalTokens: 7, Cost: 0.25}, `{}`},
	{"usage", `{"op_id":"op-1","usage_id":"u","seq":1,"entry_id":null,"adjustment":false,"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,` +
		`"cache_write_tokens":4,"cache_write_1h_tokens":null,"thinking_tokens":null,"total_tokens":7,"cost":3}`,
		hook.Usage{OpID: "op-1", UsageID: "u", Seq: 1, Origin: hook.ProviderReported, InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3,
			CacheWriteTokens: 4, TotalTokens: 7, Cost: 3}, `{}`},
}

func raws(texts ...string) []json.RawMessage {
	list := []json.RawMessage{}
	for _, text := range texts {
		list = append(list, json.RawMessage(text))
	}
	return list
}

func TestEveryEventIsDecodedAndAnswered(t *testing.T) {
	var r recorder
	hooks := r.hooks()
	if len(hooks) != len(hook.Events()) {
		t.Errorf("%d events, %d hooks", len(hook.Events()), len(hooks))
	}
	for _, name := range hook.Events() {
		if h, ok := hooks[name]; !ok || h.Event() != name || !hook.IsEvent(name) {
			t.Errorf("%s: the hook answers %q", name, h.Event())
		}
	}
	if hook.IsEvent("tool_called") || hook.IsEvent("") {
		t.Error("there is an event too many")
	}
	for _, test := range events {
		r.payload = nil
		answer, err := hooks[test.event].Answer(t.Context(), []byte(test.args))
		if err != nil || string(answer) != test.answer {
			t.Errorf("%s: answer %s, %v; want %s", test.event, answer, err, test.answer)
		}
		if !reflect.DeepEqual(r.payload, test.payload) {
			t.Errorf("%s: payload %+v; want %+v", test.event, r.payload, test.payload)
		}
	}
}

func TestEventsIsACopy(t *testing.T) {
	hook.Events()[0] = "changed"
	if hook.Events()[0] != "session_start" {
		t.Error("a caller changed the list of events")
	}
}

// Every field of every event, taken out, mistyped or given twice, is named.
func TestADocumentThatLacksAFieldIsRefusedByName(t *testing.T) {
	var r recorder
	hooks := r.hooks()
	refused := func(event, args, field, says string) {
		t.Helper()
		r.payload = nil
		_, err := hooks[event].Answer(t.Context(), []byte(args))
		var fault *hook.DocumentError
		if !errors.As(err, &fault) || fault.Event != event || fault.Field != field || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %s: %v; want field %q and %q", event, args, err, field, says)
		} else if !strings.Contains(err.Error(), event) || !strings.Contains(err.Error(), field) {
			t.Errorf("%q does not name %s and %s", err, event, field)
		}
		if r.payload != nil {
			t.Errorf("%s: %s reached the function", event, args)
		}
	}
	fields := 0
	for _, test := range events {
		var document map[string]json.RawMessage
		if err := json.Unmarshal([]byte(test.args), &document); err != nil {
			t.Fatal(err)
		}
		for field, value := range document {
			if field == "extra" {
				continue
			}
			fields++
			with := func(value string) string {
				changed := map[string]json.RawMessage{}
				for name, old := range document {
					changed[name] = old
				}
				if delete(changed, field); value != "" {
					changed[field] = json.RawMessage(value)
				}
				text, err := json.Marshal(changed)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			if field != "restarts" {
				refused(test.event, with(""), field, "missing")
			}
			twice := strings.TrimSpace(test.args)
			refused(test.event, strings.TrimSuffix(twice, "}")+fmt.Sprintf(",%q:%s}", field, value), field, "given twice")
			if field != "arguments" && field != "message" {
				refused(test.event, with(`{"a":1}`), field, "got object")
			}
			switch field {
			case "arguments", "message", "entry_id", "cache_write_1h_tokens", "thinking_tokens":
			default:
				refused(test.event, with(`null`), field, "got null")
			}
			if value[0] >= '0' && value[0] <= '9' && field != "cost" {
				refused(test.event, with(`1.5`), field, "expected integer of 64 bits, got 1.5")
				refused(test.event, with(`9223372036854775808`), field, "got 9223372036854775808")
				refused(test.event, with(`"1"`), field, "expected integer, got string")
			}
			if value[0] == '"' {
				refused(test.event, with(`"\ud800"`), field, "not Unicode text")
				refused(test.event, with(`7`), field, "expected string, got number")
			}
		}
		for _, args := range []string{`[]`, `null`, `"x"`, ` 7`, `true`} {
			refused(test.event, args, "", "expected object, got ")
		}
	}
	if fields < 30 {
		t.Errorf("only %d fields were tried", fields)
	}
	refused("usage", strings.Replace(events[len(events)-1].args, `"cost":3`, `"cost":1e400`, 1), "cost", "out of range")
	refused("usage", strings.Replace(events[len(events)-1].args, `"cost":3`, `"cost":"3"`, 1), "cost", "expected number, got string")
	refused("usage", strings.Replace(events[len(events)-1].args, `"seq":1`, `"seq":`+strings.Repeat("9", 1<<16), 1), "seq", strings.Repeat("9", 40)+"…")
	refused("context", `{"OP_ID":"x","messages":[]}`, "op_id", "missing")
}

func TestTextThatIsNoJSONIsASyntaxError(t *testing.T) {
	var r recorder
	for event, h := range r.hooks() {
		for _, args := range []string{``, `{`, `{"op_id":"x"`, `{"op_id":"x"} {}`, `{'op_id':1}`, "\xff", strings.Repeat("[", 1<<20)} {
			var syntax *jsontext.SyntaxError
			if _, err := h.Answer(t.Context(), []byte(args)); !errors.As(err, &syntax) || !strings.Contains(err.Error(), event) {
				t.Errorf("%s: %.20q: %v", event, args, err)
			}
		}
	}
	if r.payload != nil {
		t.Error("a function was called")
	}
}

func TestHooksThatCannotAnswerSaySo(t *testing.T) {
	for event, h := range map[string]hook.Hook{
		"session_start": hook.OnSessionStart(nil), "before_agent_start": hook.OnBeforeAgentStart(nil), "context": hook.OnContext(nil),
		"tool_call": hook.OnToolCall(nil), "tool_result": hook.OnToolResult(nil), "agent_end": hook.OnAgentEnd(nil),
		"agent_settled": hook.OnAgentSettled(nil), "before_compact": hook.OnBeforeCompact(nil), "usage": hook.OnUsage(nil),
	} {
		answer, err := h.Answer(t.Context(), []byte(`{}`))
		if h.Event() != event || answer != nil || err == nil || !strings.Contains(err.Error(), event) || !strings.Contains(err.Error(), "nil") {
			t.Errorf("%s: %s, %v", event, answer, err)
		}
	}
	if _, err := (hook.Hook{}).Answer(t.Context(), []byte(`{}`)); err == nil || (hook.Hook{}).Event() != "" {
		t.Errorf("the zero Hook: %v", err)
	}
}

func TestAFunctionsErrorComesBackAsItIs(t *testing.T) {
	fault := errors.New("no")
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "carried")
	h := hook.OnToolCall(func(ctx context.Context, _ hook.Call) (hook.Verdict, error) {
		if ctx.Value(key{}) != "carried" {
			t.Error("the context is another")
		}
		return hook.Allow, fault
	})
	if answer, err := h.Answer(ctx, []byte(`{"op_id":"o","tool":"t","arguments":1,"source_index":0}`)); err != fault || answer != nil {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestVerdicts(t *testing.T) {
	gate := func(v hook.Verdict) (string, error) {
		h := hook.OnToolCall(func(context.Context, hook.Call) (hook.Verdict, error) { return v, nil })
		answer, err := h.Answer(t.Context(), []byte(`{"op_id":"o","tool":"t","arguments":1,"source_index":0}`))
		return string(answer), err
	}
	for v, want := range map[hook.Verdict]string{
		hook.Allow:                     `{"verdict":"allow"}`,
		hook.Block("no <shell> \"x\""): `{"verdict":"block","reason":"no <shell> \"x\""}`,
		hook.Block(""):                 `{"verdict":"block","reason":""}`,
		hook.Block("\xff"):             `{"verdict":"block","reason":"` + "\ufffd" + `"}`,
	} {
		if got, err := gate(v); err != nil || got != want {
			t.Errorf("%+v: %s, %v; want %s", v, got, err, want)
		}
	}
	if got, err := gate(hook.Verdict{}); err == nil || got != "" || !strings.Contains(err.Error(), "no verdict") {
		t.Errorf("the zero Verdict: %s, %v", got, err)
	}
	same := hook.Block(strings.ToLower("A"))
	if hook.Block("a") != same || hook.Block("b") == same || hook.Block("") == hook.Allow {
		t.Error("verdicts do not compare")
	}
}

func TestAddedTextIsTextOrNull(t *testing.T) {
	for text, want := range map[string]string{"": `null`, "a": `"a"`, "<b>\n\"": `"<b>\n\""`} {
		start := hook.OnBeforeAgentStart(func(context.Context, hook.RunStart) (string, error) { return text, nil })
		if got, err := start.Answer(t.Context(), []byte(`{"op_id":"o","strand":"s"}`)); err != nil || string(got) != `{"inject":`+want+`}` {
			t.Errorf("%q: %s, %v", text, got, err)
		}
		compact := hook.OnBeforeCompact(func(context.Context, hook.Compaction) (string, error) { return text, nil })
		args := `{"op_id":"o","reason":"threshold","tokens_before":1,"summarized_messages":1,"retained_messages":1}`
		if got, err := compact.Answer(t.Context(), []byte(args)); err != nil || string(got) != `{"note":`+want+`}` {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

func TestMessagesThatAreNoJSONAreNotSent(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, bad := range []string{``, ` `, `{`, `1],[2`, `1,2`, `{"a":1}}`, `nul`, nested(jsontext.MaxDepth - 1)} {
		all := hook.OnContext(func(context.Context, hook.Context) ([]json.RawMessage, error) { return raws(`1`, bad), nil })
		answer, err := all.Answer(t.Context(), []byte(`{"op_id":"o","messages":[]}`))
		if err == nil || answer != nil || !strings.Contains(err.Error(), "context") || !strings.Contains(err.Error(), "messages[1]") {
			t.Errorf("context: %.20q became %.60s, %v", bad, answer, err)
		}
	}
	for _, bad := range []string{``, `{`, `1,"x":2`, `1}{`, nested(jsontext.MaxDepth)} {
		one := hook.OnToolResult(func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(bad), nil })
		answer, err := one.Answer(t.Context(), []byte(`{"message":1}`))
		if err == nil || answer != nil || !strings.Contains(err.Error(), "tool_result") {
			t.Errorf("tool_result: %.20q became %.60s, %v", bad, answer, err)
		}
	}
	deep := hook.OnContext(func(context.Context, hook.Context) ([]json.RawMessage, error) {
		return raws(nested(jsontext.MaxDepth - 2)), nil
	})
	if answer, err := deep.Answer(t.Context(), []byte(`{"op_id":"o","messages":[]}`)); err != nil || !json.Valid(answer) {
		t.Errorf("as deep as there is room: %v", err)
	}
	none := hook.OnContext(func(context.Context, hook.Context) ([]json.RawMessage, error) { return nil, nil })
	if answer, err := none.Answer(t.Context(), []byte(`{"op_id":"o","messages":[1]}`)); err != nil || string(answer) != `{"messages":[]}` {
		t.Errorf("no messages: %s, %v", answer, err)
	}
}

// A hook that appends to one message must not write over the next.
func TestMessagesHaveNoSpareCapacity(t *testing.T) {
	h := hook.OnContext(func(_ context.Context, c hook.Context) ([]json.RawMessage, error) {
		_ = append(c.Messages[0], "XXXXX"...)
		return c.Messages, nil
	})
	if answer, err := h.Answer(t.Context(), []byte(`{"op_id":"o","messages":[1,22222,3]}`)); err != nil || string(answer) != `{"messages":[1,22222,3]}` {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestUsageOriginNames(t *testing.T) {
	if hook.ProviderReported.String() != "ProviderReported" || hook.Reconciliation.String() != "Reconciliation" || hook.UsageOrigin(math.MaxUint8).String() != "UsageOrigin(255)" {
		t.Error("the names are wrong")
	}
}
