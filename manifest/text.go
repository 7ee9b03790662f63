package manifest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// hidden finds a character that a reader would not see, or that changes how the
// rest is seen: controls, format characters (direction marks, zero-width
// characters, tags), line and paragraph separators, fillers, and the variation
// selectors but the one that asks for an emoji. permitted lists exceptions.
func hidden(s, permitted string) (name string, found bool) {
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

// printable makes foreign text safe to print in a message, without quotes.
func printable(s string) string {
	q := quote(s)
	if end := strings.LastIndexByte(q, '"'); end > 0 {
		q = q[1:end]
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q)
}

// integer renders a bound.
func integer(n int64) string { return strconv.FormatInt(n, 10) }
