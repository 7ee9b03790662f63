package tomlfile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden finds a character that a reader would not see, or that changes how the
// rest is seen: controls, format characters (direction marks, zero-width
// characters, tags), line and paragraph separators, fillers, and the variation
// selectors but the one that asks for an emoji. permitted lists exceptions.
func Hidden(s, permitted string) (name string, found bool) {
	for _, r := range s {
		if !isHidden(r) || strings.ContainsRune(permitted, r) {
			continue
		}
		return runeName(r), true
	}
	return "", false
}

func isHidden(r rune) bool {
	if r < 0x7f {
		return r < 0x20
	}
	const emojiPresentation = '\ufe0f'
	return r != emojiPresentation && unicode.In(r,
		unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

func runeName(r rune) string {
	switch r {
	case '\n':
		return "a line break"
	case '\t':
		return "a tab"
	case '\r':
		return "a carriage return"
	}
	if r < 0x20 || r >= 0x7f && r < 0xa0 {
		return fmt.Sprintf("the control character U+%04X", r)
	}
	return fmt.Sprintf("the invisible character U+%04X", r)
}

// Quote renders foreign text for an error message: on one line, without
// anything a terminal would act on, and cut to a readable length.
func Quote(s string) string {
	if len(s) <= maxQuoted {
		return escape(strconv.Quote(s))
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return escape(strconv.Quote(s[:end]+"…")) + fmt.Sprintf(" (%d bytes)", len(s))
}

// escape replaces what strconv holds to be printable and a reader does not see.
func escape(quoted string) string {
	if _, found := Hidden(quoted, ""); !found {
		return quoted
	}
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case !isHidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Printable makes foreign text safe to print in a message, without quotes, and
// cuts it to a readable length.
func Printable(s string) string { return unquote(Quote(s)) }

// PrintablePath is Printable for a file's path, which is of use only as a whole.
func PrintablePath(s string) string { return unquote(escape(strconv.Quote(s))) }

// unquote takes the quotes off and leaves the escapes of what does not show.
func unquote(q string) string {
	if end := strings.LastIndexByte(q, '"'); end > 0 {
		q = q[1:end]
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q)
}

// InvalidUTF8 finds the first line that is not UTF-8. Lines count from 1.
func InvalidUTF8(text []byte) (line int, found bool) {
	line = 1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return line, true
		}
		if r == '\n' {
			line++
		}
		i += size
	}
	return 0, false
}
