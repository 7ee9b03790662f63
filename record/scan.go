package record

import (
	"encoding/binary"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/loomext/loomext/internal/wire"
)

// scan reads JSON that stands as the writer writes it, without white space, in one pass and without a copy: a replay reads
// each line while a satellite waits for it. It gives up on everything else, also on what is JSON; encoding/json has the last
// word on those. What it reads, encoding/json reads the same.
type scan struct {
	text   []byte // valid UTF-8
	at     int
	failed bool
}

// scanDepth bounds how deep values may lie in each other: none that was recorded is deeper.
const scanDepth = 2 * wire.MaxDepth

// scanLine reads a line.
func scanLine(text []byte) (p parsed, ok bool) {
	if !utf8.Valid(text) {
		return p, false
	}
	s := &scan{text: text}
	s.expect('{')
	for first := true; !s.failed && !s.take('}'); first = false {
		if !first {
			s.expect(',')
		}
		key := s.quoted()
		s.expect(':')
		s.member(string(key), &p)
	}
	return p, !s.failed && s.at == len(text)
}

// member reads the value of one key of a line.
func (s *scan) member(key string, p *parsed) {
	switch key {
	case "t":
		p.T = s.string()
	case "session":
		p.Session = s.string()
	case "format":
		p.Format = int(s.int())
	case "at":
		if p.At.UnmarshalJSON(s.raw()) != nil {
			s.failed = true
		}
	case "call":
		p.Call = s.int()
	case "extension":
		p.Extension = s.raw()
	case "start":
		p.Start = s.int()
	case "kind":
		p.Kind = s.string()
	case "name":
		p.Name = s.string()
	case "deadline_ms":
		p.DeadlineMS = s.int()
	case "args":
		p.Args = s.raw()
	case "bytes":
		p.Bytes = s.int()
	case "effect", "loomext":
		s.raw()
	case "cap":
		p.Cap = s.string()
	case "began_ns":
		p.BeganNS = s.int()
	case "took_ns":
		p.TookNS = s.int()
	case "ok":
		p.OK = s.bool()
	case "value":
		p.Value = s.raw()
	case "value_bytes":
		p.ValueBytes = s.int()
	case "failed":
		p.Failed = s.string()
	case "code":
		p.Code = s.string()
	case "msg":
		p.Msg = s.string()
	default:
		s.failed = true // encoding/json may know it by another spelling
	}
}

// scanValue reads a value of the protocol.
func scanValue(text []byte, get fetch) (wire.Value, bool) {
	if !utf8.Valid(text) {
		return wire.Value{}, false
	}
	s := &scan{text: text}
	v := s.value(1, &decoder{get: get})
	return v, !s.failed && s.at == len(text)
}

func (s *scan) value(depth int, d *decoder) wire.Value {
	if depth > wire.MaxDepth {
		s.failed = true
	}
	switch c := s.peek(); {
	case s.failed:
	case c == '"':
		return wire.Text(s.unescaped())
	case c == '[':
		return s.list(depth, d)
	case c == '{':
		return s.object(depth, d)
	case c == 'n':
		s.word("null")
		return wire.Nil()
	case c == 't' || c == 'f':
		return wire.Bool(s.bool())
	default:
		v, err := number(string(s.number()))
		s.failed = s.failed || err != nil
		return v
	}
	return wire.Value{}
}

func (s *scan) list(depth int, d *decoder) wire.Value {
	s.expect('[')
	list := []wire.Value{}
	for !s.failed && !s.take(']') {
		if len(list) > 0 {
			s.expect(',')
		}
		list = append(list, s.value(depth+1, d))
	}
	return wire.List(list...)
}

func (s *scan) object(depth int, d *decoder) wire.Value {
	s.expect('{')
	fields := []wire.Field{}
	for !s.failed && !s.take('}') {
		if len(fields) > 0 {
			s.expect(',')
		}
		key := string(s.unescaped())
		s.expect(':')
		fields = append(fields, wire.Field{Key: key, Value: s.value(depth+1, d)})
	}
	if s.failed {
		return wire.Value{}
	}
	v, err := d.made(fields)
	s.failed = err != nil
	return v
}

// peek is the next byte, or 0 at the end.
func (s *scan) peek() byte {
	if s.failed || s.at >= len(s.text) {
		return 0
	}
	return s.text[s.at]
}

func (s *scan) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *scan) expect(c byte) {
	if !s.take(c) {
		s.failed = true
	}
}

func (s *scan) word(word string) {
	if s.failed || len(s.text)-s.at < len(word) || string(s.text[s.at:s.at+len(word)]) != word {
		s.failed = true
		return
	}
	s.at += len(word)
}

func (s *scan) bool() bool {
	if s.peek() == 't' {
		s.word("true")
		return true
	}
	s.word("false")
	return false
}

// quoted is a string in which nothing is escaped, without its quotes.
func (s *scan) quoted() []byte {
	s.expect('"')
	from := s.at
	for s.at < len(s.text) && s.text[s.at] >= ' ' && s.text[s.at] != '\\' && s.text[s.at] != '"' {
		s.at++
	}
	text := s.text[from:s.at]
	s.expect('"')
	return text
}

