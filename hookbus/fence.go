package hookbus

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fenceTag is the word of a fence.
const fenceTag = "extension"

// Fence puts a text of an extension's between <extension name="…"> and </extension>.
// The text cannot close its fence or open another: a < that begins either, in whatever
// case, in forms that Unicode holds to be the same, and with whatever hidden in it,
// becomes &lt;. So does one that begins a comment or a section, which could swallow the
// end. Letters of other scripts that look alike are not judged. All else stays as it is.
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
	for i, r := range rest {
		r = plain(r)
		switch {
		case i == 0 && r == '!':
			return true
		case hidden(r):
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

// hidden says whether a character does not show between others: fillers that are letters
// to Unicode, marks, a blank, and what stands for bytes that are no text.
func hidden(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0, utf8.RuneError:
		return true
	}
	return unicode.Is(unicode.M, r)
}

// plain is the ASCII character that another form stands for: of full or small width, in
// a circle, of mathematics.
func plain(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	if form := norm.NFKC.String(string(r)); len(form) == 1 {
		return rune(form[0])
	}
	return r
}
