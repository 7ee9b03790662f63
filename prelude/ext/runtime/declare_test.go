package runtime

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const sample = `{"name":"units","version":"0.1.0","revision":"r","tools":["convert"],"hooks":[],"config":{"results":10}}`

func declared(json string) string {
	return fmt.Sprintf("loomext-declaration/1 %08x %s\n", len(json), json)
}

func TestADeclarationGivesItsConfiguration(t *testing.T) {
	got, err := configOf(declared(sample))
	if err != nil || string(got) != `{"results":10}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestABadDeclarationIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "does not begin",
		"loomext-declaration/2 00000000 \n":   "does not begin",
		"loomext-declaration/1 ":              "no length",
		"loomext-declaration/1 0000007b":      "no length",
		"loomext-declaration/1 0000000G {}\n": "lower case hexadecimal",
		"loomext-declaration/1 0000000A {\"name\":1}\n":                      "lower case hexadecimal",
		"loomext-declaration/1 +0000002 {}\n":                                "lower case hexadecimal",
		"loomext-declaration/1 00000002 {}":                                  "newline",
		"loomext-declaration/1 00000003 {}\n":                                "has 2 bytes of JSON",
		declared("{}"):                                                       "has no ",
		declared("[]"):                                                       "want an object",
		declared(sample + sample):                                            "not JSON",
		declared(" " + sample):                                               "want an object",
		declared(strings.Replace(sample, `"tools"`, `"toolz"`, 1)):           "toolz",
		declared(strings.Replace(sample, `"hooks":[]`, `"hooks":null`, 1)):   "has a null for hooks",
		declared(strings.Replace(sample, `"name":"units"`, `"name":4`, 1)):   "has a number for name",
		declared(strings.Replace(sample, `,"config":{"results":10}`, ``, 1)): "has no config",
	} {
		if got, err := configOf(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v; want %q", text, got, err, want)
		}
	}
}

func TestNoCutOfADeclarationIsOne(t *testing.T) {
	whole := declared(sample)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, len(whole)-1).Draw(t, "bytes kept")
		if got, err := configOf(whole[:n]); err == nil {
			t.Fatalf("%q gave %s", whole[:n], got)
		}
	})
}

func FuzzDeclaration(f *testing.F) {
	f.Add(declared(sample))
	f.Add("loomext-declaration/1 ffffffff {}\n")
	f.Fuzz(func(t *testing.T, text string) { configOf(text) })
}
