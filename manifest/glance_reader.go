package manifest

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// glanceReader crosses a JSON text once. Its methods return false at what is no
// JSON, at what does not fit, and at what they do not know.
type glanceReader struct {
	text   []byte
	at     int
	values int // that may still come
}

// peek passes over space and gives the byte after it, or 0 at the end.
func (r *glanceReader) peek() byte {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *glanceReader) value(g *glance, depth int) bool {
	if r.values--; r.values < 0 {
		return false
	}
	c := r.peek()
	if c == '"' {
		word, plain, ok := r.string()
		return ok && g.kinds&kindString != 0 && (g.words == nil || plain && slices.Contains(g.words, string(word)))
	}
	if g.words != nil {
		return false // they are strings, all of them
	}
	switch c {
	case '{':
		return g.kinds&kindObject != 0 && depth < maxArgumentDepth && r.object(g, depth+1)
	case '[':
		return g.kinds&kindArray != 0 && depth < maxArgumentDepth && r.array(g, depth+1)
	case 't':
		return g.kinds&kindBoolean != 0 && r.literal("true")
	case 'f':
		return g.kinds&kindBoolean != 0 && r.literal("false")
	case 'n':
		return g.kinds&kindNull != 0 && r.literal("null")
	}
	return r.number(g)
}

func (r *glanceReader) literal(word string) bool {
	if len(r.text)-r.at < len(word) || string(r.text[r.at:r.at+len(word)]) != word {
		return false
	}
	r.at += len(word)
	return true
}

// object crosses an object. Names with an escape in them are not known.
func (r *glanceReader) object(g *glance, depth int) bool {
	var (
		seen   uint64 // of g.names
		others [glanceMembers][]byte
		count  int
	)
	r.at++
	if r.peek() == '}' {
		r.at++
		return g.required == 0
	}
	for {
		if r.peek() != '"' {
			return false
		}
		name, plain, ok := r.string()
		if !ok || !plain {
			return false
		}
		member := g.rest
		if at := g.index(name); at >= 0 {
			if seen&(1<<at) != 0 {
				return false
			}
			seen |= 1 << at
			member = g.members[at]
		} else {
			for _, other := range others[:count] {
				if string(other) == string(name) {
					return false
				}
			}
			if count == len(others) {
				return false
			}
			others[count] = name
			count++
		}
		if member == nil || r.peek() != ':' {
			return false
		}
		r.at++
		if !r.value(member, depth) {
			return false
		}
		switch r.peek() {
		case ',':
			r.at++
		case '}':
			r.at++
			return seen&g.required == g.required
		default:
			return false
		}
	}
}

func (g *glance) index(name []byte) int {
	for i, own := range g.names {
		if own == string(name) {
			return i
		}
	}
	return -1
}

func (r *glanceReader) array(g *glance, depth int) bool {
	r.at++
	if r.peek() == ']' {
		r.at++
		return true
	}
	for {
		if !r.value(g.items, depth) {
			return false
		}
		switch r.peek() {
		case ',':
			r.at++
		case ']':
			r.at++
			return true
		default:
			return false
		}
	}
}

// number crosses a number of few digits without an exponent.
func (r *glanceReader) number(g *glance) bool {
	negative := r.at < len(r.text) && r.text[r.at] == '-'
	if negative {
		r.at++
	}
	first := r.at
	n := r.digits()
	count := r.at - first
	if count == 0 || count > glanceDigits || count > 1 && r.text[first] == '0' {
		return false
	}
	if negative {
		n = -n
	}
	if r.at < len(r.text) && r.text[r.at] == '.' {
		r.at++
		first := r.at
		r.digits()
		if count := r.at - first; count == 0 || count > glanceDigits || g.kinds&kindDecimal == 0 || g.bounded {
			return false
		}
	} else if g.kinds&kindInteger == 0 || g.bounded && (n < g.least || n > g.most) {
		return false
	}
	return r.at == len(r.text) || r.text[r.at]|0x20 != 'e'
}

// digits is the value of the digits here, as far as they are few.
func (r *glanceReader) digits() (n int64) {
	for ; r.at < len(r.text) && r.text[r.at]-'0' <= 9; r.at++ {
		n = n*10 + int64(r.text[r.at]-'0')
	}
	return n
}

// string crosses a string. It gives what stands between the quotes, and whether that
// is plain: without an escape.
func (r *glanceReader) string() (word []byte, plain, ok bool) {
	start, plain := r.at+1, true
	at := start
	for at < len(r.text) {
		if at+8 <= len(r.text) {
			if n := ordinary(binary.LittleEndian.Uint64(r.text[at:])); n > 0 {
				at += n
				continue
			}
		}
		switch c := r.text[at]; {
		case c == '"':
			r.at = at + 1
			return r.text[start:at], plain, true
		case c == '\\':
			plain = false
			n := escapeLength(r.text[at:])
			if n == 0 {
				return nil, false, false
			}
			at += n
		case c < ' ':
			return nil, false, false
		default:
			at++
		}
	}
	return nil, false, false
}

// escapeLength is how many bytes an escape takes, or 0 where it is none.
func escapeLength(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		const length = len(`\u0000`)
		if len(text) < length {
			return 0
		}
		for _, c := range text[2:length] {
			if c-'0' > 9 && (c|0x20)-'a' > 5 {
				return 0
			}
		}
		return length
	}
	return 0
}

// ordinary is how many of eight bytes, from the lowest on, are surely no quote, no
// backslash and no control character. In each of the three words the top bit of a byte
// is set where the byte is what is looked for; a borrow can set it in a byte above
// such a one as well, which is then looked at once more.
func ordinary(w uint64) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & tops
	return bits.TrailingZeros64(found) / 8 // 8 where there is none
}
