// Package escape makes text that loomext did not write safe to show on a terminal.
//
// A terminal obeys what it prints: control sequences move the cursor, rewrite lines that
// were read already and set the clipboard; bidirectional and other format characters show
// letters in another order than they stand in, or not at all. Each such character becomes a
// visible \xNN, \uNNNN or \UNNNNNNNN, so that what the operator reads is what is there.
//
// It is not a parser of control sequences and removes nothing. It does not judge letters
// that look alike. A backslash in the text stays as it is: an escape that was written out in
// the text and one that this package made look the same, and neither can do harm.
package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line escapes text for a place inside one line: no newline or tab remains.
func Line(s string) string { return rewrite(s, shownInLine, goEscape) }

// Block escapes text that may have lines of its own: newlines, tabs and the spaces of other
// scripts remain. A carriage return remains only as part of a line's end, where it is dropped:
// alone it would let the rest of a line overwrite its beginning.
func Block(s string) string {
	if strings.Contains(s, "\r\n") {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return rewrite(s, shownInBlock, goEscape)
}

// JSON escapes a JSON document the way JSON itself spells a character, so that the document
// still decodes to the same value. Layout between its tokens remains.
func JSON(s string) string { return rewrite(s, shownInBlock, jsonEscape) }

// Indented is Block with every line after the first moved right, so that no line of the text
// can pass for a line of the program that shows it.
func Indented(s, indent string) string {
	s = strings.TrimRight(Block(s), "\n")
	return strings.ReplaceAll(s, "\n", "\n"+indent)
}

// shownInLine reports whether r is a character that occupies space and shows as itself.
func shownInLine(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= ' ' && r != 0x7f
	case unicode.Is(unicode.Variation_Selector, r):
		// The two selectors that choose between the text and the picture of a symbol are in
		// common use; the other 254 carry hidden text as well as anything else.
		return r == 0xfe0e || r == 0xfe0f
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return false // fillers: letters by class, and invisible
	}
	return unicode.IsPrint(r)
}

func shownInBlock(r rune) bool {
	return r == '\n' || r == '\t' || shownInLine(r) || unicode.Is(unicode.Zs, r)
}

// rewrite copies s with every character that is not shown, and every byte that is no UTF-8,
// replaced by its escape. Text that needs none is returned as it came.
func rewrite(s string, shown func(rune) bool, escape func(*strings.Builder, rune, byte)) string {
	at := firstHidden(s, shown)
	if at < 0 {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + 16)
	out.WriteString(s[:at])
	for i := at; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			escape(&out, -1, s[i])
		case shown(r):
			out.WriteString(s[i : i+size])
		default:
			escape(&out, r, 0)
		}
		i += size
	}
	return out.String()
}

func firstHidden(s string, shown func(rune) bool) int {
	for i, r := range s {
		if !shown(r) {
			return i
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// goEscape writes the escape a Go string would have. A negative rune means the byte.
func goEscape(out *strings.Builder, r rune, b byte) {
	switch {
	case r < 0:
		fmt.Fprintf(out, `\x%02x`, b)
	case r == '\n':
		out.WriteString(`\n`)
	case r == '\r':
		out.WriteString(`\r`)
	case r == '\t':
		out.WriteString(`\t`)
	case r < utf8.RuneSelf:
		fmt.Fprintf(out, `\x%02x`, r)
	case r <= 0xffff:
		fmt.Fprintf(out, `\u%04x`, r)
	default:
		fmt.Fprintf(out, `\U%08x`, r)
	}
}

// jsonEscape writes UTF-16 units, as JSON does. A byte that is no UTF-8 becomes the
// replacement character that every JSON decoder would read for it.
func jsonEscape(out *strings.Builder, r rune, _ byte) {
	if r < 0 {
		r = utf8.RuneError
	}
	if r <= 0xffff {
		fmt.Fprintf(out, `\u%04x`, r)
		return
	}
	r -= 0x10000
	fmt.Fprintf(out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
}
