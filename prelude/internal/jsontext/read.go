package jsontext

import (
	"bytes"
	"iter"
	"unicode/utf16"
	"unicode/utf8"
)

// Members yields the members of an object in their order: the name as it
// stands, quotes and escapes included (see [Unquote]), and the value's bytes. It
// yields nothing for another kind, and stops where the text stops being JSON;
// check the document first.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		i := SkipSpace(object, 0)
		if KindAt(object, i) != Object {
			return
		}
		for i = SkipSpace(object, i+1); KindAt(object, i) == String; {
			end, ok := skipString(object, i)
			if !ok {
				return
			}
			name := object[i:end:end]
			if i, ok = skipKey(object, i); !ok {
				return
			}
			if end, ok = SkipValue(object, i); !ok || !yield(name, object[i:end:end]) {
				return
			}
			if i = SkipSpace(object, end); i >= len(object) || object[i] != ',' {
				return
			}
			i = SkipSpace(object, i+1)
		}
	}
}

// Elements yields the elements of an array in their order. For anything else it
// does as [Members] does.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		i := SkipSpace(array, 0)
		if KindAt(array, i) != Array {
			return
		}
		for i = SkipSpace(array, i+1); ; {
			end, ok := SkipValue(array, i)
			if !ok || !yield(array[i:end:end]) {
				return
			}
			if i = SkipSpace(array, end); i >= len(array) || array[i] != ',' {
				return
			}
			i = SkipSpace(array, i+1)
		}
	}
}

// Unquote returns the text of a JSON string, given with its quotes. It reports
// false where the string has no text: invalid UTF-8, or half of a surrogate
// pair. encoding/json puts U+FFFD there; a reader that must not lose anything in
// silence needs to know.
func Unquote(quoted []byte) (string, bool) {
	if end, ok := skipQuoted(quoted); !ok || end != len(quoted) {
		return "", false
	}
	inner := quoted[1 : len(quoted)-1]
	if !utf8.Valid(inner) {
		return "", false
	}
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	return unescape(inner)
}

func skipQuoted(data []byte) (int, bool) {
	if KindAt(data, 0) != String {
		return 0, false
	}
	return skipString(data, 0)
}

// unescape resolves the escapes of a string that skipString has crossed.
func unescape(inner []byte) (string, bool) {
	text := make([]byte, 0, len(inner))
	for len(inner) > 0 {
		slash := bytes.IndexByte(inner, '\\')
		if slash < 0 {
			text = append(text, inner...)
			break
		}
		text = append(text, inner[:slash]...)
		letter := inner[slash+1]
		inner = inner[slash+2:]
		if letter != 'u' {
			text = append(text, unescaped(letter))
			continue
		}
		r := codeUnit(inner)
		inner = inner[4:]
		if utf16.IsSurrogate(r) {
			if len(inner) < 6 || inner[0] != '\\' || inner[1] != 'u' {
				return "", false
			}
			if r = utf16.DecodeRune(r, codeUnit(inner[2:])); r == utf8.RuneError {
				return "", false
			}
			inner = inner[6:]
		}
		text = utf8.AppendRune(text, r)
	}
	return string(text), true
}

func unescaped(letter byte) byte {
	switch letter {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default: // a quote, a slash, a backslash
		return letter
	}
}

// codeUnit reads four hexadecimal digits.
func codeUnit(hex []byte) rune {
	return hexDigit(hex[0])<<12 | hexDigit(hex[1])<<8 | hexDigit(hex[2])<<4 | hexDigit(hex[3])
}

// AppendString appends text as a JSON string. Only what JSON forbids in a string
// is escaped: no HTML escaping. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, text string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	plain := 0 // text[plain:i] is waiting to be copied as it is
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, text[plain:i]...), "\ufffd"...)
				plain = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, text[plain:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		i++
		plain = i
	}
	return append(append(dst, text[plain:]...), '"')
}
