package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestTableAligns(t *testing.T) {
	var out strings.Builder
	table(&out, [][]string{{"NAME", "TEXT"}, {"日本", "wide"}, {"a", ""}})
	if want := "NAME  TEXT\n日本  wide\na\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"ab", 1, "…"},
	} {
		if got := clip(tt.in, tt.n); got != tt.want || columns(got) > tt.n {
			t.Errorf("clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want []string
	}{
		{"", 10, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"unbreakable word", 5, []string{"unbreakable", "word"}},
		{"a\n\nb", 10, []string{"a", "", "b"}},
	} {
		if got := wrap(tt.in, tt.n); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestLayoutJSONKeepsNumbers(t *testing.T) {
	const doc = `{"a":[1.0,1e3,9007199254740993,-0],"b":"<\u003c>"}`
	if got := string(layoutJSON([]byte(" "+doc+"\n"), false)); got != doc {
		t.Errorf("compact: %s", got)
	}
	pretty := string(layoutJSON([]byte(doc), true))
	if !strings.Contains(pretty, "\n    9007199254740993,") || !strings.Contains(pretty, `"<\u003c>"`) {
		t.Errorf("indented: %s", pretty)
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 2359296: "2.2 MiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("bytesText(%d) = %s, want %s", n, got, want)
		}
	}
}
