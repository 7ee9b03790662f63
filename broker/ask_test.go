package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loomext/loomext/internal/wire"
)

// answering answers each kind with the least that is an answer.
func answering(_ context.Context, requests []AskRequest) ([]json.RawMessage, error) {
	var answers []json.RawMessage
	for _, r := range requests {
		answers = append(answers, json.RawMessage(map[string]string{
			AskUser:  `{"action":"accept","content":{}}`,
			AskModel: `{"role":"assistant","text":"said","model":"m","stop_reason":"end"}`,
			AskRoots: `{"roots":[{"uri":"file:///work","name":""}]}`,
		}[r.Kind]))
	}
	return answers, nil
}

// asking is an invocation whose questions go to an asker.
func asking(t *testing.T, asker Asker) *Invocation {
	t.Helper()
	return newBroker(t, Options{}).Open(Terms{Extension: "weather", Requested: everything, Granted: everything}, "s1").Begin(nil, asker)
}

func question(key, kind, params string) wire.Value {
	return wire.Map(arg("key", wire.String(key)), arg("kind", wire.String(kind)), arg("params", wire.String(params)))
}

func asked(i *Invocation, requests ...wire.Value) wire.Result {
	return serve(i, "ask.input", arg("requests", wire.List(requests...)))
}

// roots is a request that is fine, under its key.
func roots(key string) wire.Value { return question(key, AskRoots, "{}") }

func TestAnAnswerComesForEachRequestInItsPlace(t *testing.T) {
	var got []AskRequest
	i := asking(t, func(_ context.Context, requests []AskRequest) ([]json.RawMessage, error) {
		got = requests
		return []json.RawMessage{[]byte(` {"n": 1}`), []byte("2"), []byte(`"€"`)}, nil
	})
	v := done(t, asked(i,
		question("q", AskUser, ` {"message": "Which <city>?", "requestedSchema": {"type": "object", "x": 1e400}}`),
		question("p1_", AskModel, `{"max_tokens":5,"system":"s","messages":[{"role":"user","text":"t"}]}`),
		question("r", AskRoots, "{ }\n"),
	))
	list, _ := mustGet(t, v, "answers").AsList()
	var answers []string
	for _, one := range list {
		text, _ := one.AsString()
		answers = append(answers, text)
	}
	if fmt.Sprintf("%q", answers) != `[" {\"n\": 1}" "2" "\"€\""]` {
		t.Errorf("answered %q", answers)
	}
	want := []string{
		`q user {"message":"Which \u003ccity\u003e?","requestedSchema":{"type":"object","x":1e400}}`,
		`p1_ model {"messages":[{"role":"user","text":"t"}],"system":"s","max_tokens":5}`,
		`r roots {}`,
	}
	for n, r := range got {
		if text := r.Key + " " + r.Kind + " " + string(r.Params); len(got) != len(want) || text != want[n] {
			t.Errorf("asked %s; want %s", text, want[n])
		}
	}
}

// A field twice, or by a name of other case, is read by no two readers alike.
func TestWhatIsAskedIsWrittenAnew(t *testing.T) {
	i := asking(t, func(_ context.Context, requests []AskRequest) ([]json.RawMessage, error) {
		if got := string(requests[0].Params); got != `{"message":"last","requestedSchema":{}}` {
			t.Errorf("asked %s", got)
		}
		return answering(t.Context(), requests)
	})
	done(t, asked(i, question("q", AskUser, `{"message":"first","Message":"second","requestedSchema":{},"MESSAGE":"last"}`)))
}

