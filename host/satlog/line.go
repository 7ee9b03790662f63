package satlog

import (
	"bytes"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"
)

// stampLayout is RFC 3339 in UTC with milliseconds, always as long as itself.
const stampLayout = "2006-01-02T15:04:05.000Z"

// The marks, which tell output from notes.
const (
	markOutput = '|'
	markNote   = '#'
)

// noSession stands where a session has no name.
const noSession = "-"

// escapeLen is the length of \xNN.
const escapeLen = 4

// appendHeader appends what stands before the text of an entry.
func appendHeader(dst []byte, at time.Time, session string, mark byte) []byte {
	dst = at.UTC().AppendFormat(dst, stampLayout)
	dst = append(dst, ' ')
	dst = appendSession(dst, session)
	return append(dst, ' ', mark, ' ')
}

// appendSession appends a name without a space in it, cut to sessionBytes.
func appendSession(dst []byte, session string) []byte {
	session = session[:min(len(session), sessionBytes)]
	switch session {
	case "":
		return append(dst, noSession...)
	case noSession:
		return appendHex(dst, session[0])
	}
	for i := range len(session) {
		c := session[i]
		if c <= ' ' || c >= 0x7f || c == '\\' && isEscape(session[i:]) {
			dst = appendHex(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// appendText appends text with everything escaped that would break its line.
func appendText(dst, text []byte) []byte {
	plain := 0 // the beginning of what is copied as it stands
	for i := 0; i < len(text); {
		c, size, breaks := text[i], 1, false
		switch {
		case c >= utf8.RuneSelf:
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			breaks = r == utf8.RuneError && size == 1 || r < 0xa0 || r == '\u2028' || r == '\u2029'
		case c == '\\':
			breaks = isEscape(text[i:])
		default:
			breaks = c < ' ' && c != '\t' || c == 0x7f
		}
		if breaks {
			dst = append(dst, text[plain:i]...)
			for _, b := range text[i : i+size] {
				dst = appendHex(dst, b)
			}
			plain = i + size
		}
		i += size
	}
	return append(dst, text[plain:]...)
}

func appendHex(dst []byte, b byte) []byte {
	return hex.AppendEncode(append(dst, '\\', 'x'), []byte{b})
}

// isEscape reports whether s begins with what unescape takes for an escape.
func isEscape[T string | []byte](s T) bool {
	return len(s) >= escapeLen && s[0] == '\\' && s[1] == 'x' && isHex(s[2]) && isHex(s[3])
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// unescape is the inverse of appendText and of appendSession but for a name that is none.
func unescape(s string) string {
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	out = append(out, s[:at]...)
	for i := at; i < len(s); {
		if !isEscape(s[i:]) {
			out = append(out, s[i])
			i++
			continue
		}
		var b [1]byte
		_, _ = hex.Decode(b[:], []byte(s[i+2:i+escapeLen])) // isEscape has looked
		out = append(out, b[0])
		i += escapeLen
	}
	return string(out)
}

// parse reads a line without its newline. One that is not of the format, which somebody else
// wrote or a kill cut short, is an entry with no more than its text.
func parse(line []byte) Entry {
	foreign := Entry{Text: string(line)}
	if len(line) < len(stampLayout)+1 || line[len(stampLayout)] != ' ' {
		return foreign
	}
	at, err := time.Parse(stampLayout, string(line[:len(stampLayout)]))
	if err != nil {
		return foreign
	}
	session, rest, ok := bytes.Cut(line[len(stampLayout)+1:], []byte{' '})
	if !ok || len(session) == 0 || len(rest) < 2 || rest[1] != ' ' || rest[0] != markOutput && rest[0] != markNote {
		return foreign
	}
	e := Entry{Time: at, Note: rest[0] == markNote, Text: unescape(string(rest[2:]))}
	if string(session) != noSession {
		e.Session = unescape(string(session))
	}
	return e
}

// pieceOf is how much of a line that is longer than lineBytes goes into its first entry:
// a character is not cut.
func pieceOf(line []byte) int {
	n := lineBytes
	for n > lineBytes-utf8.UTFMax && !utf8.RuneStart(line[n]) {
		n--
	}
	if !utf8.RuneStart(line[n]) {
		return lineBytes // no UTF-8 anyway
	}
	return n
}
