package hook_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/ext/hook"
	"github.com/loomext/loomext/prelude/internal/jsontext"
	"pgregory.net/rapid"
)

func TestRenderedTakesWhatADecoderGives(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{nil, `null`}, {true, `true`}, {false, `false`}, {"<é>\"\n\u2028\x00", "\"<é>\\\"\\n\u2028\\u0000\""}, {"\xff", "\"\ufffd\""},
		{1.5, `1.5`}, {1e21, `1e+21`}, {1e-7, `1e-7`}, {float32(0.1), `0.1`}, {100.0, `100`}, {math.Copysign(0, -1), `-0`},
		{json.Number("1.0"), `1.0`}, {json.Number("1e3"), `1e3`}, {json.Number("1234567890123456789"), `1234567890123456789`}, {json.Number("-0"), `-0`},
		{int(-1), `-1`}, {int8(-8), `-8`}, {int64(math.MinInt64), `-9223372036854775808`}, {uint64(math.MaxUint64), `18446744073709551615`}, {uint8(7), `7`},
		{[]any{}, `[]`}, {[]any(nil), `[]`}, {map[string]any{}, `{}`}, {map[string]any(nil), `{}`},
		{map[string]any{"b": 1, "a": []any{nil, "x"}, "": map[string]any{"k<": json.Number("1e3")}}, `{"":{"k<":1e3},"a":[null,"x"],"b":1}`},
		{json.RawMessage(` {"a" : 1.0} `), ` {"a" : 1.0} `},
		{[]json.RawMessage{json.RawMessage(`1.0`), json.RawMessage(`"<"`)}, `[1.0,"<"]`},
		{map[string]json.RawMessage{"b": json.RawMessage(`1`), "a": json.RawMessage(`[ ]`)}, `{"a":[ ],"b":1}`},
	} {
		got, err := hook.Rendered(test.value)
		if err != nil || string(got) != test.want || !json.Valid(got) {
			t.Errorf("%#v: %s, %v; want %s", test.value, got, err, test.want)
		}
	}
}

func TestRenderedRefusesEverythingElse(t *testing.T) {
	cyclic := map[string]any{"x": 1}
	cyclic["self"] = []any{cyclic, cyclic}
	doubled := []any{}
	for range 64 {
		doubled = []any{doubled, doubled}
	}
	raw := json.RawMessage(strings.Repeat("[", jsontext.MaxDepth) + strings.Repeat("]", jsontext.MaxDepth))
	for says, values := range map[string][]any{
		"nothing that a JSON decoder gives": {struct{}{}, &struct{}{}, func() {}, make(chan int), complex(1, 1), []string{}, map[int]any{}, new(any), []any{1, []any{uintptr(1)}},
			map[string]any{"a": [1]int{}}, reflect.Value{}, []byte("x"), bytes.ErrTooLarge},
		"infinite, or none":      {math.NaN(), math.Inf(1), []any{math.Inf(-1)}, float32(math.Inf(1))},
		"is no number":           {json.Number(""), json.Number("x"), json.Number(" 1"), json.Number("1 "), json.Number("01"), json.Number(`"1"`), json.Number("null"), json.Number(strings.Repeat("x", 1<<20))},
		"not JSON":               {json.RawMessage(nil), json.RawMessage(""), json.RawMessage("{"), []any{json.RawMessage("1,2")}, map[string]json.RawMessage{"a": nil}},
		"does it contain itself": {cyclic, []any{raw}, map[string]json.RawMessage{"a": raw}},
		"takes more than":        {doubled, strings.Repeat("x", 17<<20)},
	} {
		for _, value := range values {
			if got, err := hook.Rendered(value); err == nil || got != nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 300 {
				t.Errorf("%.60T: %.60s, %v; want %q", value, got, err, says)
			}
		}
	}
}

// Decoding with UseNumber and rendering gives the same document, and the
// same number spellings, as the decoded value had.
func TestRenderedUndoesDecoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyValue(t, 4)
		text, err := hook.Rendered(value)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var back any
		if err := decoder.Decode(&back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(back, value) {
			t.Fatalf("%#v became %s, which is %#v", value, text, back)
		}
		again, err := hook.Rendered(back)
		if err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%s became %s, %v", text, again, err)
		}
	})
}

func anyValue(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return json.Number(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "number"))
	case 3:
		return rapid.String().Draw(t, "string")
	case 4:
		list := make([]any, rapid.IntRange(0, 4).Draw(t, "length"))
		for i := range list {
			list[i] = anyValue(t, depth-1)
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "size") {
			object[rapid.String().Draw(t, "name")] = anyValue(t, depth-1)
		}
		return object
	}
}
