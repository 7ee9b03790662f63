package hookbus_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
)

func TestContextFoldsInLoadOrder(t *testing.T) {
	b, _ := on(t, hookbus.Options{Order: []string{"beta", "gamma", "alpha"}}, "alpha", "beta", "gamma", "delta")
	for op, want := range map[string]string{
		"":            `{"n": 1.0}|1234567890123456789|"<é>"`,
		"all:add:1e3": `{"n": 1.0}|1234567890123456789|"<é>"|1e3|1e3|1e3`,
		"beta:add:2\ngamma:reverse:\nalpha:add:3":      `2|"<é>"|1234567890123456789|{"n": 1.0}|3`,
		"beta:clear:\nalpha:add: { \"a\" : 1.50 } ":    `{ "a" : 1.50 }`,
		"gamma:panic:x\nbeta:add:2":                    `{"n": 1.0}|1234567890123456789|"<é>"|2`,
		"beta:refuse:x\ngamma:die:y\nalpha:add:\"z\"":  `{"n": 1.0}|1234567890123456789|"<é>"|"z"`,
		"beta:grow:8100\nalpha:add:1\ngamma:grow:7800": `{"n": 1.0}|1234567890123456789|"<é>"|"` + strings.Repeat("x", 7800) + `"|1`,
	} {
		given := raws(`{"n": 1.0}`, `1234567890123456789`, `"<é>"`)
		if got := joined(b.Context(t.Context(), op, given)); got != want {
			t.Errorf("%q: %s, want %s", op, got, want)
		}
		if joined(given) != `{"n": 1.0}|1234567890123456789|"<é>"` {
			t.Errorf("%q: the harness's own messages were changed: %s", op, joined(given))
		}
	}
	counts(t, b, "alpha", "context", 7, 7, 0, 0)
	counts(t, b, "beta", "context", 7, 5, 0, 2)
	counts(t, b, "gamma", "context", 7, 5, 0, 2)
	if s := of(t, b, "beta", "context"); !strings.Contains(s.LastFailure, "adds 20") && !strings.Contains(s.LastFailure, "refused") {
		t.Errorf("%+v", s)
	}
}

func TestEachTransformHasAnAllowance(t *testing.T) {
	b, _ := on(t, hookbus.Options{Allowance: 3, Tokens: func(text []byte) int { return strings.Count(string(text), "word") }}, "alpha", "beta")
	for _, c := range []struct{ op, want string }{
		{`alpha:add:"word word word"` + "\n" + `beta:add:"word word word"`, `"word"|"word word word"|"word word word"`},
		{`alpha:add:"word word word word"` + "\n" + `beta:add:"word"`, `"word"|"word"`},
		{`alpha:clear:` + "\n" + `beta:add:"word word word"`, `"word word word"`},
	} {
		if got := joined(b.Context(t.Context(), c.op, raws(`"word"`))); got != c.want {
			t.Errorf("%q: %s, want %s", c.op, got, c.want)
		}
	}
	if s := of(t, b, "alpha", "context"); s.Failed != 1 || !strings.Contains(s.LastFailure, "adds 4 tokens to the context, and may add 3") {
		t.Errorf("%+v", s)
	}
}

func TestGarbageIsDiscarded(t *testing.T) {
	s := openWith(t, config.Config{}, host.SessionOptions{Loaded: installed(impostor(t, "alpha")), Extensions: []string{"beta"}})
	b := over(t, s, hookbus.Options{})
	for _, answer := range []string{
		`garbage`, `{"messages":[1,2}`, `{}`, `[]`, `{"messages":null}`, `{"messages":{"0":1}}`, `{"messages":"[1]"}`, `{"Messages":[9]}`,
		`{"messages":[1],"messages":[2]}`, `{"messages":[1],"mess\u0061ges":[2]}`, `{"nested":{"messages":[9]}}`, `{"messages":[1]`, `"{\"messages\":[9]}"`,
		`{"messages":["` + strings.Repeat("x", 10_000) + `"]}`,
	} {
		if got := joined(b.Context(t.Context(), answer, raws(`7`, `8`))); got != `7|8` {
			t.Errorf("%.60s: %s", answer, got)
		}
	}
	counts(t, b, "alpha", "context", 14, 0, 0, 14)
	counts(t, b, "beta", "context", 14, 14, 0, 0)
	if got := joined(b.Context(t.Context(), " { \"more\" : {\"messages\":[0]} ,\n \"messages\" : [ 1.0 , { \"a\":[ \"]\\\"\" ] } ,\"x\" ] } ", raws(`7`))); got != `1.0|{ "a":[ "]\"" ]}|"x"` && got != `1.0|{ "a":[ "]\"" ] }|"x"` {
		t.Error(got)
	}
	if state(t, s, "alpha").State == host.StateOut {
		t.Error("the place is lost")
	}
}

