package hookbus

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// The readers here cut up JSON that has been checked, without decoding it: what is in
// the pieces keeps every byte. They are total: of a text that is no JSON they give some
// pieces or none.

// skipSpace is the place of the next token at or after i.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString is the end of the string that begins at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		quote := bytes.IndexByte(b[i:], '"')
		if quote < 0 {
			return len(b)
		}
		end := i + quote
		escapes := end
		for escapes > i && b[escapes-1] == '\\' {
			escapes--
		}
		i = end + 1
		if (end-escapes)%2 == 0 {
			return i
		}
	}
	return len(b)
}

// skipValue is the end of the value that begins at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i = skipWord(b, i)
		}
		if depth == 0 {
			return i
		}
	}
	return len(b)
}

// skipWord is the end of the number or word that begins at i.
func skipWord(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case '"', '{', '[', '}', ']', ',', ':', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

// span is a value's place in a text.
type span struct{ from, to int }

func (s span) of(b []byte) []byte { return b[s.from:s.to:s.to] }

// trimmed is a text without the space around it.
func trimmed(b []byte) []byte {
	at := skipSpace(b, 0)
	return bytes.TrimRight(b[at:], " \n\t\r")
}

// elements gives the values of an array, which b is.
func elements(b []byte) iter.Seq[span] {
	return func(yield func(span) bool) {
		if len(b) == 0 || b[0] != '[' {
			return
		}
		for i := skipSpace(b, 1); i < len(b) && b[i] != ']'; {
			end := skipValue(b, i)
			if end == i || !yield(span{i, end}) {
				return
			}
			if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
				i = skipSpace(b, i+1)
			}
		}
	}
}

// find finds the value of an object's member. It is false where b is no object, and
// where the member is absent or stands there twice: two readers of such a document
// could see two different answers.
func find(b []byte, name string) (value span, ok bool) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return span{}, false
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] == '"'; {
		end := skipString(b, i)
		key := b[i:end]
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return span{}, false
		}
		i = skipSpace(b, i+1)
		end = skipValue(b, i)
		if isKey(key, name) {
			if ok {
				return span{}, false
			}
			value, ok = span{i, end}, true
		}
		if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return value, ok
}

// isKey says whether a string of JSON spells a name.
func isKey(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return len(key) == len(name)+2 && string(key[1:len(key)-1]) == name
	}
	text, ok := unquoted(key)
	return ok && text == name
}

// unquoted is the text of a JSON string. It is false for any other value.
func unquoted(value []byte) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	if end := len(value) - 1; end > 0 && bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return string(value[1:end]), true
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err == nil
}
