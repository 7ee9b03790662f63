package escape

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLine(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text", "convert 12 °C – naïve 日本語 🙂", "convert 12 °C – naïve 日本語 🙂"},
		{"color", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"title and clipboard", "\x1b]52;c;aGk=\x07", `\x1b]52;c;aGk=\x07`},
		{"eight-bit control sequence", "\u009b31m", `\u009b31m`},
		{"raw eight-bit byte", "\x9b31m", `\x9b31m`},
		{"newline, tab, return", "a\nb\tc\rd", `a\nb\tc\rd`},
		{"backspace and delete", "ab\b\x7f", `ab\x08\x7f`},
		{"bidi override", "user\u202e txt", `user\u202e txt`},
		{"bidi isolate", "\u2066x\u2069", `\u2066x\u2069`},
		{"zero width", "a\u200bb\u200dc\ufeff", `a\u200bb\u200dc\ufeff`},
		{"line and paragraph separator", "a\u2028b\u2029", `a\u2028b\u2029`},
		{"soft hyphen", "a\u00adb", `a\u00adb`},
		{"tag characters", "a\U000e0041", `a\U000e0041`},
		{"hidden variation selectors", "a\U000e0100\ufe01", `a\U000e0100\ufe01`},
		{"the selector of pictures", "✔\ufe0f", "✔\ufe0f"},
		{"fillers", "a\u3164\u115f\uffa0", `a\u3164\u115f\uffa0`},
		{"no-break space", "10\u00a0km", `10\u00a0km`},
		{"private use", "\ue000", `\ue000`},
		{"broken UTF-8", "a\xc3(", `a\xc3(`},
		{"surrogate bytes", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"a real replacement character", "a\ufffdb", "a\ufffdb"},
		{"nul", "a\x00b", `a\x00b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Line(tt.in); got != tt.want {
				t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestBlock(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"lines and tabs stay", "a\n\tb\n", "a\n\tb\n"},
		{"windows line ends", "a\r\nb\r\n", "a\nb\n"},
		{"a lone return", "safe\rEVIL", `safe\rEVIL`},
		{"spaces of other scripts", "10\u00a0km\u3000x", "10\u00a0km\u3000x"},
		{"control sequences", "\x1b[2Jx", `\x1b[2Jx`},
		{"bidi", "\u202ex", `\u202ex`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Block(tt.in); got != tt.want {
				t.Errorf("Block(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestIndentedKeepsForeignLinesApart(t *testing.T) {
	got := Indented("no\nmanifest: all is well\r\n", "    ")
	if want := "no\n    manifest: all is well"; got != want {
		t.Errorf("Indented = %q, want %q", got, want)
	}
}

func TestJSONDecodesToTheSameValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{rapid.String().Draw(t, "key"): rapid.String().Draw(t, "value")}
		text, err := json.MarshalIndent(value, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		shown := JSON(string(text))
		var back map[string]any
		if err := json.Unmarshal([]byte(shown), &back); err != nil {
			t.Fatalf("JSON(%q) = %q: %v", text, shown, err)
		}
		if !reflect.DeepEqual(back, value) {
			t.Fatalf("JSON(%q) decodes to %v, want %v", text, back, value)
		}
		assertHarmless(t, shown)
	})
}

func TestJSONSpellsPairs(t *testing.T) {
	if got, want := JSON("\"\U000e0041\u202e\xff\""), `"\udb40\udc41\u202e\ufffd"`; got != want {
		t.Errorf("JSON = %s, want %s", got, want)
	}
}

func TestAnyTextComesOutHarmless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		line := Line(in)
		assertHarmless(t, line)
		if strings.ContainsAny(line, "\n\t") {
			t.Fatalf("Line(%q) = %q has a line of its own", in, line)
		}
		assertHarmless(t, Block(in))
		if Line(line) != line {
			t.Fatalf("Line is not settled after one pass: %q", line)
		}
	})
}

func FuzzBlock(f *testing.F) {
	f.Add("\x1b]0;x\x07\u202e\xff\r")
	f.Fuzz(func(t *testing.T, in string) {
		assertHarmless(t, Block(in))
		assertHarmless(t, Line(in))
		assertHarmless(t, JSON(in))
	})
}

func assertHarmless(t interface{ Fatalf(string, ...any) }, s string) {
	if !utf8.ValidString(s) {
		t.Fatalf("%q is no UTF-8", s)
	}
	for _, r := range s {
		if r == '\n' || r == '\t' {
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			t.Fatalf("%q holds %U", s, r)
		}
	}
}
