package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/report"
	capruntime "github.com/loomext/loomext/prelude/cap/runtime"
	"github.com/loomext/loomext/prelude/ext"
	"github.com/loomext/loomext/prelude/ext/hook"
	"github.com/loomext/loomext/prelude/ext/runtime"
)

func field(key string, v report.Value) report.Field { return report.Field{Key: key, Value: v} }

// call is a question for a tool, its arguments as JSON text.
func call(name, args string) runtime.Asked {
	return runtime.Asked{
		Invocation: runtime.Invocation{Kind: runtime.Tool, Name: name},
		Args:       report.Map(field("args", report.String(args)), field("strand", report.String("main"))),
		DeadlineMS: 1000,
	}
}

func event(name string, args report.Value) runtime.Asked {
	return runtime.Asked{Invocation: runtime.Invocation{Kind: runtime.Event, Name: name}, Args: args, DeadlineMS: 1000}
}

// show is a value in a form a test can compare.
func show(v report.Value) string {
	if list, ok := v.AsList(); ok {
		out := make([]string, 0, len(list))
		for _, item := range list {
			out = append(out, show(item))
		}
		return "[" + strings.Join(out, " ") + "]"
	}
	if fields, ok := v.AsMap(); ok {
		out := make([]string, 0, len(fields))
		for _, f := range fields {
			out = append(out, f.Key+":"+show(f.Value))
		}
		return "{" + strings.Join(out, " ") + "}"
	}
	if s, ok := v.AsString(); ok {
		return fmt.Sprintf("%q", s)
	}
	if b, ok := v.AsBool(); ok {
		return fmt.Sprint(b)
	}
	return report.TypeName(v)
}

func answers(outcome ext.Outcome, err error) ext.Tool {
	return func(ext.Ctx, json.RawMessage) (ext.Outcome, error) { return outcome, err }
}

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

func TestToolOutcomes(t *testing.T) {
	cases := []struct {
		name string
		tool ext.Tool
		want string
	}{
		{"text", answers(ext.Text("hi"), nil), `{content:[{type:"text" text:"hi"}] terminate:false}`},
		{"json", answers(ext.JSON(map[string]string{"a": "<b>"})), `{content:[{type:"json" json:"{\"a\":\"<b>\"}"}] terminate:false}`},
		{"nothing", answers(ext.Outcome{}, nil), `{content:[] terminate:false}`},
		{"last", answers(ext.Outcome{Terminate: ext.TerminateRun}, nil), `{content:[] terminate:true}`},
		{"several", answers(ext.Outcome{Content: []ext.Content{ext.TextContent{}, ext.JSONContent{Value: json.RawMessage(" 1e3 ")}}}, nil),
			`{content:[{type:"text" text:""} {type:"json" json:" 1e3 "}] terminate:false}`},
		{"bad json", answers(ext.Outcome{Content: []ext.Content{ext.TextContent{}, ext.JSONContent{Value: json.RawMessage(`{"a":`)}}}, nil), "unencodable: content[1]"},
		{"empty json", answers(ext.Outcome{Content: []ext.Content{ext.JSONContent{}}}, nil), "unencodable: content[0]"},
		{"nil block", answers(ext.Outcome{Content: []ext.Content{nil}}, nil), "unencodable: content[0] is a <nil>"},
		{"pointer block", answers(ext.Outcome{Content: []ext.Content{&ext.TextContent{}}}, nil), "unencodable: content[0] is a *ext.TextContent"},
		{"refusal", answers(ext.Outcome{}, ext.Refuse("days is %d", 9)), "refused: days is 9"},
		{"error beats outcome", answers(ext.Text("ignored"), errors.New("no")), "refused: no"},
		{"out of time", answers(ext.Outcome{}, fmt.Errorf("looking it up: %w", context.DeadlineExceeded)), "refused: looking it up: context deadline exceeded"},
		{"empty error", answers(ext.Outcome{}, errors.New("")), "refused: refused, without a reason"},
		{"nil refusal", answers(ext.Outcome{}, (*ext.Refusal)(nil)), "refused: "},
		{"nil error pointer", answers(ext.Outcome{}, (*nilError)(nil)), "refused: refused with a *runtime_test.nilError that has no text"},
		{"no function", nil, `unknown_tool: tool "no function" is in the table without a function; served: `},
	}
	var tools []runtime.NamedTool
	for _, c := range cases {
		tools = append(tools, runtime.NamedTool{Name: c.name, Tool: c.tool})
	}
	for _, c := range cases {
		r := runtime.Answer(tools, nil, call(c.name, "{}"))
		got := show(r.Value)
		if !r.OK {
			got = r.Code + ": " + strings.TrimPrefix(r.Msg, fmt.Sprintf("tool %q: ", c.name))
		}
		if got != c.want && (r.OK || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: got %s; want %s", c.name, got, c.want)
		}
	}
}

