package jsontext_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loomext/loomext/prelude/internal/jsontext"
	"pgregory.net/rapid"
)

func TestMembersKeepOrderAndBytes(t *testing.T) {
	var got []string
	for name, value := range jsontext.Members([]byte(` { "a" : 1.0 , "\u0062":[ 1 , 2 ],"a":{"x":"}"} } `)) {
		if cap(name) != len(name) || cap(value) != len(value) {
			t.Errorf("%s: spare capacity lets an append write into the document", name)
		}
		got = append(got, string(name)+"="+string(value))
	}
	want := `"a"=1.0 "\u0062"=[ 1 , 2 ] "a"={"x":"}"}`
	if strings.Join(got, " ") != want {
		t.Errorf("members %q, want %q", got, want)
	}
	for _, text := range []string{``, `[1]`, `1`, `{}`, `{"a"`, `{"a":`, `{"a":tru}`, `{1:2}`} {
		for name := range jsontext.Members([]byte(text)) {
			t.Errorf("%q has a member %s", text, name)
		}
	}
}

func TestElementsKeepOrderAndBytes(t *testing.T) {
	var got []string
	for value := range jsontext.Elements([]byte(` [ 1e3 ,"a,b", [ ] , {"k": [1]} ] `)) {
		if cap(value) != len(value) {
			t.Errorf("%s: spare capacity lets an append write into the document", value)
		}
		got = append(got, string(value))
	}
	if want := `1e3 "a,b" [ ] {"k": [1]}`; strings.Join(got, " ") != want {
		t.Errorf("elements %q, want %q", got, want)
	}
	for _, text := range []string{``, `{"a":1}`, `1`, `[]`, `[ ]`, `[,1]`, `[`} {
		for value := range jsontext.Elements([]byte(text)) {
			t.Errorf("%q has an element %s", text, value)
		}
	}
	for range jsontext.Elements([]byte(`[1,2,3]`)) {
		break // stopping early is the caller's right
	}
	for range jsontext.Members([]byte(`{"a":1,"b":2}`)) {
		break
	}
}

func TestUnquote(t *testing.T) {
	for _, test := range []struct {
		quoted, text string
		ok           bool
	}{
		{`""`, "", true}, {`"a"`, "a", true}, {`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"\u00e9\u00E9é"`, "ééé", true}, {`"\ud83d\ude00"`, "😀", true}, {`"\uFFFD"`, "\ufffd", true},
		{`"\ud83d"`, "", false}, {`"\ude00"`, "", false}, {`"\ud83dx"`, "", false}, {`"\ud83d\n"`, "", false}, {`"\ude00\ud83d"`, "", false},
		{"\"\xff\"", "", false}, {"\"\\n\xc3\"", "", false}, {"\"\xed\xa0\x80\"", "", false},
		{`"a`, "", false}, {`a`, "", false}, {``, "", false}, {`"a"b`, "", false}, {`"\q"`, "", false}, {`"`, "", false},
	} {
		if text, ok := jsontext.Unquote([]byte(test.quoted)); text != test.text || ok != test.ok {
			t.Errorf("Unquote(%s) = %q, %v; want %q, %v", test.quoted, text, ok, test.text, test.ok)
		}
	}
}

func TestAppendStringComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		quoted := jsontext.AppendString([]byte("x"), text)[1:]
		var want string
		if err := json.Unmarshal(quoted, &want); err != nil {
			t.Fatalf("%q became %q: %v", text, quoted, err)
		}
		got, ok := jsontext.Unquote(quoted)
		if !ok || got != want {
			t.Fatalf("%q became %q, which reads %q, %v", text, quoted, got, ok)
		}
		// An invalid byte becomes one U+FFFD, as it does for encoding/json.
		if clean := string([]rune(text)); got != clean {
			t.Fatalf("%q came back as %q", text, got)
		}
		if utf8.ValidString(text) && got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
	})
	if got := string(jsontext.AppendString(nil, "<a&b>\u2028")); got != "\"<a&b>\u2028\"" {
		t.Errorf("escaped more than JSON asks for: %s", got)
	}
}

func TestParseInteger(t *testing.T) {
	for _, test := range []struct {
		number string
		value  int64
		ok     bool
	}{
		{"0", 0, true}, {"-0", 0, true}, {"0.000", 0, true}, {"0e999999999999999999999", 0, true}, {"1", 1, true}, {"-1", -1, true},
		{"1.0", 1, true}, {"1e3", 1000, true}, {"1.5e1", 15, true}, {"1500e-2", 15, true}, {"1501e-2", 0, false}, {"100.0e-2", 1, true},
		{"1.5", 0, false}, {"1e-1", 0, false}, {"0.1", 0, false}, {"1e-99999999999999999999", 0, false},
		{"9223372036854775807", 1<<63 - 1, true}, {"9223372036854775808", 0, false},
		{"-9223372036854775808", -1 << 63, true}, {"-9223372036854775809", 0, false},
		{"922337203685477580.7e1", 1<<63 - 1, true}, {"9.223372036854775807E+18", 1<<63 - 1, true}, {"1234567890123456789", 1234567890123456789, true},
		{"1e18", 1e18, true}, {"1e19", 0, false}, {"1e999999999999999999999", 0, false},
		{"10000000000000000000000e-22", 1, true}, {"10000000000000000000001e-22", 0, false}, {"10000000000000000000000e-21", 10, true}, {"0.0000000000000000000005e22", 5, true},
		{"", 0, false}, {"x", 0, false}, {"01", 0, false}, {"1x", 0, false}, {"-", 0, false}, {`"1"`, 0, false},
	} {
		got, ok := jsontext.ParseInteger([]byte(test.number)).Int64()
		if ok != test.ok || ok && got != test.value {
			t.Errorf("ParseInteger(%s) = %d, %v; want %d, %v", test.number, got, ok, test.value, test.ok)
		}
	}
	if n := jsontext.ParseInteger([]byte("18446744073709551615")); !n.Whole || !n.Fits || n.Magnitude != 1<<64-1 {
		t.Errorf("the largest uint64 reads %+v", n)
	}
	if n := jsontext.ParseInteger([]byte("18446744073709551616")); !n.Whole || n.Fits {
		t.Errorf("one more reads %+v", n)
	}
}

// Exact arithmetic is the judge of every number with a short exponent.
func TestParseIntegerIsExact(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		text := number.Draw(t, "number")
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("no number: %s", text)
		}
		got := jsontext.ParseInteger([]byte(text))
		if got.Whole != exact.IsInt() {
			t.Fatalf("%s: whole is %v", text, got.Whole)
		}
		if !got.Whole {
			return
		}
		size := new(big.Int).Abs(exact.Num())
		if got.Fits != size.IsUint64() {
			t.Fatalf("%s: fits is %v", text, got.Fits)
		}
		if got.Fits && got.Magnitude != size.Uint64() {
			t.Fatalf("%s reads %d", text, got.Magnitude)
		}
		if value, ok := got.Int64(); ok != exact.Num().IsInt64() || ok && value != exact.Num().Int64() {
			t.Fatalf("%s is %d, %v", text, value, ok)
		}
	})
}
