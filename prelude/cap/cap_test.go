package cap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/clock"
	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/cap/net"
	"github.com/loomext/loomext/prelude/cap/proc"
	"github.com/loomext/loomext/prelude/cap/rand"
	"github.com/loomext/loomext/prelude/cap/report"
)

type row struct {
	name string
	call func(context.Context) (any, error)
	cap  string
	args string       // the arguments as they travel
	good report.Value // an answer of the promised shape
	want any
	typ  any // a pointer to the package's own error pointer
	says string
}

func field(key string, v report.Value) report.Field { return report.Field{Key: key, Value: v} }

var rows = []row{
	{
		name: "net.Fetch",
		call: func(ctx context.Context) (any, error) { return net.Fetch(ctx, "https://a.example/x") },
		cap:  "net.request",
		args: `{body:0x headers:{} method:"GET" url:"https://a.example/x"}`,
		good: captest.Response(404, map[string]string{"Content-Type": "text/plain"}, []byte("no")),
		want: net.Response{Status: 404, Headers: map[string]string{"Content-Type": "text/plain"}, Body: []byte("no")},
		typ:  new(*net.Error), says: `net: GET "https://a.example/x": `,
	},
	{
		name: "net.Do",
		call: func(ctx context.Context) (any, error) {
			return net.Do(ctx, net.Request{Method: "POST", URL: "https://a.example", Headers: map[string]string{"A": "b"}, Body: []byte{1}})
		},
		cap:  "net.request",
		args: `{body:0x01 headers:{A:"b"} method:"POST" url:"https://a.example"}`,
		good: captest.Response(200, nil, nil),
		want: net.Response{Status: 200, Headers: map[string]string{}, Body: []byte{}},
		typ:  new(*net.Error), says: `net: POST "https://a.example": `,
	},
	{
		name: "fs.Read",
		call: func(ctx context.Context) (any, error) { return fs.Read(ctx, "a/b") },
		cap:  "fs.read",
		args: `{path:"a/b"}`,
		good: captest.Contents("text"),
		want: "text",
		typ:  new(*fs.Error), says: `fs: read "a/b": `,
	},
	{
		name: "fs.Write",
		call: func(ctx context.Context) (any, error) { return nil, fs.Write(ctx, "a", "b") },
		cap:  "fs.write",
		args: `{contents:"b" path:"a"}`,
		good: captest.Done(),
		typ:  new(*fs.Error), says: `fs: write "a": `,
	},
	{
		name: "fs.List",
		call: func(ctx context.Context) (any, error) { return fs.List(ctx, "d") },
		cap:  "fs.list",
		args: `{path:"d"}`,
		good: captest.Entries(fs.Entry{Name: "x"}, fs.Entry{Name: "y", IsDir: true}),
		want: []fs.Entry{{Name: "x"}, {Name: "y", IsDir: true}},
		typ:  new(*fs.Error), says: `fs: list "d": `,
	},
	{
		name: "fs.Edit",
		call: func(ctx context.Context) (any, error) {
			return nil, fs.Edit(ctx, "a", []fs.Replacement{{Find: "x", ReplaceWith: "y"}})
		},
		cap:  "fs.edit",
		args: `{edits:[{find:"x" replace_with:"y"}] path:"a"}`,
		good: captest.Done(),
		typ:  new(*fs.Error), says: `fs: edit "a": `,
	},
	{
		name: "kv.Get found",
		call: func(ctx context.Context) (any, error) { return got(kv.Get(ctx, "k")) },
		cap:  "kv.get",
		args: `{key:"k"}`,
		good: captest.Found([]byte{7}),
		want: "[7] true",
		typ:  new(*kv.Error), says: `kv: get "k": `,
	},
	{
		name: "kv.Get not found",
		call: func(ctx context.Context) (any, error) { return got(kv.Get(ctx, "k")) },
		cap:  "kv.get",
		args: `{key:"k"}`,
		good: captest.NotFound(),
		want: "[] false",
		typ:  new(*kv.Error), says: `kv: get "k": `,
	},
	{
		name: "kv.Set",
		call: func(ctx context.Context) (any, error) { return nil, kv.Set(ctx, "k", []byte("v")) },
		cap:  "kv.set",
		args: `{key:"k" value:0x76}`,
		good: captest.Done(),
		typ:  new(*kv.Error), says: `kv: set "k": `,
	},
	{
		name: "kv.Delete",
		call: func(ctx context.Context) (any, error) { return nil, kv.Delete(ctx, "k") },
		cap:  "kv.delete",
		args: `{key:"k"}`,
		good: captest.Done(),
		typ:  new(*kv.Error), says: `kv: delete "k": `,
	},
	{
		name: "proc.Run",
		call: func(ctx context.Context) (any, error) {
			return proc.Run(ctx, proc.Command{Argv: []string{"go", "vet"}, Stdin: []byte("in"), Timeout: 1500*time.Millisecond + 1})
		},
		cap:  "proc.run",
		args: `{argv:["go" "vet"] stdin:0x696e timeout_ms:1501}`,
		good: captest.Exited(2, "out", "err"),
		want: proc.Result{Exit: 2, Stdout: []byte("out"), Stderr: []byte("err")},
		typ:  new(*proc.Error), says: `proc: run ["go" "vet"]: `,
	},
	{
		name: "clock.Now",
		call: func(ctx context.Context) (any, error) { return clock.Now(ctx) },
		cap:  "clock.now",
		args: `{}`,
		good: captest.Time(time.Unix(1, 5)),
		want: time.Unix(1, 5).UTC(),
		typ:  new(*clock.Error), says: `clock: now: `,
	},
	{
		name: "rand.Bytes",
		call: func(ctx context.Context) (any, error) { return rand.Bytes(ctx, 3) },
		cap:  "rand.bytes",
		args: `{n:3}`,
		good: captest.Random([]byte{1, 2, 3}),
		want: []byte{1, 2, 3},
		typ:  new(*rand.Error), says: `rand: 3 bytes: `,
	},
	{
		name: "report.Emit",
		call: func(ctx context.Context) (any, error) {
			return report.Emit(ctx, "chart", "image/png", []byte{9})
		},
		cap:  "report.emit",
		args: `{bytes:0x09 content_type:"image/png" name:"chart"}`,
		good: captest.Emitted("r7"),
		want: "r7",
		typ:  new(*report.Error), says: `report: emit "chart": `,
	},
	{
		name: "ask.User",
		call: func(ctx context.Context) (any, error) {
			return ask.User(ctx, ask.Question{Key: "city", Message: "Which?", Schema: json.RawMessage(`{"type": "object"}`)})
		},
		cap:  "ask.input",
		args: `{requests:[{key:"city" kind:"user" params:"{\"message\":\"Which?\",\"requestedSchema\":{\"type\":\"object\"}}"}]}`,
		good: captest.Answers(ask.Reply{Action: ask.Accept, Content: json.RawMessage(`{"city":"Oslo"}`)}),
		want: ask.Reply{Action: "accept", Content: json.RawMessage(`{"city":"Oslo"}`)},
		typ:  new(*ask.Error), says: `ask: "city": `,
	},
	{
		name: "ask.User without a form",
		call: func(ctx context.Context) (any, error) {
			return ask.User(ctx, ask.Question{Key: "sure", Message: "Sure?"})
		},
		cap:  "ask.input",
		args: `{requests:[{key:"sure" kind:"user" params:"{\"message\":\"Sure?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"}]}`,
		good: captest.Answers(ask.Reply{Action: ask.Decline}),
		want: ask.Reply{Action: "decline"},
		typ:  new(*ask.Error), says: `ask: "sure": `,
	},
	{
		name: "ask.Model",
		call: func(ctx context.Context) (any, error) {
			return ask.Model(ctx, ask.Prompt{Key: "about", System: "Be brief.", Messages: []ask.Message{{Role: ask.RoleUser, Text: "Hi"}}, MaxTokens: 9})
		},
		cap:  "ask.input",
		args: `{requests:[{key:"about" kind:"model" params:"{\"messages\":[{\"role\":\"user\",\"text\":\"Hi\"}],\"system\":\"Be brief.\",\"max_tokens\":9}"}]}`,
		good: captest.Answers(ask.Completion{Text: "Hello", Model: "small", StopReason: "endTurn"}),
		want: ask.Completion{Text: "Hello", Model: "small", StopReason: "endTurn"},
		typ:  new(*ask.Error), says: `ask: "about": `,
	},
	{
		name: "ask.Roots",
		call: func(ctx context.Context) (any, error) { return ask.Roots(ctx, "roots") },
		cap:  "ask.input",
		args: `{requests:[{key:"roots" kind:"roots" params:"{}"}]}`,
		good: captest.Answers([]ask.Root{{URI: "file:///a", Name: "a"}, {URI: "file:///b"}}),
		want: []ask.Root{{URI: "file:///a", Name: "a"}, {URI: "file:///b"}},
		typ:  new(*ask.Error), says: `ask: "roots": `,
	},
	{
		name: "ask.All",
		call: func(ctx context.Context) (any, error) {
			return ask.All(ctx, ask.RootsRequest{Key: "r"}, ask.Question{Key: "q", Message: "?"})
		},
		cap:  "ask.input",
		args: `{requests:[{key:"r" kind:"roots" params:"{}"} {key:"q" kind:"user" params:"{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"}]}`,
		good: captest.Answers([]ask.Root(nil), ask.Reply{Action: ask.Cancel}),
		want: []ask.Response{{Roots: []ask.Root{}}, {Reply: ask.Reply{Action: "cancel"}}},
		typ:  new(*ask.Error), says: `ask: "r", "q": `,
	},
}

