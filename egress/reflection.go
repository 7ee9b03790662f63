package egress

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"html"
	"strings"
	"unicode/utf8"
)

// maxLayers is how many encodings around each other are taken off before the
// search: a URL in JSON, a URL in a URL, a page in JSON.
const maxLayers = 2

// reflection searches what comes back for one secret. It finds the value as it is,
// in base64 (both alphabets, padded or not, wherever it begins in what was encoded)
// and in hex, and each of these percent-encoded, escaped as in JSON, written with
// entities of HTML, or broken into lines or by zeros, by any mix of encoded and plain
// characters.
type reflection struct {
	env     string
	copies  []byte   // what to look for, one after the other
	needles [][2]int // from where to where in copies
}

func newReflection(env string, s Secret) *reflection {
	value := s.reveal()
	n := len(value)
	r := &reflection{env: env, needles: make([][2]int, 0, 10)}
	r.copies = make([]byte, 0, 2*n+2*2*n+6*(n+4)/3*4)
	r.add(append(r.copies, value...), 0)
	r.add(hex.AppendEncode(r.copies, []byte(value)), 0)
	r.add(append(r.copies, bytes.ToUpper(r.needle(1))...), 0)
	padded := make([]byte, 2+n)
	copy(padded[2:], value)
	for before := range 3 {
		r.addCore(base64.RawStdEncoding, padded[2-before:], before)
		r.addCore(base64.RawURLEncoding, padded[2-before:], before)
	}
	clear(padded)
	if strings.Contains(value, " ") { // a form's encoding of it
		r.add(append(r.copies, strings.ReplaceAll(value, " ", "+")...), 0)
	}
	return r
}

// add takes copies with one more at the end, which begins so many bytes after the last
// one's end.
func (r *reflection) add(copies []byte, after int) {
	added := [2]int{len(r.copies) + after, len(copies)}
	for i := range r.needles {
		if bytes.Equal(r.needle(i), copies[added[0]:]) {
			return
		}
	}
	r.copies, r.needles = copies, append(r.needles, added)
}

func (r *reflection) needle(i int) []byte { return r.copies[r.needles[i][0]:r.needles[i][1]] }

// addCore adds what base64 makes of a value alone, where so many bytes stand before it
// in a group of three: the characters that no neighbor has a part in.
func (r *reflection) addCore(alphabet *base64.Encoding, padded []byte, before int) {
	encoded := alphabet.AppendEncode(r.copies, padded)
	whole := 8 * len(padded) / 6
	r.add(encoded[:len(r.copies)+whole], (8*before+5)/6)
}

// wipe overwrites the copies that were made to search. The header that carried the
// secret is a string of net/http's and stays until it is collected.
func (r *reflection) wipe() { clear(r.copies[:cap(r.copies)]) }

// shortest is the length of the shortest needle, the value itself: no encoding of as
// many bytes as a secret has is shorter.
func (r *reflection) shortest() int { return r.needles[0][1] }

// folded searches for the secret where letters have lost their case: in the name of
// a header or a host.
func (r *reflection) folded(ctx context.Context, name string) bool {
	if len(name) < r.shortest() {
		return false
	}
	lower := reflection{copies: bytes.ToLower(r.copies), needles: r.needles}
	defer lower.wipe()
	return lower.in(ctx, []byte(strings.ToLower(name)))
}

// in is true where the secret is in text. It stops early when ctx ends, and then its
// answer is worth nothing.
func (r *reflection) in(ctx context.Context, text []byte) bool {
	if len(text) < r.shortest() {
		return false
	}
	return r.within(ctx, text, maxLayers)
}

func (r *reflection) within(ctx context.Context, text []byte, layers int) bool {
	for i := range r.needles {
		if ctx.Err() != nil {
			return false
		}
		if bytes.Contains(text, r.needle(i)) {
			return true
		}
	}
	if layers == 0 {
		return false
	}
	for _, layer := range []struct {
		marks string
		off   func(dst, text []byte) []byte
	}{{"%", percentDecoded}, {"\\", unescaped}, {"&", withoutEntities}, {"\r\n\x00", withoutBreaks}} {
		if bytes.ContainsAny(text, layer.marks) {
			plain := layer.off(make([]byte, 0, len(text)), text)
			if r.within(ctx, plain, layers-1) {
				return true
			}
		}
	}
	return false
}

// withoutEntities appends text without the entities of HTML and XML.
func withoutEntities(dst, text []byte) []byte {
	return append(dst, html.UnescapeString(string(text))...)
}

// withoutBreaks appends text without what wraps long lines, as in MIME's base64, and
// without the zeros that UTF-16 has between characters of ASCII.
func withoutBreaks(dst, text []byte) []byte {
	for _, c := range text {
		if c != '\r' && c != '\n' && c != 0 {
			dst = append(dst, c)
		}
	}
	return dst
}

// percentDecoded appends text without its percent-encoding. What is none is left.
func percentDecoded(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '%')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		text = text[i:]
		if v, ok := hexValue(text[1:], 2); ok {
			dst, text = append(dst, byte(v)), text[3:]
		} else {
			dst, text = append(dst, '%'), text[1:]
		}
	}
}

// unescaped appends text without the escapes of JSON, and of the languages that have
// \x as well. What is none is left.
func unescaped(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		text = text[i+1:]
		if len(text) == 0 {
			return append(dst, '\\')
		}
		switch c := text[0]; c {
		case '"', '\\', '/', '\'':
			dst, text = append(dst, c), text[1:]
		case 'u', 'x':
			digits := 4
			if c == 'x' {
				digits = 2
			}
			if v, ok := hexValue(text[1:], digits); ok {
				dst, text = utf8.AppendRune(dst, rune(v)), text[1+digits:]
				continue
			}
			fallthrough
		default:
			dst = append(dst, '\\')
		}
	}
}

// hexValue reads so many digits.
func hexValue(text []byte, digits int) (int, bool) {
	if len(text) < digits {
		return 0, false
	}
	v := 0
	for _, c := range text[:digits] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | int(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | int(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | int(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