func (s *scan) string() string { return string(s.unescaped()) }

// unescaped is a string as it was before it was escaped. It aliases the text where nothing is.
func (s *scan) unescaped() []byte {
	from := s.at + 1
	if s.skipString() {
		return s.text[from : s.at-1 : s.at-1]
	}
	if s.failed {
		return nil
	}
	token := s.text[from : s.at-1]
	out := make([]byte, 0, len(token))
	for i := 0; i < len(token); {
		if token[i] != '\\' {
			out = append(out, token[i])
			i++
			continue
		}
		if token[i+1] != 'u' {
			out = append(out, escapes[token[i+1]])
			i += 2
			continue
		}
		r := unit(token[i+2:])
		i += 6
		if utf16.IsSurrogate(r) {
			if len(token)-i < 6 || token[i] != '\\' || token[i+1] != 'u' {
				s.failed = true
				return nil
			}
			if r = utf16.DecodeRune(r, unit(token[i+2:])); r == utf8.RuneError {
				s.failed = true // half of a character: encoding/json knows what becomes of it
				return nil
			}
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// escapes are what the letters behind a backslash stand for, but for u.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unit is the number of four hexadecimal digits, which are there.
func unit(digits []byte) (r rune) {
	for _, c := range digits[:4] {
		r = r<<4 | rune(hexValue[c])
	}
	return r
}

// hexValue is what a hexadecimal digit stands for, and notHex where a byte is none.
var hexValue = func() (value [256]byte) {
	for i := range value {
		value[i] = notHex
	}
	for i := range byte(16) {
		value[hexDigits[i]] = i
		if i > 9 {
			value[hexDigits[i]-'a'+'A'] = i
		}
	}
	return value
}()

const notHex = 0xff

// skipString passes over a string, and says whether nothing in it is escaped.
func (s *scan) skipString() (plain bool) {
	s.expect('"')
	plain = true
	for s.at += ordinary(s.text[min(s.at, len(s.text)):]); s.at < len(s.text); {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return plain && !s.failed
		case c == '\\':
			plain = false
			s.skipEscape()
			if s.failed {
				return false
			}
		case c < ' ':
			s.failed = true
			return false
		default:
			s.at++
		}
	}
	s.failed = true
	return false
}

// ordinary is how many bytes at the beginning of a text surely neither end a string nor are escaped in one, eight at a time.
func ordinary(text []byte) (n int) {
	const ones, highest = 0x0101010101010101, 0x8080808080808080
	zero := func(x uint64) uint64 { return (x - ones) & ^x & highest } // has a bit where a byte is 0, at the first at least
	for ; len(text)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(text[n:])
		if (x-ones*' ')&^x&highest|zero(x^ones*'"')|zero(x^ones*'\\') != 0 {
			break
		}
	}
	return n
}

func (s *scan) skipEscape() {
	length := 2
	switch rest := s.text[s.at:]; {
	case len(rest) < length:
		s.failed = true
	case rest[1] != 'u':
		s.failed = escapes[rest[1]] == 0
	case len(rest) < 6:
		s.failed = true
	default:
		length = 6
		for _, c := range rest[2:6] {
			s.failed = s.failed || hexValue[c] == notHex
		}
	}
	s.at += length
}

// raw is a value of any kind, as it stands.
func (s *scan) raw() []byte {
	from := s.at
	s.skip(1)
	if s.failed {
		return nil
	}
	return s.text[from:s.at:s.at]
}

// skip passes over a value.
func (s *scan) skip(depth int) {
	if depth > scanDepth {
		s.failed = true
	}
	switch s.peek() {
	case '"':
		s.skipString()
	case '[':
		s.expect('[')
		for first := true; !s.failed && !s.take(']'); first = false {
			if !first {
				s.expect(',')
			}
			s.skip(depth + 1)
		}
	case '{':
		s.expect('{')
		for first := true; !s.failed && !s.take('}'); first = false {
			if !first {
				s.expect(',')
			}
			s.skipString()
			s.expect(':')
			s.skip(depth + 1)
		}
	case 'n':
		s.word("null")
	case 't', 'f':
		s.bool()
	default:
		s.number()
	}
}

func (s *scan) int() int64 {
	n, err := strconv.ParseInt(string(s.number()), 10, 64)
	s.failed = s.failed || err != nil
	return n
}

// number is a number as it stands.
func (s *scan) number() []byte {
	from := s.at
	s.take('-')
	if !s.take('0') {
		s.digits()
	}
	if s.take('.') {
		s.digits()
	}
	if s.take('e') || s.take('E') {
		if !s.take('-') {
			s.take('+')
		}
		s.digits()
	}
	if s.failed {
		return nil
	}
	return s.text[from:s.at]
}

func (s *scan) digits() {
	from := s.at
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.at++
	}
	s.failed = s.failed || s.at == from
}
