package tomlfile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The words of a TOML text, as far as [outline] needs them: each method moves
// past one, and sets stuck where there is none.

func (o *outliner) halted() bool { return o.stuck || o.stop }

func (o *outliner) peek() byte {
	if o.at < len(o.text) {
		return o.text[o.at]
	}
	return 0
}

func (o *outliner) has(prefix string) bool { return strings.HasPrefix(o.text[o.at:], prefix) }

// take moves past one byte if it is c.
func (o *outliner) take(c byte) bool {
	if o.at < len(o.text) && o.text[o.at] == c {
		o.at++
		return true
	}
	return false
}

func (o *outliner) spaces() {
	for o.peek() == ' ' || o.peek() == '\t' {
		o.at++
	}
}

// blank skips space, comments and line ends, and reports whether text is left.
func (o *outliner) blank() bool {
	for {
		o.spaces()
		switch {
		case o.take('\n'):
			o.line++
		case o.peek() == '#':
			o.comment()
		default:
			return o.at < len(o.text)
		}
	}
}

// comment skips to the end of the line. A comment is read by people, so what
// they see must be what is there.
func (o *outliner) comment() {
	rest := o.text[o.at:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	o.at += len(rest)
	if r, bad := Hidden(rest, "\t"); bad {
		o.reading.Add(o.line, "", "", "this comment holds "+r, "remove it: the file must read as what it is")
	}
}

func (o *outliner) endOfLine() {
	o.spaces()
	if o.peek() == '#' {
		o.comment()
	}
	if o.take('\n') {
		o.line++
	} else if o.at < len(o.text) {
		o.stuck = true
	}
}

// key reads a dotted key and the space after it.
func (o *outliner) key() []string {
	var parts []string
	for {
		o.spaces()
		part, ok := o.keyPart()
		if !ok {
			o.stuck = true
			return nil
		}
		if len(part) > maxKeyPart {
			o.fatal(o.line, "", "", fmt.Sprintf("a key has %d bytes, the bound is %d", len(part), maxKeyPart), "shorten it")
			o.stop = true
			return nil
		}
		parts = append(parts, part)
		if len(parts) > maxKeyParts {
			o.fatal(o.line, "", "", fmt.Sprintf("a key has more than %d dotted parts", maxKeyParts),
				"no table of this file nests that deep")
			o.stop = true
			return nil
		}
		o.spaces()
		if !o.take('.') {
			return parts
		}
	}
}

func (o *outliner) keyPart() (string, bool) {
	switch o.peek() {
	case '"':
		start := o.at
		if !o.quoted('"') {
			return "", false
		}
		return unescape(o.text[start+1 : o.at-1])
	case '\'':
		start := o.at
		if !o.quoted('\'') {
			return "", false
		}
		return o.text[start+1 : o.at-1], true
	}
	start := o.at
	for o.at < len(o.text) && bare(o.text[o.at]) {
		o.at++
	}
	return o.text[start:o.at], o.at > start
}

func bare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// value reads one value at a nesting depth. The caller sets its line where the
// key stands elsewhere.
func (o *outliner) value(depth int) *mark {
	o.count()
	m := &mark{line: o.line}
	switch c := o.peek(); {
	case c == '[' || c == '{':
		if depth > MaxDepth {
			o.fatal(o.line, "", "", fmt.Sprintf("values nest more than %d deep", MaxDepth), "write a flatter value")
			o.stop = true
			return m
		}
		o.at++
		if c == '[' {
			o.list(m, depth)
		} else {
			o.inline(m, depth)
		}
	case o.has(`"""`), o.has(`'''`):
		o.stuck = !o.multiline(c)
	case c == '"', c == '\'':
		o.stuck = !o.quoted(c)
	default:
		n := strings.IndexAny(o.text[o.at:], ",]}#\n")
		if n < 0 {
			n = len(o.text) - o.at
		}
		o.at += n
		o.stuck = n == 0
	}
	return m
}

func (o *outliner) list(m *mark, depth int) {
	m.kind = listMark
	for !o.halted() {
		if !o.blank() {
			o.stuck = true
			return
		}
		if o.take(']') {
			return
		}
		m.items = append(m.items, o.value(depth+1))
		if o.halted() {
			return
		}
		o.separator(']')
	}
}

func (o *outliner) inline(m *mark, depth int) {
	m.kind, m.keys = tableMark, map[string]*mark{}
	for !o.halted() {
		if !o.blank() {
			o.stuck = true
			return
		}
		if o.take('}') {
			return
		}
		o.pair(m, depth+1)
		if o.halted() {
			return
		}
		o.separator('}')
	}
}

// separator reads the comma after an item, or stands before the closing bracket.
func (o *outliner) separator(closing byte) {
	if !o.blank() {
		o.stuck = true
	} else if !o.take(',') && o.peek() != closing {
		o.stuck = true
	}
}

// quoted moves past a string on one line, at whose opening quote it stands.
func (o *outliner) quoted(quote byte) bool {
	for o.at++; o.at < len(o.text); o.at++ {
		switch c := o.text[o.at]; {
		case c == quote:
			o.at++
			return true
		case c == '\n':
			return false
		case c == '\\' && quote == '"':
			o.at++
			if o.peek() == '\n' {
				return false
			}
		}
	}
	o.at = len(o.text)
	return false
}

// multiline moves past a string in three quotes. One or two more quotes before
// the closing three belong to the string.
func (o *outliner) multiline(quote byte) bool {
	three := strings.Repeat(string(quote), 3)
	for o.at += 3; o.at < len(o.text); o.at++ {
		switch c := o.text[o.at]; {
		case c == '\n':
			o.line++
		case c == '\\' && quote == '"':
			if o.at+1 < len(o.text) && o.text[o.at+1] != '\n' {
				o.at++
			}
		case c == quote && o.has(three):
			o.at += 3
			for more := 0; more < 2 && o.take(quote); more++ {
			}
			return true
		}
	}
	o.at = len(o.text)
	return false
}

// unescape decodes the escapes of a quoted key.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", false
		}
		if j := strings.IndexByte(`btnfre"\`, s[i]); j >= 0 {
			b.WriteByte("\b\t\n\f\r\x1b\"\\"[j])
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		if digits == 0 || i+digits >= len(s) {
			return "", false
		}
		r, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
		if err != nil || !utf8.ValidRune(rune(r)) {
			return "", false
		}
		b.WriteRune(rune(r))
		i += digits
	}
	return b.String(), true
}
