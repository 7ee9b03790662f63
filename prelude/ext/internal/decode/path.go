package decode

import (
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxPath and maxText bound what one fault repeats of a foreign document. A
	// person or a model finds the place with much less.
	maxPath = 240
	maxText = 160
)

// step is one level of a path: a member's name or an element's index.
type step struct {
	name    string
	index   int
	element bool
}

func (w *walk) enter(s step) { w.path = append(w.path, s) }
func (w *walk) leave()       { w.path = w.path[:len(w.path)-1] }

func (w *walk) fault(msg string) {
	if len(w.faults.Listed) == MaxFaults {
		w.faults.More++
		return
	}
	w.faults.Listed = append(w.faults.Listed, Fault{Path: pathText(w.path), Msg: msg})
}

// unfit says that the author's type is at fault, not the document.
func (w *walk) unfit(t reflect.Type) {
	w.fault("the Go type " + t.String() + " holds no JSON; give the field another type")
	w.skip()
}

func (w *walk) unreachable() {
	w.fault("the Go field is, or is behind, an embedded pointer to an unexported type; embed the struct itself")
	w.skip()
}

func pathText(path []step) string {
	if shown := maxPath / 2; len(path) > shown {
		// Each step takes two bytes at least: the middle would be cut anyway.
		return pathText(path[:shown/2]) + "…" + pathText(path[len(path)-shown/2:])
	}
	var text strings.Builder
	for _, s := range path {
		switch {
		case s.element:
			text.WriteByte('[')
			text.WriteString(strconv.Itoa(s.index))
			text.WriteByte(']')
		case plainName(s.name):
			text.WriteByte('.')
			text.WriteString(s.name)
		default:
			text.WriteByte('[')
			text.WriteString(strconv.Quote(cut(s.name, maxPath)))
			text.WriteByte(']')
		}
	}
	if text.Len() <= maxPath {
		return text.String()
	}
	return cut(text.String(), maxPath/2) + "…" + tail(text.String(), maxPath/2)
}

// plainName reports whether a name can stand in a path without quotes.
func plainName(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || r != '-' && !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != "" && len(name) <= maxPath && utf8.ValidString(name)
}

// brief is text from elsewhere, bounded and on one line.
func brief(text string) string {
	short := cut(text, maxText)
	if len(short) < len(text) {
		short += "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, short)
}

// cut is the beginning of text, n bytes at most, whole runes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// tail is the end of text, n bytes at most, whole runes.
func tail(text string, n int) string {
	from := len(text) - n
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}