func TestMessagesThatAreNoneAreShownToNobody(t *testing.T) {
	b, _ := on(t, hookbus.Options{}, "alpha")
	for _, given := range [][]json.RawMessage{raws(`1],"op_id":"x","messages":[2`), raws(`1,2`), raws(``), raws(`1`, ` `), raws(`"`, `"`), raws(`{`, `}`)} {
		if got := b.Context(t.Context(), "alpha:clear", given); joined(got) != joined(given) {
			t.Errorf("%q became %q", given, got)
		}
	}
	if got := string(b.ToolResult(t.Context(), json.RawMessage(`{"content":`))); got != `{"content":` {
		t.Error(got)
	}
	counts(t, b, "alpha", "context", 0, 0, 0, 0)
	counts(t, b, "alpha", "tool_result", 0, 0, 0, 0)
	// What only a decoder tells to be none comes back as well.
	if got := joined(b.Context(t.Context(), "alpha:clear", raws(`nul`))); got != `nul` {
		t.Error(got)
	}
}

func TestAToolResultChangesInItsContentAlone(t *testing.T) {
	b, _ := on(t, hookbus.Options{Order: []string{"beta"}}, "alpha", "beta", "gamma")
	message := func(do string) string {
		text, err := json.Marshal(do)
		if err != nil {
			t.Fatal(err)
		}
		return ` {"id": "call-1", "is_error" : false, "content":"a" ,"usage":{"content":"not this","tokens":1.0},"at":1234567890123456789,"do":` + string(text) + `} `
	}
	for do, content := range map[string]string{
		"":                              `"a"`,
		"all:append:x":                  `"axxx"`,
		"beta:append:1\nalpha:append:2": `"a12"`,
		`alpha:become:{"content":[{"type":"text","text":"b"}],"id":"forged"}`: `[{"type":"text","text":"b"}]`,
		`alpha:become:{"is_error":true}`:                                      `"a"`,
		`alpha:become:"text"`:                                                 `"a"`,
		`alpha:become:{"content":"x","content":"y"}`:                          `"a"`,
		"alpha:panic:x\nbeta:append:y":                                        `"ay"`,
		"alpha:refuse:x\ngamma:append:y":                                      `"ay"`,
	} {
		given := message(do)
		want := strings.Replace(given, `"a"`, content, 1)
		if got := string(b.ToolResult(t.Context(), json.RawMessage(given))); got != want {
			t.Errorf("%q: %s, want %s", do, got, want)
		}
		if given != message(do) {
			t.Errorf("%q: the harness's own message was changed", do)
		}
	}
	for _, odd := range []string{`"text"`, `[1]`, `{"do":"alpha:append:x"}`, `{"content":"a","content":"b","do":"all:become:{\"content\":1}"}`} {
		if got := string(b.ToolResult(t.Context(), json.RawMessage(odd))); got != odd {
			t.Errorf("%s became %s", odd, got)
		}
	}
}