func TestARequestThatCannotBeIsNamed(t *testing.T) {
	i := asking(t, func(context.Context, []AskRequest) ([]json.RawMessage, error) {
		t.Error("it was asked all the same")
		return nil, nil
	})
	refusedWith(t, asked(i), wire.CodeInvalidArgument, "requests is empty; want 1 to 8")
	refusedWith(t, serve(i, "ask.input", arg("requests", wire.String("x"))), wire.CodeInvalidArgument, "requests is a str; want a list")
	refusedWith(t, asked(i, roots("r"), wire.Int(1)), wire.CodeInvalidArgument, "requests[1] is an int; want a map")
	refusedWith(t, asked(i, wire.Map(arg("key", wire.Int(1)), arg("params", wire.String("\xff")), arg("more", wire.Nil()))), wire.CodeInvalidArgument,
		`requests[0].key is an int; want a str; requests[0].kind is missing; want a str; requests[0].params is no UTF-8; requests[0]."more" is no argument of it`)
	refusedWith(t, asked(i, roots("r"), roots("r")), wire.CodeInvalidArgument, `requests[1].key is "r", which another request has`)
	refusedWith(t, asked(i, question("r", "User", "{}")), wire.CodeInvalidArgument, `requests[0].kind is "User"; want user, model or roots`)
	for _, key := range []string{"", "R", "1r", "_r", "r-", "r.", "é", "r\n"} {
		refusedWith(t, asked(i, roots(key)), wire.CodeInvalidArgument, "requests[0].key is "+quoted(key)+"; want a lowercase letter")
	}
	long := strings.Repeat("k", maxAskKey+1)
	refusedWith(t, asked(i, roots(long)), wire.CodeTooLarge, "requests[0].key has 65 bytes; at most 64")
	refusedWith(t, asked(i, question("r", AskRoots, "{}"+strings.Repeat(" ", maxAskParams-1))), wire.CodeTooLarge, "requests[0].params has 65537 bytes; at most 65536")
	for params, want := range map[string]string{
		"": "a JSON object", "null": "a JSON object", "[]": "a JSON object", "{": "unexpected EOF", "{}{}": "something follows", "{} x": "something follows",
		`{"x":1}`: `unknown field "x"`, `{"` + strings.Repeat("x", 10_000) + `":1}`: "unknown field",
	} {
		r := asked(i, question("r", AskRoots, params))
		refusedWith(t, r, wire.CodeInvalidArgument, "requests[0].params: ")
		refusedWith(t, r, wire.CodeInvalidArgument, want)
		if len(r.Fault.Msg) > 2*maxAskReason {
			t.Errorf("the message has %d bytes", len(r.Fault.Msg))
		}
	}
	for params, want := range map[string]string{
		"{}":                                     "message is empty",
		`{"message":1}`:                          "cannot unmarshal number",
		`{"message":"?"}`:                        "requestedSchema is no JSON object",
		`{"message":"?","requestedSchema":[]}`:   "requestedSchema is no JSON object",
		`{"message":"?","requestedSchema":null}`: "requestedSchema is no JSON object",
	} {
		refusedWith(t, asked(i, question("q", AskUser, params)), wire.CodeInvalidArgument, want)
	}
	for params, want := range map[string]string{
		"{}":                             "messages is empty",
		`{"messages":[],"max_tokens":1}`: "messages is empty",
		`{"messages":[{"role":"system","text":"t"}],"max_tokens":1}`:         `messages[0].role is "system"; want user or assistant`,
		`{"messages":[{"role":"user","text":"t"}]}`:                          "max_tokens is 0; want 1 at least",
		`{"messages":[{"role":"user","text":"t"}],"max_tokens":-1}`:          "max_tokens is -1",
		`{"messages":[{"role":"user","text":"t"}],"max_tokens":1.5}`:         "cannot unmarshal number 1.5",
		`{"messages":[{"role":"user","text":"t","image":1}],"max_tokens":1}`: `unknown field "image"`,
	} {
		refusedWith(t, asked(i, question("p", AskModel, params)), wire.CodeInvalidArgument, want)
	}
}

func TestQuestionsOfOneInvocationAreCounted(t *testing.T) {
	var many []wire.Value
	for n := range 10_000 {
		many = append(many, roots(fmt.Sprint("r", n)))
	}
	i := asking(t, answering)
	refusedWith(t, asked(i, many...), wire.CodePolicy, "requests has 10000 items; at most 8 at once")
	for n := range maxAsks {
		done(t, asked(i, many[n*maxAskRequests:(n+1)*maxAskRequests]...))
	}
	refusedWith(t, asked(i, roots("more")), wire.CodePolicy, "has asked 8 times")
	next := i.scope.Begin(nil, answering)
	done(t, asked(next, many[:maxAskRequests]...)) // under the keys of before

	failing := i.scope.Begin(nil, func(context.Context, []AskRequest) ([]json.RawMessage, error) { return nil, errors.New("no") })
	for range maxAsks {
		refusedWith(t, asked(failing, roots("r")), wire.CodeUnavailable, "no")
	}
	refusedWith(t, asked(failing, roots("r")), wire.CodePolicy, "has asked 8 times")
}

