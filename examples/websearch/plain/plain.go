// Package plain turns the pieces of HTML that a search engine gives back into plain text on one
// line. It is for reading and never for showing in a browser: text that was escaped comes out as
// it was meant, angle brackets included.
package plain

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxPiece is what of a piece is read, in bytes. A description has a few hundred.
	maxPiece = 16 << 10
	// maxTag is the longest tag, in bytes. Text full of tags that never end would otherwise be
	// searched to its end for each of them.
	maxTag = 1 << 10
)

// Text is the text of a piece of HTML: tags, comments, scripts and styles gone, entities resolved
// once, white space folded, no control or format character. It has at most limit characters, the
// last of them an ellipsis where there were more.
func Text(piece string, limit int) string {
	piece = piece[:min(len(piece), maxPiece)]
	text := html.UnescapeString(stripped(strings.ToValidUTF8(piece, "\uFFFD")))
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r): // controls, and the invisible ones that reorder or join text
			return -1
		}
		return r
	}, text)
	return cut(strings.Join(strings.Fields(text), " "), limit)
}

// cut shortens a text, if it can at the end of a word.
func cut(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	short := string([]rune(text)[:max(limit-1, 0)])
	if space := strings.LastIndexByte(short, ' '); space > len(short)*3/4 {
		short = short[:space]
	}
	return strings.TrimRight(short, " ,;:") + "…"
}

// inline are the elements that stand inside a word or a sentence. Any other parts two words.
var inline = map[string]bool{
	"a": true, "abbr": true, "b": true, "bdi": true, "cite": true, "code": true, "em": true, "font": true, "i": true, "kbd": true, "mark": true,
	"q": true, "s": true, "small": true, "span": true, "strong": true, "sub": true, "sup": true, "time": true, "u": true, "var": true, "wbr": true,
}

// hidden are the elements whose content is no text.
var hidden = map[string]bool{"script": true, "style": true, "template": true, "noscript": true}

// stripped is a piece of HTML without its tags. A < that begins no tag is text, and so is a tag
// that never ends.
func stripped(piece string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(piece, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, ok := tag(rest)
		if !ok {
			b.WriteByte('<')
			piece = rest
			continue
		}
		if !inline[strings.TrimPrefix(name, "/")] {
			b.WriteByte(' ')
		}
		if piece = after; hidden[name] {
			piece = closed(piece, name)
		}
	}
}

// tag reads what stands after a <: the tag's name in lower case, with its slash where it closes,
// and what follows the tag. A comment has the name "!".
func tag(text string) (name, after string, ok bool) {
	if comment, is := strings.CutPrefix(text, "!--"); is {
		_, after, ok = strings.Cut(comment, "-->")
		return "!", after, ok
	}
	if text != "" && (text[0] == '!' || text[0] == '?') {
		_, after, ok = strings.Cut(text, ">")
		return "!", after, ok
	}
	start := 0
	if strings.HasPrefix(text, "/") {
		start = 1
	}
	end := start
	for end < len(text) && (letter(text[end]) || end > start && (text[end] == '-' || text[end] >= '0' && text[end] <= '9')) {
		end++
	}
	if end == start {
		return "", "", false
	}
	after, ok = attributes(text[end:])
	return strings.ToLower(text[:end]), after, ok
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// attributes passes what stands in a tag, up to its >. One inside a quoted value does not end it.
func attributes(text string) (after string, ok bool) {
	var quote, last byte
	for i := range min(len(text), maxTag) {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && last == '=':
			quote = c
		case c == '>':
			return text[i+1:], true
		}
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			last = c
		}
	}
	return "", false
}

// closed passes the content of an element. One that is never closed has the rest as its content.
func closed(text, name string) string {
	for {
		_, rest, found := strings.Cut(text, "</")
		if !found {
			return ""
		}
		if closing, after, ok := tag("/" + rest); ok && closing == "/"+name {
			return after
		}
		text = rest
	}
}
