package install

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/loomext/loomext/jail"
)

// scanRecord reads a record that is as [Record.encode] writes it, in one pass: the records of
// all that is installed stand between a client and its list of tools. It is false for any
// other text, also for one that is a record; decodeRecord has the last word on those.
func scanRecord(text []byte) (Record, bool) {
	if !utf8.Valid(text) {
		return Record{}, false
	}
	s := &scan{text: string(text)}
	var r Record
	scanObject(s, &r, recordFields)
	s.space()
	return r, !s.failed && s.at == len(s.text) && r.Format == RecordFormat
}

// scanObject reads an object whose members are some of the fields, in their order: so none
// is unknown, and none stands twice.
func scanObject[T any](s *scan, into *T, fields []scanField[T]) {
	s.expect('{')
	if s.take('}') {
		return
	}
	for {
		key := s.string()
		for len(fields) > 0 && fields[0].key != key {
			fields = fields[1:]
		}
		if len(fields) == 0 {
			s.fail()
			return
		}
		s.expect(':')
		fields[0].read(s, into)
		fields = fields[1:]
		if !s.take(',') {
			s.expect('}')
			return
		}
	}
}

func scanArray[T any](s *scan, fields []scanField[T]) []T {
	items := []T{}
	s.each('[', ']', func() {
		var item T
		scanObject(s, &item, fields)
		items = append(items, item)
	})
	return items
}

// scan goes through a JSON text. Once it has met something that it does not read, it has
// failed and stands at the end of the text, where nothing can be taken.
type scan struct {
	text    string // valid UTF-8
	at      int
	failed  bool
	compact []byte // what raw and its like read; what they gave stays as it is
}

// scanDepth bounds how deep values may lie in each other: schemas are of tens at most.
const scanDepth = 200

func (s *scan) fail() { s.failed, s.at = true, len(s.text) }

// indent is the white space that is skipped at once: deep lines begin with much of it.
const indent = "        "

func (s *scan) space() {
	text, at := s.text, s.at
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t') {
		at++
		for len(text)-at >= len(indent) && text[at:at+len(indent)] == indent {
			at += len(indent)
		}
	}
	s.at = at
}

// peek is the next byte that is not white space, or 0 at the end.
func (s *scan) peek() byte {
	s.space()
	if s.at == len(s.text) {
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
		s.fail()
	}
}

// each reads what stands between two brackets, with a comma between any two.
func (s *scan) each(opening, closing byte, item func()) {
	s.expect(opening)
	if s.take(closing) {
		return
	}
	for item(); s.take(','); {
		item()
	}
	s.expect(closing)
}

// special are the bytes that are not themselves in a string.
var special = func() (is [256]bool) {
	for c := range ' ' {
		is[c] = true
	}
	is['"'], is['\\'] = true, true
	return is
}()

// quoted is a string as it stands, and whether something in it is escaped.
func (s *scan) quoted() (token string, escaped bool) {
	s.expect('"')
	text, from, at := s.text, s.at-1, s.at
	for {
		for at < len(text) && !special[text[at]] {
			at++
		}
		switch {
		case at < len(text) && text[at] == '"':
			s.at = at + 1
			return text[from:s.at], escaped
		case at+1 < len(text) && text[at] == '\\':
			escaped = true
			at += 2 // whatever is escaped ends no string
		default:
			s.fail()
			return `""`, false
		}
	}
}

func (s *scan) string() string {
	token, escaped := s.quoted()
	if !escaped {
		return token[1 : len(token)-1]
	}
	var text string
	if json.Unmarshal([]byte(token), &text) != nil {
		s.fail()
	}
	return text
}

func (s *scan) list() []string {
	items := make([]string, 0, 8)
	s.each('[', ']', func() { items = append(items, s.string()) })
	return items
}

func (s *scan) strings() map[string]string {
	items := map[string]string{}
	s.each('{', '}', func() {
		key := s.string()
		s.expect(':')
		items[key] = s.string()
	})
	return items
}

func (s *scan) lists() [][]string {
	items := [][]string{}
	s.each('[', ']', func() { items = append(items, s.list()) })
	return items
}

// memory is what was read last of one kind, as it stood. The records of one store have the same
// seam and the same jail more often than not, and those are the longest parts of most.
type memory[T any] struct{ last atomic.Pointer[remembered[T]] }

type remembered[T any] struct {
	text  string
	value T
}

var (
	lastSeam memory[RecordSeam]
	lastJail memory[jail.Report]
)

// read gives what was read last where that stands here again, and what parse reads otherwise.
// Nobody else holds what clone gives.
func (m *memory[T]) read(s *scan, parse func() T, clone func(T) T) T {
	s.space()
	if last := m.last.Load(); last != nil && strings.HasPrefix(s.text[s.at:], last.text) {
		s.at += len(last.text)
		return clone(last.value)
	}
	from := s.at
	value := parse()
	if !s.failed {
		m.last.Store(&remembered[T]{strings.Clone(s.text[from:s.at]), clone(value)})
	}
	return value
}

