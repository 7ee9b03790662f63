package hookbus

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fenceTag is the word of a fence.
const fenceTag = "extension"

// Fence puts a text of an extension's between <extension name="…"> and </extension>.
// The text cannot close its fence or open another: a < that begins either, in whatever
// case and with whatever hidden in it, becomes &lt;. All else stays as it is.
func Fence(extension, text string) string {
	var out strings.Builder
	out.Grow(len(text) + len(extension) + 2*len(fenceTag) + 16)
	out.WriteString("<" + fenceTag + ` name="`)
	for _, r := range extension {
		// A name has none of the others. What has is no name that the bus found.
		if r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)) {
			r = '_'
		}
		out.WriteRune(r)
	}
	out.WriteString(`">`)
	done := 0
	for i, r := range text {
		if plain(r) == '<' && beginsFence(text[i+utf8.RuneLen(r):]) {
			out.WriteString(text[done:i])
			out.WriteString("&lt;")
			done = i + utf8.RuneLen(r)
		}
	}
	out.WriteString(text[done:])
	out.WriteString("</" + fenceTag + ">")
	return out.String()
}

// beginsFence says whether what follows a < could be read as a fence: the tag's letters,
// after anything that is no letter and with what does not show among them.
func beginsFence(rest string) bool {
	at := 0
	for _, r := range rest {
		r = plain(r)
		switch {
		case unicode.ToLower(r) == rune(fenceTag[at]) || r == 'ſ' && fenceTag[at] == 's':
			if at++; at == len(fenceTag) {
				return true
			}
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '<' || r == '>':
			return false
		case at > 0 && unicode.IsPrint(r) && !unicode.Is(unicode.Mn, r) && r != ' ':
			return false
		}
	}
	return false
}

// plain is the ASCII character that one of full or small width stands for.
func plain(r rune) rune {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E:
		return r - 0xFF01 + '!'
	case r == 0xFE64:
		return '<'
	case r == 0xFE65:
		return '>'
	case r == 0xFE68:
		return '\\'
	}
	return r
}