func got(value []byte, found bool, err error) (any, error) {
	return fmt.Sprint(value, found), err
}

func TestWhatTravels(t *testing.T) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			host := captest.New(t)
			host.Handle(r.cap, func(captest.Call) (captest.Value, error) { return r.good, nil })
			result, err := r.call(host.Context())
			if err != nil || !reflect.DeepEqual(result, r.want) {
				t.Errorf("got %#v, %v; want %#v", result, err, r.want)
			}
			calls := host.Calls()
			if len(calls) != 1 || calls[0].Cap != r.cap || show(calls[0].Args) != r.args {
				t.Fatalf("sent %+v; want %s %s", calls, r.cap, r.args)
			}
			if calls[0].DeadlineMS <= 0 {
				t.Errorf("no deadline on %+v", calls[0])
			}
		})
	}
}

func TestARefusalHasTheHostsCodeAndWords(t *testing.T) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			host := captest.New(t)
			host.Refuse(r.cap, "denied", "not granted")
			_, err := r.call(host.Context())
			var e *cap.Error
			if !errors.As(err, &e) || *e != (cap.Error{Code: "denied", Msg: "not granted"}) {
				t.Errorf("got %v", err)
			}
			if !errors.As(err, r.typ) {
				t.Errorf("%T is not a %T", err, r.typ)
			}
			if want := r.says + "denied: not granted"; err == nil || err.Error() != want {
				t.Errorf("got %q; want %q", err, want)
			}
		})
	}
}

