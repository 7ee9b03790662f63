package manifest

import (
	"strings"
	"testing"
)

const configured = `
[extension]
name = "x"
description = "d"

[[hook]]
event = "usage"
entry = "gate"

[config]
results = 10
ratio = 1.0
on = true
greeting = "hello"
list = [1, 2]
nested = { a = 1 }
`

func TestOverride(t *testing.T) {
	config := decode(t, configured).Config()
	tests := map[string]struct {
		sets      map[string]string
		overrides string
		fault     string
	}{
		"nothing":                  {nil, `{}`, ""},
		"an integer":               {map[string]string{"results": "5"}, `{"results":5}`, ""},
		"a negative integer":       {map[string]string{"results": "-5"}, `{"results":-5}`, ""},
		"a float":                  {map[string]string{"ratio": "2.50"}, `{"ratio":2.5}`, ""},
		"a whole float":            {map[string]string{"ratio": "2"}, `{"ratio":2}`, ""},
		"a boolean":                {map[string]string{"on": "false"}, `{"on":false}`, ""},
		"text as it is":            {map[string]string{"greeting": ` 5 "x"=y `}, `{"greeting":" 5 \"x\"=y "}`, ""},
		"no text":                  {map[string]string{"greeting": ""}, `{"greeting":""}`, ""},
		"an array":                 {map[string]string{"list": ` [ "a", {"b": null} ] `}, ``, "no null"},
		"another array":            {map[string]string{"list": ` [ "a", {"b": 1.0} ] `}, `{"list":["a",{"b":1}]}`, ""},
		"a table":                  {map[string]string{"nested": `{"b":[]}`}, `{"nested":{"b":[]}}`, ""},
		"several":                  {map[string]string{"results": "1", "on": "true"}, `{"on":true,"results":1}`, ""},
		"a misspelt key":           {map[string]string{"result": "5"}, ``, `--set result: there is no such key; did you mean "results"?`},
		"an unknown key":           {map[string]string{"zzz": "5"}, ``, "use one of greeting, list, nested, on, ratio, results"},
		"a float for an integer":   {map[string]string{"results": "5.5"}, ``, "expected an integer"},
		"a word for an integer":    {map[string]string{"results": "five"}, ``, `expected an integer within ±2^53, found "five"`},
		"an integer out of range":  {map[string]string{"results": "9007199254740993"}, ``, "expected an integer"},
		"hexadecimal":              {map[string]string{"results": "0x10"}, ``, "expected an integer"},
		"no number":                {map[string]string{"ratio": "NaN"}, ``, "expected a number"},
		"infinity":                 {map[string]string{"ratio": "1e999"}, ``, "expected a number"},
		"yes for true":             {map[string]string{"on": "yes"}, ``, "expected true or false"},
		"a table for an array":     {map[string]string{"list": "{}"}, ``, "expected an array as JSON, found a table"},
		"no JSON":                  {map[string]string{"list": "1,2"}, ``, "expected an array as JSON: not JSON"},
		"a key twice":              {map[string]string{"nested": `{"a":1,"a":2}`}, ``, "twice"},
		"a number out of range":    {map[string]string{"list": `[9007199254740993]`}, ``, "beyond ±2^53"},
		"a hidden character":       {map[string]string{"greeting": "a\u202eb"}, ``, "U+202E"},
		"a hidden character below": {map[string]string{"list": `["\u202e"]`}, ``, "U+202E"},
		"text that is no text":     {map[string]string{"greeting": "\xff"}, ``, "UTF-8"},
		"too much":                 {map[string]string{"greeting": strings.Repeat("x", maxConfigString+1)}, ``, "the bound is"},
		"all faults at once":       {map[string]string{"results": "x", "on": "x"}, ``, "--set results"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changed, overrides, err := config.Override(test.sets)
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Fatalf("got %v, want it to say %q", err, test.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(overrides) != test.overrides {
				t.Errorf("overrides: got %s, want %s", overrides, test.overrides)
			}
			again, err := config.Apply(overrides)
			if err != nil || string(again.JSON()) != string(changed.JSON()) {
				t.Errorf("applied: got %s, %v, want %s", again.JSON(), err, changed.JSON())
			}
			if before := decode(t, configured).Config(); string(before.JSON()) != string(config.JSON()) {
				t.Errorf("the defaults changed to %s", config.JSON())
			}
		})
	}
}

