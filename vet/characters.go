package vet

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// characters refuses what a reader would not see, or would see elsewhere than it is. It reports whether the file is
// free of such.
func (f *goFile) characters() bool {
	before := len(*f.found)
	for i := 0; i < len(f.text); {
		c := f.text[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(f.text[i:])
		if what, instead := oddCharacter(r, size); what != "" {
			f.add(i, LintCharacter, what, instead)
			if len(*f.found)-before > MaxFindings {
				break
			}
		}
		i += size
	}
	return len(*f.found) == before
}

func oddCharacter(r rune, size int) (what, instead string) {
	const escape = "remove it, or write it as an escape in a string"
	switch {
	case r == utf8.RuneError && size <= 1:
		return "a byte that is not UTF-8", "save the file as UTF-8; write raw bytes as escapes in a string"
	case r == '\r':
		return "a carriage return", "end lines with a line feed alone; write \\r in a string where one is meant"
	case r == 0xFEFF:
		return "a byte order mark (U+FEFF)", "save the file without one"
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return fmt.Sprintf("a control character (U+%04X)", r), escape
	case r == 0x2028 || r == 0x2029:
		return fmt.Sprintf("a line separator that Go does not take for one (U+%04X)", r), escape
	case unicode.Is(unicode.Cf, r):
		return fmt.Sprintf("a format character (U+%04X), which is invisible or reorders the text around it", r), escape
	case invisible(r):
		return fmt.Sprintf("an invisible character (U+%04X)", r), escape
	}
	return "", ""
}

// invisible is what renderers ignore, beyond the format characters. The two selectors between text and picture style
// are common after symbols and carry nothing, so they pass.
func invisible(r rune) bool {
	if r == 0xFE0E || r == 0xFE0F {
		return false
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
