package jsontext

import (
	"encoding/binary"
	"math/bits"
)

// SkipSpace returns the index of the first byte at or after i that is not JSON
// white space, or len(data).
func SkipSpace(data []byte, i int) int {
	for i < len(data) {
		if c := data[i]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return i
		}
		i++
	}
	return i
}

// SkipValue returns the index after the value that begins at data[i], and
// whether a whole, valid value stands there. Where none does, the index is that
// of the first byte that fits nothing.
func SkipValue(data []byte, i int) (int, bool) { return skipValue(data, i, MaxDepth) }

// nesting remembers, one bit a level, whether a container is an object. It lives
// on the stack of one call, so depth costs no allocation and no recursion.
type nesting [MaxDepth/64 + 1]uint64

func (n *nesting) enter(depth int, object bool) {
	bit := uint64(1) << (depth & 63)
	if object {
		n[depth>>6] |= bit
	} else {
		n[depth>>6] &^= bit
	}
}

func (n *nesting) object(depth int) bool { return n[depth>>6]>>(depth&63)&1 == 1 }

func skipValue(data []byte, i, limit int) (int, bool) {
	// A scalar needs no memory of where it stands, and clearing that memory
	// would cost more than the scalar.
	if k := KindAt(data, i); k != Array && k != Object {
		return skipScalar(data, i)
	}
	var open nesting
	depth := 0 // containers open; the innermost is at depth-1 in open
	for {
		// A value begins at data[i].
		ok := true
		switch KindAt(data, i) {
		case Object:
			if depth >= limit {
				return i, false
			}
			open.enter(depth, true)
			depth++
			if i = SkipSpace(data, i+1); i < len(data) && data[i] == '}' {
				break
			}
			if i, ok = skipKey(data, i); !ok {
				return i, false
			}
			continue
		case Array:
			if depth >= limit {
				return i, false
			}
			open.enter(depth, false)
			depth++
			if i = SkipSpace(data, i+1); i < len(data) && data[i] == ']' {
				break
			}
			continue
		default:
			if i, ok = skipScalar(data, i); !ok {
				return i, false
			}
		}
		// A value has ended, or an empty container is about to: close what
		// closes here, then go on to the next value.
		for {
			i = SkipSpace(data, i)
			if i >= len(data) {
				return i, false
			}
			object := open.object(depth - 1)
			if c := data[i]; c == '}' && object || c == ']' && !object {
				i++
				if depth--; depth == 0 {
					return i, true
				}
				continue
			} else if c != ',' {
				return i, false
			}
			i = SkipSpace(data, i+1)
			if object {
				if i, ok = skipKey(data, i); !ok {
					return i, false
				}
			}
			break
		}
	}
}

// skipKey crosses a member's name and its colon, up to the member's value.
func skipKey(data []byte, i int) (int, bool) {
	if i >= len(data) || data[i] != '"' {
		return i, false
	}
	i, ok := skipString(data, i)
	if !ok {
		return i, false
	}
	if i = SkipSpace(data, i); i >= len(data) || data[i] != ':' {
		return i, false
	}
	return SkipSpace(data, i+1), true
}

func skipScalar(data []byte, i int) (int, bool) {
	if i >= len(data) {
		return i, false
	}
	switch data[i] {
	case '"':
		return skipString(data, i)
	case 't':
		return skipWord(data, i, "true")
	case 'f':
		return skipWord(data, i, "false")
	case 'n':
		return skipWord(data, i, "null")
	default:
		return skipNumber(data, i)
	}
}

func skipWord(data []byte, i int, word string) (int, bool) {
	for k := range len(word) {
		if i+k >= len(data) || data[i+k] != word[k] {
			return i + k, false
		}
	}
	return i + len(word), true
}

// skipString crosses the string whose opening quote is data[i].
func skipString(data []byte, i int) (int, bool) {
	i++
	for {
		i = plainUntil(data, i)
		if i >= len(data) {
			return i, false
		}
		switch data[i] {
		case '"':
			return i + 1, true
		case '\\':
			var ok bool
			if i, ok = skipEscape(data, i+1); !ok {
				return i, false
			}
		default: // a control character
			return i, false
		}
	}
}

// plainUntil returns the index of the first byte at or after i that is a quote,
// a backslash or a control character.
func plainUntil(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		if stops := stopBytes(binary.LittleEndian.Uint64(data[i:])); stops != 0 {
			return i + bits.TrailingZeros64(stops)>>3
		}
	}
	for i < len(data) && data[i] != '"' && data[i] != '\\' && data[i] >= ' ' {
		i++
	}
	return i
}

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stopBytes sets the high bit of every byte of x that ends a run of plain string
// bytes. A borrow may set bits above the first such byte, never below it, and
// only the lowest one is looked at.
func stopBytes(x uint64) uint64 {
	quote := x ^ lows*'"'
	slash := x ^ lows*'\\'
	return ((x-lows*' ')&^x | (quote-lows)&^quote | (slash-lows)&^slash) & highs
}

// skipEscape crosses what follows a backslash at data[i-1].
func skipEscape(data []byte, i int) (int, bool) {
	if i >= len(data) {
		return i, false
	}
	switch data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, true
	case 'u':
		for k := 1; k <= 4; k++ {
			if i+k >= len(data) || hexDigit(data[i+k]) < 0 {
				return i + k, false
			}
		}
		return i + 5, true
	default:
		return i, false
	}
}

func hexDigit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10
	default:
		return -1
	}
}

func skipNumber(data []byte, i int) (int, bool) {
	if i < len(data) && data[i] == '-' {
		i++
	}
	ok := true
	if i < len(data) && data[i] == '0' {
		i++
	} else if i, ok = skipDigits(data, i); !ok {
		return i, false
	}
	if i < len(data) && data[i] == '.' {
		if i, ok = skipDigits(data, i+1); !ok {
			return i, false
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if i, ok = skipDigits(data, i); !ok {
			return i, false
		}
	}
	return i, true
}

// skipDigits crosses one digit or more.
func skipDigits(data []byte, i int) (int, bool) {
	first := i
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	return i, i > first
}
