package hook_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/ext/hook"
	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// wireName is the member a payload's field is read from.
var wireName = map[string]string{
	"Restarts": "restarts", "OpID": "op_id", "Strand": "strand", "Messages": "messages", "Tool": "tool", "Arguments": "arguments",
	"SourceIndex": "source_index", "Reason": "reason", "TokensBefore": "tokens_before", "SummarizedMessages": "summarized_messages",
	"RetainedMessages": "retained_messages", "UsageID": "usage_id", "Seq": "seq", "EntryID": "entry_id", "InputTokens": "input_tokens",
	"OutputTokens": "output_tokens", "CacheReadTokens": "cache_read_tokens", "CacheWriteTokens": "cache_write_tokens",
	"CacheWrite1hTokens": "cache_write_1h_tokens", "ThinkingTokens": "thinking_tokens", "TotalTokens": "total_tokens", "Cost": "cost",
}

func FuzzEventPayload(f *testing.F) {
	for _, test := range events {
		f.Add(test.event, []byte(test.args))
		f.Add(test.event, []byte(strings.Replace(test.args, ":", ":null,\"x\":", 1)))
		f.Add(test.event, []byte(strings.Replace(test.args, "1", "1.5", 1)))
		f.Add(test.event, []byte(test.args[:len(test.args)/2]))
	}
	f.Fuzz(func(t *testing.T, event string, args []byte) {
		var r recorder
		h, ok := r.hooks()[event]
		if !ok {
			return
		}
		answer, err := h.Answer(t.Context(), args)
		if err != nil {
			refused(t, r, event, args, answer, err)
			return
		}
		if !json.Valid(answer) {
			t.Fatalf("%s: %q answered %q", event, args, answer)
		}
		var document, answered map[string]json.RawMessage
		if err := json.Unmarshal(args, &document); err != nil {
			t.Fatalf("%s: took %q: %v", event, args, err)
		}
		if err := json.Unmarshal(answer, &answered); err != nil {
			t.Fatal(err)
		}
		// What an indifferent hook hands back is what came.
		switch payload := r.payload.(type) {
		case string:
			sameValue(t, document["op_id"], payload)
		case json.RawMessage:
			if string(payload) != string(document["message"]) || string(answered["message"]) != string(document["message"]) {
				t.Fatalf("%s: %q gave %q and %q", event, args, payload, answer)
			}
		case nil:
			t.Fatalf("%s: %q was answered without the function", event, args)
		default:
			v := reflect.ValueOf(payload)
			for i := range v.NumField() {
				if name, ok := wireName[v.Type().Field(i).Name]; ok {
					if value, there := document[name]; there {
						sameValue(t, value, v.Field(i).Interface())
					} else if name != "restarts" {
						t.Fatalf("%s: took %q without %s", event, args, name)
					}
				}
			}
			if event == "context" {
				var before, after []json.RawMessage
				_ = json.Unmarshal(document["messages"], &before)
				_ = json.Unmarshal(answered["messages"], &after)
				if !reflect.DeepEqual(before, after) {
					t.Fatalf("%q became %q", args, answer)
				}
			}
		}
	})
}

func refused(t *testing.T, r recorder, event string, args, answer []byte, err error) {
	t.Helper()
	if r.payload != nil || answer != nil {
		t.Fatalf("%s: %q was refused (%v) after the function ran", event, args, err)
	}
	var fault *hook.DocumentError
	var syntax *jsontext.SyntaxError
	switch {
	case errors.As(err, &syntax):
		if json.Valid(args) {
			t.Fatalf("%s: %q is JSON, yet %v", event, args, err)
		}
	case errors.As(err, &fault):
		if !json.Valid(args) || fault.Event != event || len(err.Error()) > 200 {
			t.Fatalf("%s: %q: %v", event, args, err)
		}
	default:
		t.Fatalf("%s: %q: an error of type %T: %v", event, args, err, err)
	}
}

// sameValue checks a decoded field against encoding/json's reading of the member.
func sameValue(t *testing.T, member json.RawMessage, got any) {
	t.Helper()
	want := reflect.New(reflect.TypeOf(got))
	if err := json.Unmarshal(member, want.Interface()); err != nil {
		// Integers in another spelling: 1.0 is 1.
		if n, ok := got.(*int64); ok {
			got = *n
		}
		var float float64
		if n, ok := got.(int64); !ok || json.Unmarshal(member, &float) != nil || float != float64(n) {
			t.Fatalf("%s was read as %v", member, got)
		}
		return
	}
	if !reflect.DeepEqual(want.Elem().Interface(), got) {
		t.Fatalf("%s was read as %#v", member, got)
	}
}