func TestACallerThatGaveUpGetsBothErrors(t *testing.T) {
	for _, r := range rows {
		host := captest.New(t)
		ctx, cancel := context.WithCancel(host.Context())
		host.Handle(r.cap, func(captest.Call) (captest.Value, error) { cancel(); return r.good, nil })
		_, err := r.call(ctx)
		var e *cap.Error
		if !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Code != "cancelled" {
			t.Errorf("%s: got %v", r.name, err)
		}
		ctx, cancel = context.WithDeadline(host.Context(), time.Now())
		if _, err := r.call(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &e) || e.Code != "deadline" {
			t.Errorf("%s: got %v", r.name, err)
		}
		cancel()
	}
}

// mutations gives the answers that differ from a good one in one field: it is missing,
// or it is of each other type. Their names say which field.
func mutations(good report.Value) map[string]report.Value {
	out := map[string]report.Value{}
	others := map[string]report.Value{
		"nil": report.Nil(), "bool": report.Bool(true), "int": report.Int(1), "float": report.Float(1),
		"string": report.String("1"), "bytes": report.Bytes([]byte("1")),
		"list": report.List(report.Int(1)), "map": report.Map(field("k", report.Int(1))),
	}
	fields, _ := good.AsMap()
	for i, f := range fields {
		var without []report.Field
		without = append(append(without, fields[:i]...), fields[i+1:]...)
		out[f.Key+" missing"] = report.Map(without...)
		for name, v := range others {
			if v.Type() == f.Value.Type() && name != "list" && name != "map" {
				continue
			}
			changed := append([]report.Field(nil), fields...)
			changed[i].Value = v
			out[f.Key+" as "+name] = report.Map(changed...)
		}
	}
	return out
}

