package tomlfile

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"name", "description", "prompt_snippet", "parameters", "entry", "timeout_ms", "net", "fs_read"}
	for got, want := range map[string]string{
		"nmae": "name", "Name": "name", "names": "name", "discription": "description", "desc": "description", "prompt-snippet": "prompt_snippet",
		"promptsnippet": "prompt_snippet", "parameter": "parameters", "timeout": "timeout_ms", "timeoutMs": "timeout_ms", "nett": "net", "fsread": "fs_read",
		"x": "", "zzzz": "", "": "", strings.Repeat("name", 1000): "", "entirely": "", "params": "parameters", "timeout_milliseconds": "", "entrypoint": "",
	} {
		if near, _ := Nearest(got, known); near != want {
			t.Errorf("%q: got %q, want %q", got, near, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"kitten", "sitting", 3}, {"é", "e", 1},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("%q, %q: got %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