func TestOverriddenConfigKeepsTypes(t *testing.T) {
	config, _, err := decode(t, configured).Config().Override(map[string]string{"ratio": "2"})
	if err != nil {
		t.Fatal(err)
	}
	config, _, err = config.Override(map[string]string{"ratio": "2.5"})
	if err != nil || !strings.Contains(string(config.JSON()), `"ratio":2.5`) {
		t.Errorf("got %s, %v", config.JSON(), err)
	}
}

func TestApplyRefuses(t *testing.T) {
	config := decode(t, configured).Config()
	for _, overrides := range []string{`[]`, `{`, `{"zzz":1}`, `{"results":"5"}`, `{"greeting":5}`, `{"results":5.5}`, `{"on":1}`, `{"list":{}}`, `{"results":null}`} {
		if changed, err := config.Apply(Overrides(overrides)); err == nil {
			t.Errorf("%s is taken: %s", overrides, changed.JSON())
		}
	}
	if _, _, err := (Config{}).Override(map[string]string{"a": "1"}); err == nil || !strings.Contains(err.Error(), "no configuration") {
		t.Errorf("got %v", err)
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : 1 , "a" : [ 1.0 , 1e2 , -0 , 0.5 ] } `: `{"a":[1,100,0,0.5],"b":1}`,
		`"\u20ac\u000a\u0001\/"`:                         "\"€\\n\\u0001/\"",
		`9007199254740992`:                               `9007199254740992`,
		`-9007199254740992`:                              `-9007199254740992`,
		`1e-7`:                                           `1e-7`,
		`{"\ud83d\ude00":1,"\ufb33":2}`:                  "{\"\U0001F600\":1,\"\ufb33\":2}",
		`null`:                                           `null`,
	} {
		if got, err := Canonical([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{``, `{`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `9007199254740993`, `-9007199254740993`, `1e16`, `1e400`, `"\ud800"`,
		"\"\xff\"", `NaN`, `01`, `[1,]`, `1 2`, strings.Repeat("[", 100_000)} {
		if got, err := Canonical([]byte(in)); err == nil {
			t.Errorf("%.40q is taken: %s", in, got)
		}
	}
}

func TestFingerprintIgnoresOrder(t *testing.T) {
	a := Fingerprint("sha256:x", []string{"net", "kv"})
	if b := Fingerprint("sha256:x", []string{"kv", "net", "kv"}); a != b {
		t.Errorf("%s, %s", a, b)
	}
	granted := []string{"net", "kv"}
	Fingerprint("sha256:x", granted)
	if granted[0] != "net" {
		t.Error("the argument was sorted")
	}
	seen := map[string]bool{a: true}
	for _, other := range []string{Fingerprint("sha256:x", nil), Fingerprint("sha256:y", []string{"net", "kv"}), Fingerprint("sha256:x", []string{"net"})} {
		if seen[other] {
			t.Errorf("%s twice", other)
		}
		seen[other] = true
	}
}

func TestApprovalKeyCoversEverything(t *testing.T) {
	key := ApprovalKey("f", []byte(`{"a":1}`), "t")
	if ApprovalKey("f", nil, "t") != ApprovalKey("f", []byte("{}"), "t") {
		t.Error("no overrides differ from an empty object")
	}
	seen := map[string]bool{key: true}
	for _, other := range []string{ApprovalKey("g", []byte(`{"a":1}`), "t"), ApprovalKey("f", []byte(`{"a":2}`), "t"), ApprovalKey("f", []byte(`{"a":1}`), "u"),
		ApprovalKey("f", nil, "t"), ApprovalKey("f", []byte(strings.Repeat("x", maxCanonicalBytes+1)), "t"), ApprovalKey("f", []byte(strings.Repeat("x", maxCanonicalBytes+2)), "t")} {
		if seen[other] {
			t.Errorf("%s twice", other)
		}
		seen[other] = true
	}
}