func TestAnAnswerOfTheWrongShapeNamesTheField(t *testing.T) {
	for _, r := range rows {
		for name, v := range mutations(r.good) {
			host := captest.New(t)
			host.Handle(r.cap, func(captest.Call) (captest.Value, error) { return v, nil })
			result, err := r.call(host.Context())
			var e *cap.Error
			if !errors.As(err, &e) || e.Code != "protocol" || !errors.As(err, r.typ) {
				t.Errorf("%s, %s: got %v, %v", r.name, name, result, err)
				continue
			}
			key, _, _ := strings.Cut(name, " ")
			if !strings.Contains(e.Msg, key) {
				t.Errorf("%s, %s: %q does not name the field", r.name, name, e.Msg)
			}
		}
		if fields, _ := r.good.AsMap(); len(fields) == 0 {
			continue
		}
		for _, v := range []report.Value{report.Nil(), report.Int(1), report.List()} {
			host := captest.New(t)
			host.Handle(r.cap, func(captest.Call) (captest.Value, error) { return v, nil })
			if _, err := r.call(host.Context()); err == nil {
				t.Errorf("%s took %s for an answer", r.name, report.TypeName(v))
			}
		}
	}
}

func TestAnEntryOfTheWrongShapeNamesItsPlace(t *testing.T) {
	host := captest.New(t)
	host.Handle("fs.list", func(captest.Call) (captest.Value, error) {
		good, _ := captest.Entries(fs.Entry{Name: "a"}).Get("entries")
		list, _ := good.AsList()
		return report.Map(field("entries", report.List(list[0], report.Map(field("name", report.String("b")))))), nil
	})
	_, err := fs.List(host.Context(), "d")
	if err == nil || !strings.Contains(err.Error(), "entries[1].is_dir is missing; want a bool") {
		t.Errorf("got %v", err)
	}
}

func TestRandomBytesAreAsManyAsAskedFor(t *testing.T) {
	host := captest.New(t)
	host.Handle("rand.bytes", func(captest.Call) (captest.Value, error) { return captest.Random(make([]byte, 2)), nil })
	if b, err := rand.Bytes(host.Context(), 3); err == nil || !strings.Contains(err.Error(), "bytes is 2 bytes; want 3 bytes") {
		t.Errorf("got %v, %v", b, err)
	}
}