func (s *scan) seam() RecordSeam {
	return lastSeam.read(s, func() (seam RecordSeam) {
		scanObject(s, &seam, seamFields)
		return seam
	}, func(r RecordSeam) RecordSeam {
		return RecordSeam{r.Version, slices.Clone(r.Allow), slices.Clone(r.Denied)}
	})
}

func (s *scan) jail() jail.Report {
	return lastJail.read(s, func() (report jail.Report) {
		scanObject(s, &report, reportFields)
		return report
	}, func(r jail.Report) jail.Report {
		return jail.Report{Level: r.Level, Layers: slices.Clone(r.Layers)}
	})
}

func (s *scan) net() *RecordNet {
	if s.peek() == 'n' {
		s.word("null")
		return nil
	}
	net := new(RecordNet)
	scanObject(s, net, netFields)
	return net
}

func (s *scan) time(into *time.Time) {
	from := len(s.compact)
	if into.UnmarshalJSON(s.raw()) != nil {
		s.fail()
	}
	s.compact = s.compact[:from]
}

func (s *scan) int() int { return int(s.number(strconv.IntSize)) }

func (s *scan) int64() int64 { return s.number(64) }

func (s *scan) number(bits int) int64 {
	from := len(s.compact)
	n, err := strconv.ParseInt(string(s.raw()), 10, bits)
	if err != nil {
		s.fail()
	}
	s.compact = s.compact[:from]
	return n
}

// skipStrings passes over an object of strings that need no reading.
func (s *scan) skipStrings() {
	s.each('{', '}', func() {
		_, odd := s.quoted()
		s.expect(':')
		if _, escaped := s.quoted(); odd || escaped {
			s.fail()
		}
	})
}

// raw is a value of any kind without its white space.
func (s *scan) raw() []byte {
	from := len(s.compact)
	s.value(0)
	return s.compact[from:len(s.compact):len(s.compact)]
}

// decode reads a value that seldom stands there, or is small.
func (s *scan) decode(into any) {
	dec := json.NewDecoder(bytes.NewReader(s.raw()))
	dec.DisallowUnknownFields()
	if dec.Decode(into) != nil {
		s.fail()
	}
}

// value appends the next value to what is compact.
func (s *scan) value(depth int) {
	if depth > scanDepth {
		s.fail()
		return
	}
	switch c := s.peek(); c {
	case '{':
		s.elements('{', '}', func() {
			s.copyString()
			s.copy(':')
			s.value(depth + 1)
		})
	case '[':
		s.elements('[', ']', func() { s.value(depth + 1) })
	case '"':
		s.copyString()
	default:
		s.copyScalar()
	}
}

// elements is each, and copies what it reads.
func (s *scan) elements(opening, closing byte, item func()) {
	s.copy(opening)
	if s.peek() != closing {
		for item(); s.peek() == ','; item() {
			s.copy(',')
		}
	}
	s.copy(closing)
}

func (s *scan) copy(c byte) {
	s.expect(c)
	if !s.failed {
		s.compact = append(s.compact, c)
	}
}

func (s *scan) copyString() {
	token, escaped := s.quoted()
	if escaped && !validEscapes(token) {
		s.fail()
	}
	if !s.failed {
		s.compact = append(s.compact, token...)
	}
}

// validEscapes judges the escapes of a string whose quotes are found.
func validEscapes(token string) bool {
	for {
		at := strings.IndexByte(token, '\\')
		if at < 0 {
			return true
		}
		digits := 0
		switch token[at+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			digits = 4
		default:
			return false
		}
		token = token[at+2:]
		if len(token) < digits || strings.Trim(token[:digits], "0123456789abcdefABCDEF") != "" {
			return false
		}
	}
}

// copyScalar copies a number or a word, up to what can stand behind one.
func (s *scan) copyScalar() {
	from := s.at
	for s.at < len(s.text) && s.text[s.at] > ' ' && s.text[s.at] != ',' && s.text[s.at] != ']' && s.text[s.at] != '}' {
		s.at++
	}
	switch token := s.text[from:s.at]; {
	case token == "true", token == "false", token == "null", isSmall(token), json.Valid([]byte(token)):
		s.compact = append(s.compact, token...)
	default:
		s.fail()
	}
}

// isSmall reports whether a token is a number of digits alone, as most are.
func isSmall(token string) bool {
	return token != "" && strings.Trim(token, "0123456789") == "" && (token[0] != '0' || len(token) == 1)
}

// word passes over one.
func (s *scan) word(word string) {
	if !strings.HasPrefix(s.text[s.at:], word) {
		s.fail()
		return
	}
	s.at += len(word)
}
