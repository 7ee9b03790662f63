package convert

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/ext"
)

func TestConverted(t *testing.T) {
	tests := []struct {
		name string
		in   request
		want string
	}{
		{"exact", request{Value: "26.2", From: "mi", To: "km", Digits: 12},
			`{"text":"26.2 mi = 42.1648128 km","value":42.1648128,"unit":"km","quantity":"length","exact":true}`},
		{"rounded", request{Value: "1", From: "m", To: "foot", Digits: 4},
			`{"text":"1 m ≈ 3.281 ft","value":3.281,"unit":"ft","quantity":"length","exact":false}`},
		{"nineteen digits", request{Value: "9007199254740993", From: "byte", To: "bit", Digits: 30},
			`{"text":"9007199254740993 B = 72057594037927944 bit","value":72057594037927944,"unit":"bit","quantity":"data","exact":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := converted(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestRunRefusesInWordsAModelCanUse(t *testing.T) {
	tests := []struct{ name, args, want string }{
		{"unknown unit", `{"value":1,"from":"milez","to":"km","digits":5}`, "from: there is no unit \"milez\"; did you mean mi"},
		{"two meanings", `{"value":1,"from":"ton","to":"kg","digits":5}`, "short_ton"},
		{"two quantities", `{"value":1,"from":"m","to":"kg","digits":5}`, "m measures length and kg measures mass"},
		{"no such temperature", `{"value":-300,"from":"C","to":"F","digits":5}`, "absolute zero, which is -273.15 °C"},
		{"a number too large", `{"value":1e301,"from":"m","to":"km","digits":5}`, "between 1e-300 and 1e300"},
		{"too many digits", `{"value":1,"from":"m","to":"km","digits":31}`, "ask for 1 to 30"},
		{"no number", `{"value":"one","from":"m","to":"km"}`, "value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Run(ext.Ctx{}, json.RawMessage(tt.args))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v; want it to say %q", tt.args, err, tt.want)
			}
		})
	}
}
