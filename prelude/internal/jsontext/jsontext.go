// Package jsontext reads JSON as text: it says whether bytes are a JSON
// document, where a value ends, what kind it is, and what a string or an
// integer means. Nothing is built and nothing is converted, so a value that is
// only passed on leaves exactly as it came.
//
// It is the one JSON scanner of the prelude. A satellite checks every call's
// arguments and every JSON block with it, which is why it is written for speed:
// strings are crossed eight bytes at a time.
//
// It is not a decoder. Go values are filled by prelude/ext and prelude/ext/hook.
//
// Invariants:
//   - [Valid] accepts exactly what encoding/json.Valid accepts, its nesting
//     limit included. A fuzz target holds the two together.
//   - Every function is total. None panics, allocates in proportion to nesting,
//     or recurses.
//   - A returned slice aliases the input and has no spare capacity, so that
//     appending to it cannot write over what follows.
package jsontext

import "strconv"

// MaxDepth is how deeply arrays and objects may nest. encoding/json stops at the
// same depth: what passes here must not fail there.
const MaxDepth = 10000

// Valid reports whether data is one JSON document and nothing else.
func Valid(data []byte) bool { return ValidWithin(data, MaxDepth) }

// ValidWithin is [Valid] with a nesting limit of its own, for a value that will
// stand inside other containers. A limit beyond [MaxDepth] counts as MaxDepth.
func ValidWithin(data []byte, depth int) bool {
	end, ok := skipValue(data, SkipSpace(data, 0), min(depth, MaxDepth))
	return ok && SkipSpace(data, end) == len(data)
}

// Check is [Valid] with the place: nil, or a *SyntaxError.
func Check(data []byte) error {
	end, ok := skipValue(data, SkipSpace(data, 0), MaxDepth)
	if ok {
		if end = SkipSpace(data, end); end == len(data) {
			return nil
		}
	}
	return &SyntaxError{Offset: end, Length: len(data)}
}

// SyntaxError says where bytes stop being JSON.
type SyntaxError struct {
	Offset int // of the first byte that fits nothing; Length where the text ended too soon
	Length int // of the whole text, in bytes
}

func (e *SyntaxError) Error() string {
	switch {
	case e.Length == 0:
		return "not JSON: the text is empty"
	case e.Offset >= e.Length:
		return "not JSON: the text ends after " + strconv.Itoa(e.Length) + " bytes, inside a value"
	default:
		return "not JSON from byte " + strconv.Itoa(e.Offset) + " of " + strconv.Itoa(e.Length) + " on"
	}
}

// Kind is what a JSON value is.
type Kind uint8

// The kinds of JSON values. Invalid is no value at all.
const (
	Invalid Kind = iota
	Null
	Boolean
	Number
	String
	Array
	Object
)

// String is the word JSON Schema has for the kind.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Boolean:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	default:
		return "no value"
	}
}

// KindAt tells the kind of the value that begins at data[i], from its first byte.
func KindAt(data []byte, i int) Kind {
	if i < 0 || i >= len(data) {
		return Invalid
	}
	switch c := data[i]; {
	case c == 'n':
		return Null
	case c == 't', c == 'f':
		return Boolean
	case c == '-', '0' <= c && c <= '9':
		return Number
	case c == '"':
		return String
	case c == '[':
		return Array
	case c == '{':
		return Object
	default:
		return Invalid
	}
}
