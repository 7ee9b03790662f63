package hook_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loomext/loomext/prelude/ext/hook"
)

// OnToolCall is what the entry package of a tool_call hook exports.
func OnToolCall(_ context.Context, call hook.Call) (hook.Verdict, error) {
	if call.Tool == "shell" {
		return hook.Block("no shell here; use the file tools"), nil
	}
	return hook.Allow, nil
}

// A gate is a function; a test calls it directly. Answer runs it on the event's
// document, as a satellite does.
func ExampleOnToolCall() {
	verdict, _ := OnToolCall(context.Background(), hook.Call{Tool: "read"})
	fmt.Println(verdict == hook.Allow)

	gate := hook.OnToolCall(OnToolCall)
	answer, err := gate.Answer(context.Background(), []byte(`{"op_id": "op-1", "tool": "shell", "arguments": {}, "source_index": 0}`))
	fmt.Println(string(answer), err)
	_, err = gate.Answer(context.Background(), []byte(`{"op_id": "op-1", "tool": "shell", "arguments": {}}`))
	fmt.Println(err)
	// Output:
	// true
	// {"verdict":"block","reason":"no shell here; use the file tools"} <nil>
	// hook: tool_call: source_index: missing
}

// A message that is not touched goes back byte for byte. One that is decoded to
// be changed keeps its numbers when its members stay json.RawMessage.
func ExampleRendered() {
	redact := hook.OnToolResult(func(_ context.Context, message json.RawMessage) (json.RawMessage, error) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(message, &fields) != nil || fields["secret"] == nil {
			return message, nil
		}
		fields["secret"] = json.RawMessage(`"<redacted>"`)
		return hook.Rendered(fields)
	})
	for _, message := range []string{`{"message": {"n" : 1.0}}`, `{"message": {"secret": "x", "id": 1234567890123456789, "n": 1.0}}`} {
		answer, err := redact.Answer(context.Background(), []byte(message))
		fmt.Println(string(answer), err)
	}
	// Output:
	// {"message":{"n" : 1.0}} <nil>
	// {"message":{"id":1234567890123456789,"n":1.0,"secret":"<redacted>"}} <nil>
}
