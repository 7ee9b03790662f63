package satlog

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.FixedZone("east", 3600))

func entryLine(session string, mark byte, text string) string {
	return string(appendText(appendHeader(nil, noon, session, mark), []byte(text)))
}

func TestALineOfAFile(t *testing.T) {
	for _, tt := range []struct {
		name, session string
		mark          byte
		text, want    string
	}{
		{"output", "s1", markOutput, "reading the table", "s1 | reading the table"},
		{"a note", "s1", markNote, "started, pid 12", "s1 # started, pid 12"},
		{"no text", "s1", markOutput, "", "s1 | "},
		{"no session", "", markOutput, "x", "- | x"},
		{"a session named like none", "-", markOutput, "x", `\x2d | x`},
		{"a session with spaces and lines", "a b\n|", markOutput, "x", `a\x20b\x0a| | x`},
		{"a long session", strings.Repeat("s", 100), markOutput, "x", strings.Repeat("s", 64) + " | x"},
		{"text that stays", "s", markOutput, "\ta – naïve 日本語 🙂 \u202e C:\\dir \\n %d", "s | \ta – naïve 日本語 🙂 \u202e C:\\dir \\n %d"},
		{"control characters", "s", markOutput, "a\rb\x00\x1b[31m\x7f\n", `s | a\x0db\x00\x1b[31m\x7f\x0a`},
		{"separators of lines", "s", markOutput, "a\u2028b\u2029c\u0085", `s | a\xe2\x80\xa8b\xe2\x80\xa9c\xc2\x85`},
		{"no UTF-8", "s", markOutput, "a\xff\xc3(\xed\xa0\x80", `s | a\xff\xc3(\xed\xa0\x80`},
		{"a real replacement character", "s", markOutput, "\ufffd", "s | \ufffd"},
		{"what reads as an escape", "s", markOutput, `\x1b \\x1b \xZZ \x1B \x1`, `s | \x5cx1b \\x5cx1b \xZZ \x1B \x1`},
		{"a forged note", "s", markOutput, "x\n2026-11-30T11:00:00.123Z s # ended", `s | x\x0a2026-11-30T11:00:00.123Z s # ended`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line := entryLine(tt.session, tt.mark, tt.text)
			if want := "2026-11-30T11:00:00.123Z " + tt.want; line != want {
				t.Fatalf("got  %q\nwant %q", line, want)
			}
			want := Entry{Time: noon.Truncate(time.Millisecond).UTC(), Session: tt.session[:min(len(tt.session), sessionBytes)], Note: tt.mark == markNote, Text: tt.text}
			if got := parse([]byte(line)); got != want {
				t.Errorf("read back: %+v, want %+v", got, want)
			}
		})
	}
}

func TestALineOfAnotherFormatIsItsText(t *testing.T) {
	for _, line := range []string{
		"", "hello", "2026-11-30", "2026-11-30T11:00:00.123Z", "2026-11-30T11:00:00.123Z ", "2026-11-30T11:00:00.123Z s", "2026-11-30T11:00:00.123Z s |",
		"2026-11-30T11:00:00.123Z  | x", "2026-11-30T11:00:00.123Z s ? x", "2026-11-30T11:00:00.123Z s |x", "2026-13-30T11:00:00.123Z s | x", "2026-11-30 11:00:00.123Z s | x",
	} {
		if got := parse([]byte(line)); got != (Entry{Text: line}) {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// oneLine wants what no reader of lines takes for several.
func oneLine(t interface {
	Helper()
	Fatalf(string, ...any)
}, line string) {
	t.Helper()
	for _, r := range line {
		if r != '\t' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') {
			t.Fatalf("%q holds %q", line, r)
		}
	}
	if strings.ToValidUTF8(line, "") != line {
		t.Fatalf("%q is no UTF-8", line)
	}
}

func TestTextReadsBackAsItWas(t *testing.T) {
	tricky := rapid.SampledFrom([]string{`\`, `\x`, `\x5c`, `\x5`, `x`, "a", "|", "#", " ", "-", "\n", "\r", "\x00", "\x1b", "\xe2", "\x80", "\xa8", "\u2028", "é", "5c"})
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(tricky), func(parts []string) string { return strings.Join(parts, "") }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		session, said := text.Draw(t, "session"), text.Draw(t, "text")
		line := entryLine(session, markOutput, said)
		oneLine(t, line)
		got := parse([]byte(line))
		if got.Text != said || got.Session != session[:min(len(session), sessionBytes)] || got.Note || got.Time.IsZero() {
			t.Fatalf("%q: %+v", line, got)
		}
	})
}

func FuzzALineReadsBackAsItWas(f *testing.F) {
	f.Add("s1", []byte(`C:\dir \x1b`+"\x1b[0m\n"))
	f.Add("-", []byte("\xff\\x5c"))
	f.Fuzz(func(t *testing.T, session string, text []byte) {
		line := appendText(appendHeader(nil, noon, session, markNote), text)
		oneLine(t, string(line))
		if got := parse(line); got.Text != string(text) || !got.Note || got.Session != session[:min(len(session), sessionBytes)] {
			t.Fatalf("%q: %+v", line, got)
		}
	})
}

// Reading is total, and what was read can be written again.
func FuzzAForeignLineIsRead(f *testing.F) {
	f.Add([]byte("2026-11-30T11:00:00.123Z s | a"))
	f.Add([]byte("2026-11-30T11:00:00.123Z \\x20 # \\xff"))
	f.Fuzz(func(t *testing.T, line []byte) {
		e := parse(line)
		if e.Time.IsZero() {
			return
		}
		mark := byte(markOutput)
		if e.Note {
			mark = markNote
		}
		if len(e.Session) > sessionBytes {
			return
		}
		if got := parse(appendText(appendHeader(nil, e.Time, e.Session, mark), []byte(e.Text))); got != e {
			t.Fatalf("%+v became %+v", e, got)
		}
	})
}

func TestALongLineIsCutBetweenCharacters(t *testing.T) {
	for _, tt := range []struct {
		name string
		line string
		want int
	}{
		{"plain", strings.Repeat("a", 2*lineBytes), lineBytes},
		{"in a character", strings.Repeat("a", lineBytes-1) + "🙂", lineBytes - 1},
		{"after one", strings.Repeat("a", lineBytes-4) + "🙂b", lineBytes},
		{"no UTF-8", strings.Repeat("\x80", lineBytes+8), lineBytes},
	} {
		if got := pieceOf([]byte(tt.line)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestTheLongestLineFitsABatch(t *testing.T) {
	header := appendHeader(nil, noon, strings.Repeat("\x00", 2*sessionBytes), markOutput)
	if n := len(appendText(header, bytes.Repeat([]byte{0}, lineBytes))) + 1; n > batchBytes || n > fileBytes {
		t.Errorf("%d bytes", n)
	}
}