func TestAKeyIsAnsweredOnce(t *testing.T) {
	fails := true
	i := asking(t, func(ctx context.Context, requests []AskRequest) ([]json.RawMessage, error) {
		if fails {
			return nil, errors.New("not for the model")
		}
		return answering(ctx, requests)
	})
	refusedWith(t, asked(i, roots("a"), roots("b")), wire.CodeUnavailable, "not for the model")
	fails = false
	done(t, asked(i, roots("a"))) // it had no answer
	refusedWith(t, asked(i, roots("b"), roots("a")), wire.CodeInvalidArgument, `requests[1].key is "a", under which this invocation has asked before; give it another`)
	done(t, asked(i, roots("b")))
}

func TestNobodyCanBeAsked(t *testing.T) {
	i := asking(t, nil)
	refusedWith(t, asked(i, roots("r")), wire.CodeUnavailable, "nobody can be asked here")
	refusedWith(t, asked(i, roots("R")), wire.CodeInvalidArgument, "key")
}

func TestWhyThereIsNoAnswerIsOneShortLine(t *testing.T) {
	for text, want := range map[string]string{
		"the client has no form":         "the client has no form",
		" two\nlines\x1b[2J\u202e\r\n":   "two lines [2J",
		"":                               "there was no answer",
		"\n\t":                           "there was no answer",
		"\xff":                           "?",
		strings.Repeat("é", 400):         strings.Repeat("é", 256) + "…",
		"x" + strings.Repeat("é", 1<<20): "x" + strings.Repeat("é", 255) + "…",
	} {
		i := asking(t, func(context.Context, []AskRequest) ([]json.RawMessage, error) { return nil, errors.New(text) })
		if r := asked(i, roots("r")); r.Fault.Code != wire.CodeUnavailable || r.Fault.Msg != want {
			t.Errorf("%.40q: %v; want %q", text, r.Fault, want)
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	long := `"` + strings.Repeat("x", maxAskAnswers/2-2) + `"` // half of all
	for name, c := range map[string]struct {
		answers []string
		want    string // empty: they are
	}{
		"none":           {nil, "0 answers came to 2 requests"},
		"too few":        {[]string{"{}"}, "1 answers came to 2 requests"},
		"too many":       {[]string{"{}", "{}", "{}"}, "3 answers came to 2 requests"},
		"empty":          {[]string{"{}", ""}, `what came for "b" is no JSON`},
		"no JSON":        {[]string{"{", "{}"}, `what came for "a" is no JSON`},
		"two at once":    {[]string{"{}", "{}{}"}, `what came for "b" is no JSON`},
		"no UTF-8":       {[]string{"\"\xff\"", "{}"}, `what came for "a" is no JSON`},
		"all that fits":  {[]string{long, long}, ""},
		"more than fits": {[]string{long, long + " "}, "the answers have more than 1 MiB together"},
	} {
		i := asking(t, func(context.Context, []AskRequest) ([]json.RawMessage, error) {
			var answers []json.RawMessage
			for _, text := range c.answers {
				answers = append(answers, json.RawMessage(text))
			}
			return answers, nil
		})
		r := asked(i, roots("a"), roots("b"))
		if c.want == "" {
			done(t, r)
			continue
		}
		t.Run(name, func(t *testing.T) { refusedWith(t, r, wire.CodeUnavailable, c.want) })
	}
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	i := asking(t, func(ctx context.Context, _ []AskRequest) ([]json.RawMessage, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("the form was taken away: %w", ctx.Err())
	})
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan wire.Result)
	go func() {
		results <- i.Serve(ctx, "ask.input", wire.Map(arg("requests", wire.List(roots("r")))))
	}()
	cancel()
	refusedWith(t, <-results, wire.CodeCancelled, "ask.input: ")
	late, cancelLate := context.WithTimeout(t.Context(), 1)
	defer cancelLate()
	refusedWith(t, i.Serve(late, "ask.input", wire.Map(arg("requests", wire.List(roots("r"))))), wire.CodeDeadline, "ask.input: ")
}

func TestQuestionsMayOverlapAndShareNoKey(t *testing.T) {
	i := asking(t, answering)
	var wg sync.WaitGroup
	results := make([]wire.Result, maxAsks)
	for n := range results {
		wg.Go(func() { results[n] = asked(i, roots(fmt.Sprint("r", n))) })
	}
	wg.Wait()
	for n, r := range results {
		if !r.OK {
			t.Errorf("%d: %v", n, r.Fault)
		}
	}
	refusedWith(t, asked(i, roots("another")), wire.CodePolicy, "has asked 8 times")
}

func TestAQuestionIsNotServedWhereItsFrameIsRead(t *testing.T) {
	if Prompt("ask.input") {
		t.Error("a person may take minutes")
	}
}