func TestArgumentsThatAreNotJSONNeverReachTheTool(t *testing.T) {
	tools := []runtime.NamedTool{{Name: "look", Tool: func(ext.Ctx, json.RawMessage) (ext.Outcome, error) {
		t.Error("the tool was called")
		return ext.Outcome{}, nil
	}}}
	text := report.String("{}")
	for name, args := range map[string]report.Value{
		"no map":         report.String("{}"),
		"nil":            report.Nil(),
		"no args":        report.Map(field("strand", report.String("s"))),
		"bytes":          report.Map(field("args", report.Bytes([]byte("{}")))),
		"a map":          report.Map(field("args", report.Map())),
		"nil args":       report.Map(field("args", report.Nil())),
		"empty":          report.Map(field("args", report.String(""))),
		"half":           report.Map(field("args", report.String(`{"a":1`))),
		"two":            report.Map(field("args", report.String(`{} {}`))),
		"comment":        report.Map(field("args", report.String(`{} // yes`))),
		"nil strand":     report.Map(field("args", text), field("strand", report.Nil())),
		"strand a bytes": report.Map(field("args", text), field("strand", report.Bytes(nil))),
	} {
		asked := call("look", "")
		asked.Args = args
		r := runtime.Answer(tools, nil, asked)
		if r.OK || r.Code != runtime.BadArgumentsCode || !strings.HasPrefix(r.Msg, `tool "look": `) {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func TestAToolGetsTheCallAsItCame(t *testing.T) {
	host := captest.New(t)
	sent := ` {"n": 12345678901234567890, "e": 1e3, "s": "<&>"} `
	var got ext.Ctx
	tools := []runtime.NamedTool{{Name: "look", Tool: func(ctx ext.Ctx, args json.RawMessage) (ext.Outcome, error) {
		got = ctx
		if string(args) != sent || cap(args) != len(args) {
			t.Errorf("got %q with room for %d", args, cap(args))
		}
		ctx.Report("half way")
		return ext.Outcome{}, nil
	}}}
	if r := runtime.Answer(tools, nil, call("look", sent).WithContext(host.Context())); !r.OK {
		t.Fatal(r)
	}
	if got.Strand != "main" || got.DeadlineMS != 1000 {
		t.Errorf("got %+v", got)
	}
	if p := host.Partials(); len(p) != 1 || p[0] != "half way" {
		t.Errorf("partials %q", p)
	}
	bare := call("look", sent)
	bare.Args = report.Map(field("args", report.String(sent)))
	if r := runtime.Answer(tools, nil, bare); !r.OK || got.Strand != "" {
		t.Errorf("without a strand and a channel: %+v, %q", r, got.Strand)
	}
}

func TestAnUnknownToolNamesBothSides(t *testing.T) {
	some := func(ext.Ctx, json.RawMessage) (ext.Outcome, error) { return ext.Outcome{}, nil }
	tools := []runtime.NamedTool{{Name: "b", Tool: some}, {Name: "a", Tool: some}, {Name: "no function"}, {Name: "c", Tool: some}}
	r := runtime.Answer(tools, nil, call("d", "not even JSON"))
	if r.Code != runtime.UnknownToolCode || r.Msg != `no tool "d" is served here; served: "a", "b", "c"` {
		t.Errorf("got %+v", r)
	}
	if r := runtime.Answer(nil, nil, call("d", "{}")); r.Msg != `no tool "d" is served here; served: no tools` {
		t.Errorf("got %+v", r)
	}
}

func TestEvents(t *testing.T) {
	var got hook.Call
	gate := hook.OnToolCall(func(_ context.Context, c hook.Call) (hook.Verdict, error) {
		got = c
		switch c.Tool {
		case "shell":
			return hook.Block("no <shell>"), nil
		case "broken":
			return hook.Verdict{}, nil
		case "error":
			return hook.Allow, errors.New("out of order")
		}
		return hook.Allow, nil
	})
	hooks := []runtime.Declared{
		{Event: "tool_call", Hook: gate},
		{Event: "usage", Hook: gate},
		{Event: "context", Hook: hook.Hook{}},
		{Event: "agent_end", Hook: hook.OnAgentEnd(nil)},
	}
	doc := func(tool string) report.Value {
		return report.String(`{"op_id":"o","tool":"` + tool + `","arguments":{"a":1.0},"source_index":3}`)
	}
	cases := []struct {
		name string
		args report.Value
		want string
	}{
		{"tool_call", doc("read"), `"{\"verdict\":\"allow\"}"`},
		{"tool_call", doc("shell"), `"{\"verdict\":\"block\",\"reason\":\"no <shell>\"}"`},
		{"tool_call", doc("broken"), "refused: "},
		{"tool_call", doc("error"), "refused: out of order"},
		{"tool_call", report.String(`{"op_id":"o","arguments":1,"source_index":0}`), "refused: hook: tool_call: tool: missing"},
		{"tool_call", report.String(`[]`), "refused: hook: tool_call: "},
		{"tool_call", report.String(`{`), `bad_arguments: event "tool_call": `},
		{"tool_call", report.Bytes([]byte(`{}`)), `bad_arguments: event "tool_call": the arguments are bytes`},
		{"tool_call", report.Map(), `bad_arguments: event "tool_call": `},
		{"tool_call", report.Nil(), `bad_arguments: event "tool_call": `},
		{"agent_settled", report.Nil(), `unhandled: this extension has no hook for "agent_settled"`},
		{"no_such_event", report.String("{}"), "unhandled: "},
		{"usage", report.String("{}"), `mismatched_hook: the manifest declares "usage", and the hook compiled for it answers "tool_call"`},
		{"context", report.String("{}"), `mismatched_hook: `},
		{"agent_end", report.String(`{"op_id":"o"}`), `refused: `},
	}
	for _, c := range cases {
		r := runtime.Answer(nil, hooks, event(c.name, c.args))
		text := show(r.Value)
		if !r.OK {
			text = r.Code + ": " + r.Msg
		}
		if r.OK && text != c.want || !r.OK && !strings.HasPrefix(text, c.want) {
			t.Errorf("%s %s: got %s; want %s", c.name, show(c.args), text, c.want)
		}
	}
	if got.OpID != "o" {
		t.Errorf("the hook got %+v", got)
	}
}

func TestACommandIsUnhandled(t *testing.T) {
	tools := []runtime.NamedTool{{Name: "x", Tool: answers(ext.Text("wrong"), nil)}}
	for _, kind := range []capruntime.Kind{runtime.Command, "", "dance"} {
		asked := call("x", "{}")
		asked.Invocation.Kind = kind
		if r := runtime.Answer(tools, nil, asked); r.OK || r.Code != runtime.UnhandledCode {
			t.Errorf("%q: got %+v", kind, r)
		}
	}
}

func TestAToolAndAHookRunUnderTheQuestionsContext(t *testing.T) {
	host := captest.New(t)
	ctx, cancel := context.WithTimeout(host.Context(), time.Hour)
	defer cancel()
	var seen []context.Context
	tools := []runtime.NamedTool{{Name: "x", Tool: func(c ext.Ctx, _ json.RawMessage) (ext.Outcome, error) {
		seen = append(seen, c)
		return ext.Outcome{}, nil
	}}}
	hooks := []runtime.Declared{{Event: "session_start", Hook: hook.OnSessionStart(func(c context.Context, _ hook.SessionStart) error {
		seen = append(seen, c)
		return nil
	})}}
	runtime.Answer(tools, hooks, call("x", "{}").WithContext(ctx))
	runtime.Answer(tools, hooks, event("session_start", report.String("{}")).WithContext(ctx))
	cancel()
	if len(seen) != 2 {
		t.Fatalf("%d calls", len(seen))
	}
	for i, c := range seen {
		if c.Err() != context.Canceled {
			t.Errorf("context %d goes on", i)
		}
	}
}

// Whatever a question holds, Answer gives a reply, and none that the channel could not
// write.
func FuzzAnswer(f *testing.F) {
	f.Add("tool", "echo", `{"a":1}`)
	f.Add("event", "tool_call", `{"op_id":"o","tool":"t","arguments":{},"source_index":0}`)
	f.Add("event", "context", `{"op_id":"o","messages":[1,{"b":1e400}]}`)
	f.Add("command", "x", "")
	tools := []runtime.NamedTool{{Name: "echo", Tool: func(_ ext.Ctx, raw json.RawMessage) (ext.Outcome, error) {
		return ext.Outcome{Content: []ext.Content{ext.JSONContent{Value: raw}, ext.TextContent{Text: string(raw)}}}, nil
	}}}
	hooks := []runtime.Declared{
		{Event: "tool_call", Hook: hook.OnToolCall(func(_ context.Context, c hook.Call) (hook.Verdict, error) { return hook.Block(c.Tool), nil })},
		{Event: "context", Hook: hook.OnContext(func(_ context.Context, c hook.Context) ([]json.RawMessage, error) { return c.Messages, nil })},
	}
	f.Fuzz(func(t *testing.T, kind, name, text string) {
		asked := call(name, text)
		switch kind {
		case "event":
			asked = event(name, report.String(text))
		case "command":
			asked.Invocation.Kind = runtime.Command
		}
		r := runtime.Answer(tools, hooks, asked)
		if r.OK {
			if !json.Valid([]byte(text)) {
				t.Fatalf("%q was taken for JSON", text)
			}
			return
		}
		switch r.Code {
		case runtime.RefusedCode, runtime.UnknownToolCode, runtime.UnhandledCode, runtime.BadArgumentsCode:
		default:
			t.Fatalf("got %+v", r)
		}
		if r.Msg == "" {
			t.Fatalf("%s without a message", r.Code)
		}
	})
}
