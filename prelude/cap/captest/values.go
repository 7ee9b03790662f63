package captest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/cap/report"
)

func field(key string, v Value) report.Field { return report.Field{Key: key, Value: v} }

// Done is the answer of a call that gives nothing back: fs.write, fs.edit, kv.set,
// kv.delete.
func Done() Value { return report.Map() }

// Response answers net.request.
func Response(status int, headers map[string]string, body []byte) Value {
	return report.Map(
		field("status", report.Int(int64(status))),
		field("headers", report.Strings(headers)),
		field("body", report.Bytes(body)),
	)
}

// Contents answers fs.read.
func Contents(text string) Value { return report.Map(field("contents", report.String(text))) }

// Entries answers fs.list.
func Entries(entries ...fs.Entry) Value {
	list := make([]Value, 0, len(entries))
	for _, e := range entries {
		list = append(list, report.Map(field("name", report.String(e.Name)), field("is_dir", report.Bool(e.IsDir))))
	}
	return report.Map(field("entries", report.List(list...)))
}

// Found answers kv.get with a value.
func Found(value []byte) Value {
	return report.Map(field("found", report.Bool(true)), field("value", report.Bytes(value)))
}

// NotFound answers kv.get without one.
func NotFound() Value {
	return report.Map(field("found", report.Bool(false)), field("value", report.Bytes(nil)))
}

// Exited answers proc.run.
func Exited(exit int, stdout, stderr string) Value {
	return report.Map(
		field("exit", report.Int(int64(exit))),
		field("stdout", report.Bytes([]byte(stdout))),
		field("stderr", report.Bytes([]byte(stderr))),
		field("truncated", report.Bool(false)),
	)
}

// Time answers clock.now.
func Time(t time.Time) Value { return report.Map(field("unix_ns", report.Int(t.UnixNano()))) }

// Random answers rand.bytes.
func Random(b []byte) Value { return report.Map(field("bytes", report.Bytes(b))) }

// Emitted answers report.emit.
func Emitted(id string) Value { return report.Map(field("id", report.String(id))) }

// Answers answers ask.input: for each request an ask.Reply, an ask.Completion or a list
// of ask.Root, or the JSON text of anything else as a string. It panics at what is none
// of these.
func Answers(answers ...any) Value {
	list := make([]Value, 0, len(answers))
	for n, answer := range answers {
		switch a := answer.(type) {
		case string:
			list = append(list, report.String(a))
			continue
		case ask.Completion:
			answer = struct {
				Role string `json:"role"`
				ask.Completion
			}{ask.RoleAssistant, a}
		case []ask.Root:
			answer = map[string]any{"roots": append([]ask.Root{}, a...)} // none is an empty list
		case ask.Reply:
		default:
			panic(fmt.Sprintf("captest: answer %d is a %T; want an ask.Reply, an ask.Completion, a []ask.Root or JSON text as a string", n+1, a))
		}
		text, err := json.Marshal(answer)
		if err != nil {
			panic(fmt.Sprintf("captest: answer %d: %v", n+1, err))
		}
		list = append(list, report.Text(text))
	}
	return report.Map(field("answers", report.List(list...)))
}