func TestAnAnswerThatIsNoneNamesItsPlace(t *testing.T) {
	all := []ask.Request{
		ask.Question{Key: "q", Message: "?"}, ask.Prompt{Key: "p", Messages: []ask.Message{{Role: ask.RoleUser, Text: "?"}}, MaxTokens: 1}, ask.RootsRequest{Key: "r"},
	}
	good := []any{ask.Reply{Action: ask.Accept}, ask.Completion{}, []ask.Root(nil)}
	for n, wrong := range map[int][]string{
		0: {"", "null", "{}", "[]", `{"action":"yes"}`, `{"action":1}`, "{"},
		1: {"", "null", "{}", "[]", `{"model":"m"}`, `{"text":1}`, `{"text":"t","model":1}`},
		2: {"", "null", "{}", "[]", `{"roots":null}`, `{"roots":{}}`, `{"roots":[1]}`},
	} {
		for _, text := range wrong {
			host := captest.New(t)
			host.Handle("ask.input", func(captest.Call) (captest.Value, error) {
				answers := append([]any{}, good...)
				answers[n] = text
				return captest.Answers(answers...), nil
			})
			responses, err := ask.All(host.Context(), all...)
			if cap.CodeOf(err) != cap.CodeProtocol || !strings.Contains(err.Error(), fmt.Sprintf("answers[%d]", n)) {
				t.Errorf("%q: got %+v, %v", text, responses, err)
			}
		}
	}
	host := captest.New(t)
	host.Handle("ask.input", func(captest.Call) (captest.Value, error) { return captest.Answers(good[:2]...), nil })
	if _, err := ask.All(host.Context(), all...); err == nil || !strings.Contains(err.Error(), "answers is a list of 2; want a list of 3") {
		t.Errorf("got %v", err)
	}
	host.Handle("ask.input", func(captest.Call) (captest.Value, error) {
		return report.Map(field("answers", report.List(report.Int(1)))), nil
	})
	if _, err := ask.Roots(host.Context(), "r"); err == nil || !strings.Contains(err.Error(), "answers[0] is an int; want a string") {
		t.Errorf("got %v", err)
	}
}

func TestARequestThatIsNoJSONIsNotSent(t *testing.T) {
	host := captest.New(t)
	for _, r := range []ask.Request{nil, ask.Question{Key: "q", Message: "?", Schema: json.RawMessage("{")}} {
		_, err := ask.All(host.Context(), ask.RootsRequest{Key: "r"}, r)
		if cap.CodeOf(err) != cap.CodeInvalidArgument || !strings.Contains(err.Error(), "request 2: ") {
			t.Errorf("got %v", err)
		}
	}
	if n := len(host.Calls()); n != 0 {
		t.Errorf("%d calls arrived", n)
	}
}

func TestAnAnswerOfNoKindIsAMistakeOfTheTest(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "answer 2 is a int; want an ask.Reply") {
			t.Errorf("it says %q", text)
		}
	}()
	captest.Answers("{}", 1)
}

func TestWithoutAnInvocationThereIsAnErrorAndNoHang(t *testing.T) {
	for _, r := range rows {
		_, err := r.call(context.Background())
		var e *cap.Error
		if !errors.As(err, &e) || e.Code != "unavailable" || !strings.Contains(e.Msg, "pass on the context") {
			t.Errorf("%s: got %v", r.name, err)
		}
	}
	report.Partial(context.Background(), "nobody listens")
}

// show is a value in a form a test can compare, its fields sorted by hand in the rows.
func show(v report.Value) string {
	if fields, ok := v.AsMap(); ok {
		sorted := map[string]string{}
		for _, f := range fields {
			sorted[f.Key] = show(f.Value)
		}
		text := fmt.Sprint(sorted) // sorts the keys
		return "{" + strings.TrimSuffix(strings.TrimPrefix(text, "map["), "]") + "}"
	}
	if list, ok := v.AsList(); ok {
		out := make([]string, 0, len(list))
		for _, item := range list {
			out = append(out, show(item))
		}
		return fmt.Sprint(out)
	}
	if s, ok := v.AsString(); ok {
		return fmt.Sprintf("%q", s)
	}
	if b, ok := v.AsBin(); ok {
		return fmt.Sprintf("0x%x", b)
	}
	if n, ok := v.AsInt(); ok {
		return fmt.Sprint(n)
	}
	return report.TypeName(v)
}
