package manifest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The TOML package says where a syntax error is, but not where a key is: it
// records positions by key name, so the last of several [[tool]] tables wins,
// and it exports none of them. outline therefore walks the text itself and
// notes the line of everything. It judges almost no syntax. What it does judge
// is what must be known before the TOML package runs: how deep values nest and
// how long dotted keys are, since that package recurses on the one and takes
// quadratic time on the other.

// mark is where one key, table, list or value of the file stands.
type mark struct {
	kind   markKind
	line   int
	header int // line of the [header], 0 for a table that dotted keys made
	keys   map[string]*mark
	items  []*mark
}

type markKind uint8

const (
	leafMark  markKind = iota
	tableMark          // [x], an inline table, or the left part of a dotted key
	listMark           // an array in brackets
	tablesMark
)

func newTable(line int) *mark {
	return &mark{kind: tableMark, line: line, keys: map[string]*mark{}}
}

type outliner struct {
	text   string
	at     int
	line   int
	values int
	table  string // label of the header that keys stand under
	// stuck is set where the text stops looking like TOML. The TOML package is
	// then given the text up to there and says what is wrong.
	stuck bool
	// stop is set by a fault that makes it unsafe to go on.
	stop bool
	// broken is set by every fault that leaves the values in doubt.
	broken bool
	faults Faults
}

// sketch is what [outline] found.
type sketch struct {
	root *mark
	// end is where the text stops looking like TOML: the end of that line, or
	// the end of the text.
	end int
	// broken says that the values are in doubt: faults tell why, or the TOML
	// package will.
	broken bool
	faults Faults
}

// outline notes the lines of a whole file. It is total.
func outline(text string) sketch {
	o := &outliner{text: text, line: 1}
	root := newTable(1)
	current := root
	for !o.halted() && o.blank() {
		if o.peek() == '[' {
			current = o.header(root)
		} else {
			o.pair(current, 1)
		}
		if !o.halted() {
			o.endOfLine()
		}
	}
	end := len(text)
	if o.stuck {
		if i := strings.IndexByte(text[o.at:], '\n'); i >= 0 {
			end = o.at + i
		}
	}
	return sketch{root: root, end: end, broken: o.broken || o.stuck, faults: o.faults}
}

// fatal records a fault that leaves the values in doubt.
func (o *outliner) fatal(line int, table, key, msg, fix string) {
	o.broken = true
	o.faults.add(line, table, key, msg, fix)
}

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
	if r, bad := hidden(rest, "\t"); bad {
		o.faults.add(o.line, "", "", "this comment holds "+r, "remove it: the file must read as what it is")
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

// count bounds the number of marks.
func (o *outliner) count() {
	o.values++
	if o.values == maxValues {
		o.fatal(o.line, "", "", fmt.Sprintf("the file holds more than %d keys and values", maxValues),
			"move data into the extension's own Go files")
		o.stop = true
	}
}

// header reads [a.b] or [[a.b]] and returns the table it opens.
func (o *outliner) header(root *mark) *mark {
	line := o.line
	o.at++
	many := o.take('[')
	parts := o.key()
	if o.halted() {
		return root
	}
	if !o.take(']') || many && !o.take(']') {
		o.stuck = true
		return root
	}
	o.count()
	parent := o.descend(root, parts[:len(parts)-1], line)
	if parent == nil {
		return newTable(line)
	}
	last, label := parts[len(parts)-1], printable(strings.Join(parts, "."))
	o.table = label
	m := parent.keys[last]
	switch {
	case m == nil && many:
		m = &mark{kind: tablesMark, line: line}
		parent.keys[last] = m
	case m == nil:
		m = newTable(line)
		parent.keys[last] = m
	}
	switch {
	case many && m.kind == tablesMark:
		item := newTable(line)
		item.header = line
		m.items = append(m.items, item)
		return item
	case !many && m.kind == tableMark && m.header == 0:
		m.header, m.line = line, line
		return m
	case m.kind == tableMark && m.header != 0 && !many:
		fix := "merge the two"
		if isListed(label) {
			fix = "write " + header(label) + " for each"
		}
		o.fatal(line, label, "", fmt.Sprintf("this table is opened already on line %d", m.header), fix)
	case many:
		o.fatal(line, label, "", fmt.Sprintf("this key was given another kind of value on line %d", m.line),
			"write [["+label+"]] at each place")
	default:
		o.fatal(line, label, "", fmt.Sprintf("this key was given another kind of value on line %d", m.line),
			"keep one of the two")
	}
	return newTable(line) // its keys are still read, for their own faults
}

// pair reads key = value into a table. depth is the value's nesting depth.
func (o *outliner) pair(table *mark, depth int) {
	line := o.line
	parts := o.key()
	if o.halted() {
		return
	}
	if !o.take('=') {
		o.stuck = true
		return
	}
	o.spaces()
	value := o.value(depth)
	if o.halted() {
		return
	}
	value.line = line
	parent := o.descend(table, parts[:len(parts)-1], line)
	if parent == nil {
		return
	}
	last := parts[len(parts)-1]
	if before := parent.keys[last]; before != nil {
		o.fatal(line, o.table, printable(strings.Join(parts, ".")), fmt.Sprintf("this key is set already on line %d", before.line),
			"keep one of the two")
		return
	}
	parent.keys[last] = value
}

// descend walks the left parts of a dotted key, making tables on its way. It
// returns nil where one of them is no table.
func (o *outliner) descend(table *mark, parts []string, line int) *mark {
	for _, part := range parts {
		next := table.keys[part]
		if next == nil {
			next = newTable(line)
			table.keys[part] = next
		}
		switch next.kind {
		case tableMark:
			table = next
		case tablesMark:
			table = next.items[len(next.items)-1]
		default:
			o.fatal(line, o.table, printable(part), fmt.Sprintf("this key holds no table: it was given a value on line %d", next.line),
				"keep one of the two")
			return nil
		}
	}
	return table
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
		if depth > maxDepth {
			o.fatal(o.line, "", "", fmt.Sprintf("values nest more than %d deep", maxDepth), "write a flatter value")
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