func TestForgedToolResults(t *testing.T) {
	s := openWith(t, config.Config{}, host.SessionOptions{Loaded: installed(impostor(t, "alpha"))})
	b := over(t, s, hookbus.Options{})
	for answer, content := range map[string]string{
		`{"message":{"content":"new","id":9,"answer":"x"},"content":"not this"}`: `"new"`,
		`{"message":{"con\u0074ent":null}}`:                                      `null`,
		`{"message":{"content":1},"message":{"content":2}}`:                      `"a"`,
		`{"content":"new"}`: `"a"`, `[]`: `"a"`, `{"message":`: `"a"`, `{"message":[{"content":1}]}`: `"a"`,
	} {
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		given := `{"content":"a","id":1,"answer":` + string(text) + `}`
		want := strings.Replace(given, `"a"`, content, 1)
		if got := string(b.ToolResult(t.Context(), json.RawMessage(given))); got != want {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
	}
}

// A fold of transforms that change nothing is the identity, byte for byte.
func TestAFoldOfIdentitiesIsTheIdentity(t *testing.T) {
	b, _ := on(t, hookbus.Options{}, "alpha", "beta", "gamma")
	rapid.Check(t, func(r *rapid.T) {
		given := rapid.SliceOfN(rapid.Custom(message), 0, 8).Draw(r, "messages")
		before := make([]json.RawMessage, len(given))
		for i, m := range given {
			before[i] = append(json.RawMessage(nil), m...)
		}
		got := b.Context(t.Context(), rapid.String().Draw(r, "op"), given)
		if len(got) != len(given) {
			r.Fatalf("%d messages of %d", len(got), len(given))
		}
		for i := range got {
			if string(got[i]) != string(before[i]) || string(given[i]) != string(before[i]) {
				r.Fatalf("%q became %q", before[i], got[i])
			}
			if cap(got[i]) > 0 { // what comes out shares nothing with what was given
				clear(got[i])
				if string(given[i]) != string(before[i]) {
					r.Fatalf("%q is shared", given[i])
				}
			}
		}
		if len(given) > 0 && json.Valid(before[0]) {
			if got := b.ToolResult(t.Context(), before[0]); string(got) != string(given[0]) {
				r.Fatalf("%q became %q", given[0], got)
			}
		}
	})
	if s := of(t, b, "beta", "context"); s.Failed != 0 || s.Answered == 0 {
		t.Errorf("%+v", s)
	}
}

// message draws JSON with its space, its escapes and its spelling of numbers.
func message(r *rapid.T) json.RawMessage { return json.RawMessage(value(r, 3)) }

func value(r *rapid.T, depth int) string {
	space := rapid.StringOfN(rapid.SampledFrom([]rune(" \t\r\n")), 0, 2, -1)
	pad := func(text string) string { return space.Draw(r, "before") + text + space.Draw(r, "after") }
	kinds := 3
	if depth > 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(r, "kind") {
	case 0:
		return pad(rapid.SampledFrom([]string{"null", "true", "false", "1", "1.0", "1e3", "-0", "-0.0E+10", "1234567890123456789", "0.1000"}).Draw(r, "word"))
	case 1:
		return pad(rapid.SampledFrom([]string{`""`, `"\""`, `"\\"`, `"\\\""`, `"<é>&"`, `"\u00e9\ud83d\ude00"`, `"]},[{"`, `"\/"`, `"` + "\u2028" + `"`}).Draw(r, "text"))
	case 2:
		text, err := json.Marshal(rapid.String().Draw(r, "any text"))
		if err != nil {
			r.Fatal(err)
		}
		return pad(string(text))
	}
	n := rapid.IntRange(0, 3).Draw(r, "n")
	items := make([]string, n)
	object := rapid.Bool().Draw(r, "object")
	for i := range items {
		items[i] = value(r, depth-1)
		if object {
			items[i] = pad(fmt.Sprintf("%q", fmt.Sprint("key", i))) + ":" + items[i]
		}
	}
	inside := strings.Join(items, ",")
	if n == 0 {
		inside = space.Draw(r, "inside")
	}
	if object {
		return pad("{" + inside + "}")
	}
	return pad("[" + inside + "]")
}

func TestALargeConversationFoldsThroughThree(t *testing.T) {
	b, _ := on(t, hookbus.Options{}, "alpha", "beta", "gamma")
	given := conversation(2 << 20)
	got := b.Context(t.Context(), "beta:add:1", given)
	if len(got) != len(given)+1 || joined(got[:len(given)]) != joined(given) {
		t.Errorf("%d messages of %d", len(got), len(given))
	}
	for _, name := range []string{"alpha", "beta", "gamma"} {
		counts(t, b, name, "context", 1, 1, 0, 0)
	}
}

// conversation is messages of about so many bytes together.
func conversation(size int) []json.RawMessage {
	var all []json.RawMessage
	text := strings.Repeat(`The \"quick\" brown fox jumps over the lazy dog.\n`, 20)
	for n := 0; size > 0; n++ {
		m := fmt.Sprintf(`{"role":"user","id":%d,"content":[{"type":"text","text":"%s"},{"type":"tool_use","input":{"path":"a/b/%d.go","lines":[1,2,3.0],"all":true}}]}`, 1234567890123456789+n, text, n)
		all, size = append(all, json.RawMessage(m)), size-len(m)-1
	}
	return all
}

func TestAResultHasAnAllowance(t *testing.T) {
	b, _ := on(t, hookbus.Options{Allowance: 20}, "alpha")
	given := json.RawMessage(`{"do":"alpha:append:` + strings.Repeat("x", 1000) + `","content":"short"}`)
	if got := b.ToolResult(t.Context(), given); string(got) != string(given) {
		t.Errorf("%d bytes became %d", len(given), len(got))
	}
	if st := of(t, b, "alpha", "tool_result"); st.Failed != 1 || !strings.Contains(st.LastFailure, "may add 20") {
		t.Errorf("%+v", st)
	}
	small := json.RawMessage(`{"do":"alpha:append:!","content":"short"}`)
	if got := b.ToolResult(t.Context(), small); !strings.Contains(string(got), `"short!"`) {
		t.Errorf("%s", got)
	}
}
