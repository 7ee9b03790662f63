package jsontext_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/internal/jsontext"
	"pgregory.net/rapid"
)

// documents are seeds with every feature and every near miss of the grammar.
var documents = []string{
	``, ` `, `null`, `true`, `false`, `nul`, `nullx`, `truee`, `fals`, `t`, ` null `, "\tnull\r\n", "\vnull", "\ufeffnull",
	`0`, `-0`, `-`, `+1`, `01`, `-01`, `1.`, `.5`, `1.5`, `1e`, `1e+`, `1e-7`, `1E+007`, `1.0e3`, `0x10`, `1_000`, `NaN`, `Infinity`, `1 2`, `00`, `0e0`,
	`""`, `"`, `"a`, `"\"`, `"\""`, `"\\"`, `"\/\b\f\n\r\t"`, `"\u00e9"`, `"\u00E9"`, `"\u00g9"`, `"\u00"`, `"\ud800"`, `"\x"`, `'a'`, `""""`,
	"\"\x00\"", "\"\x1f\"", "\"\x20\"", "\"\x7f\"", "\"\xff\"", "\"\xc3\"", "\"a\nb\"", "\"0123456\n\"", "\"01234567\n\"", "\"012345678\n\"",
	`"0123456"`, `"01234567"`, `"012345678"`, `"0123456\""`, `"01234567\""`, `"é8é8é8é8é8"`, `"!!!!!!!!"`, `"!\"!!!!!!"`, `"####[]]]"`,
	`[]`, `[ ]`, `[`, `]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2]`, `[[],[[]],{}]`, `[1}`, `[[1]`, `[]]`, `[ 1 , 2 ] `, `[1,,2]`,
	`{}`, `{ }`, `{`, `}`, `{"a"}`, `{"a":}`, `{"a":1}`, `{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`, `{"a" : 1 , "b" : [ ] }`, `{1:2}`, `{"a":1]`, `{"a":1}}`,
	`{"a":{"b":[{"c":null},true,"\u2028"]}}`, `{"a":1,"a":2}`, `{"":""}`, `[{}`, `{"a":[}`, `{"a"`, `{"a":`, `{"a":1`, `[1`, `{"a" 1}`, `{a:1}`, `/**/1`, `1//`,
}

func TestValidAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range documents {
		if got, want := jsontext.Valid([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Errorf("Valid(%q) = %v, encoding/json says %v", text, got, want)
		}
		if got := jsontext.Check([]byte(text)) == nil; got != json.Valid([]byte(text)) {
			t.Errorf("Check(%q) == nil is %v", text, got)
		}
	}
}

// Every byte at every place of a word-sized run: the eight-byte step must stop
// exactly where the byte-wise grammar does.
func TestValidAgreesOnEveryByteInAString(t *testing.T) {
	for place := range 17 {
		for c := range 256 {
			text := []byte(`"aaaaaaaaaaaaaaaaaaaa"`)
			text[1+place] = byte(c)
			if got, want := jsontext.Valid(text), json.Valid(text); got != want {
				t.Errorf("Valid(%q) = %v, encoding/json says %v", text, got, want)
			}
		}
	}
}

func TestValidStopsAtTheDepthOfEncodingJSON(t *testing.T) {
	for _, depth := range []int{63, 64, 65, jsontext.MaxDepth - 1, jsontext.MaxDepth, jsontext.MaxDepth + 1, 1 << 20} {
		for _, pair := range []struct {
			open, closing string
			containers    int
		}{{"[", "]", 1}, {`{"a":`, "}", 1}, {`[{"a":`, "}]", 2}} {
			levels := depth / pair.containers
			text := []byte(strings.Repeat(pair.open, levels) + "1" + strings.Repeat(pair.closing, levels))
			if got, want := jsontext.Valid(text), json.Valid(text); got != want {
				t.Errorf("%d levels of %s: Valid = %v, encoding/json says %v", levels, pair.open, got, want)
			}
		}
	}
	if jsontext.Valid([]byte(strings.Repeat("[", 1<<20))) {
		t.Error("a document that never closes is valid")
	}
}

func TestValidWithinCountsContainers(t *testing.T) {
	for _, test := range []struct {
		text  string
		depth int
		want  bool
	}{
		{`1`, 0, true}, {`[]`, 0, false}, {`[]`, 1, true}, {`[{}]`, 1, false}, {`[{}]`, 2, true}, {`[[],[]]`, 2, true}, {`[]`, -1, false},
		{`[]`, jsontext.MaxDepth * 3, true},
	} {
		if got := jsontext.ValidWithin([]byte(test.text), test.depth); got != test.want {
			t.Errorf("ValidWithin(%s, %d) = %v", test.text, test.depth, got)
		}
	}
	deep := []byte(strings.Repeat("[", jsontext.MaxDepth+1) + strings.Repeat("]", jsontext.MaxDepth+1))
	if jsontext.ValidWithin(deep, jsontext.MaxDepth*3) {
		t.Error("a limit beyond MaxDepth was taken at its word")
	}
}

func TestCheckNamesThePlace(t *testing.T) {
	for _, test := range []struct {
		text   string
		offset int
		says   string
	}{
		{``, 0, "the text is empty"},
		{`{"a":1`, 6, "ends after 6 bytes"},
		{`{"a":x}`, 5, "from byte 5 of 7"},
		{`[1,]`, 3, "from byte 3 of 4"},
		{`1 2`, 2, "from byte 2 of 3"},
		{"\"a\nb\"", 2, "from byte 2 of 5"},
		{`"\u00zz"`, 5, "from byte 5 of 8"},
	} {
		var fault *jsontext.SyntaxError
		if err := jsontext.Check([]byte(test.text)); !errors.As(err, &fault) {
			t.Errorf("Check(%q) = %v", test.text, err)
		} else if fault.Offset != test.offset || !strings.Contains(fault.Error(), test.says) {
			t.Errorf("Check(%q): offset %d, %q; want %d, %q", test.text, fault.Offset, fault, test.offset, test.says)
		}
	}
}

// A generated document is valid, and cutting or changing one byte gives what
// encoding/json makes of it.
func TestValidAgreesOnDamagedDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(anyValue(t, 4))
		if err != nil {
			t.Fatal(err)
		}
		if !jsontext.Valid(text) {
			t.Fatalf("Valid(%s) is false", text)
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		text[at] = rapid.Byte().Draw(t, "byte")
		if got, want := jsontext.Valid(text), json.Valid(text); got != want {
			t.Fatalf("Valid(%q) = %v, encoding/json says %v", text, got, want)
		}
		if got, want := jsontext.Valid(text[:at]), json.Valid(text[:at]); got != want {
			t.Fatalf("Valid(%q) = %v, encoding/json says %v", text[:at], got, want)
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
		return rapid.Float64Range(-1e30, 1e30).Draw(t, "number")
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

func FuzzValid(f *testing.F) {
	for _, text := range documents {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := json.Valid(text)
		if got := jsontext.Valid(text); got != want {
			t.Fatalf("Valid(%q) = %v, encoding/json says %v", text, got, want)
		}
		if got := jsontext.Check(text) == nil; got != want {
			t.Fatalf("Check(%q) == nil is %v, encoding/json says %v", text, got, want)
		}
		// The readers are total on anything, valid or not.
		for name, value := range jsontext.Members(text) {
			jsontext.Unquote(name)
			jsontext.Unquote(value)
			jsontext.ParseInteger(value)
		}
		for range jsontext.Elements(text) {
		}
		jsontext.Unquote(text)
		jsontext.ParseInteger(text)
	})
}
