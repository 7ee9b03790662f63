package tomlfile

import (
	"fmt"
	"strings"
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
	broken  bool
	reading *Reading
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
}

// outline notes the lines of a whole file, and faults in a reading. It is total.
func outline(text string, r *Reading) sketch {
	o := &outliner{text: text, line: 1, reading: r}
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
	return sketch{root: root, end: end, broken: o.broken || o.stuck}
}

// fatal records a fault that leaves the values in doubt.
func (o *outliner) fatal(line int, table, key, msg, fix string) {
	o.broken = true
	o.reading.Add(line, table, key, msg, fix)
}

// count bounds the number of marks.
func (o *outliner) count() {
	o.values++
	if o.values == MaxValues {
		o.fatal(o.line, "", "", fmt.Sprintf("the file holds more than %d keys and values", MaxValues),
			o.reading.format.Relief)
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
	last, label := parts[len(parts)-1], Printable(strings.Join(parts, "."))
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
		if rule := o.reading.format.rule(label); rule.Listed {
			fix = "write " + rule.header() + " for each"
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
		o.fatal(line, o.table, Printable(strings.Join(parts, ".")), fmt.Sprintf("this key is set already on line %d", before.line),
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
			o.fatal(line, o.table, Printable(part), fmt.Sprintf("this key holds no table: it was given a value on line %d", next.line),
				"keep one of the two")
			return nil
		}
	}
	return table
}
