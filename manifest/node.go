package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// node is one value of the file with its line: what the TOML package decoded,
// joined to what outline noted.
type node struct {
	line  int
	value any // string, int64, float64, bool, time.Time, table or list
}

type (
	table map[string]node
	list  []node
)

// kind names the node's type the way a fault does.
func (n node) kind() string {
	switch n.value.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case bool:
		return "a boolean"
	case time.Time:
		return "a date or time"
	case table:
		return "a table"
	case list:
		return "an array"
	}
	return "nothing"
}

// byLine lists a table's keys in the order in which they stand in the file.
func (t table) byLine() []string {
	keys := slices.Sorted(maps.Keys(t))
	slices.SortStableFunc(keys, func(a, b string) int { return t[a].line - t[b].line })
	return keys
}

// parse reads the whole file. Where it returns false there are faults, and the
// node holds nothing.
func parse(text []byte) (node, Faults, bool) {
	var faults Faults
	if len(text) > MaxFile {
		faults.add(1, "", "", fmt.Sprintf("the file has %d bytes, the bound is %d", len(text), MaxFile),
			"move data into the extension's own Go files")
		return node{}, faults, false
	}
	if line, ok := invalidUTF8(text); ok {
		faults.add(line, "", "", "this line is not UTF-8", "save the file as UTF-8")
		return node{}, faults, false
	}
	// Line ends in the file mean nothing; inside a multi-line string they would.
	s := strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n")

	sketch := outline(s)
	faults = sketch.faults
	if sketch.broken && len(faults) > 0 {
		return node{}, faults, false
	}
	values, err := decodeTOML(s[:sketch.end])
	if err != nil {
		line, msg := syntaxError(err)
		faults.add(clamp(line, 1, 1+strings.Count(s, "\n")), "", "", msg, "correct the TOML syntax")
		return node{}, faults, false
	}
	root, ok := join(values, sketch.root)
	if sketch.broken || !ok {
		faults.add(1+strings.Count(s[:sketch.end], "\n"), "", "", "this is not the TOML that it seems to be",
			"write keys, tables and values in their plain form")
		return node{}, faults, false
	}
	return root, faults, true
}

// decodeTOML keeps a defect of the TOML package from ending the process: it
// panics where its lexer and its parser disagree.
func decodeTOML(s string) (values map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			values, err = nil, fmt.Errorf("the TOML reader failed: %v", r)
		}
	}()
	_, err = toml.Decode(s, &values)
	return values, err
}

func syntaxError(err error) (line int, msg string) {
	var pe toml.ParseError
	if !errors.As(err, &pe) {
		return 1, "not TOML: " + printable(err.Error())
	}
	if pe.Message == "" { // the errors of numbers and dates keep theirs to themselves
		_, after, _ := strings.Cut(pe.Error(), ": ")
		_, after, _ = strings.Cut(after, ": ")
		return pe.Position.Line, "not TOML: " + printable(after)
	}
	return pe.Position.Line, "not TOML: " + printable(strings.TrimSuffix(pe.Message, "."))
}

// join puts values and lines together. It returns false where the two have not
// the same shape; then one of the two readers has misread the file.
func join(value any, m *mark) (node, bool) {
	n := node{line: m.line}
	switch v := value.(type) {
	case map[string]any:
		if m.kind != tableMark || len(v) != len(m.keys) {
			return n, false
		}
		t := make(table, len(v))
		for key, item := range v {
			child := m.keys[key]
			if child == nil {
				return n, false
			}
			joined, ok := join(item, child)
			if !ok {
				return n, false
			}
			t[key] = joined
		}
		n.value = t
	case []map[string]any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = v[i]
		}
		return join(items, m)
	case []any:
		if m.kind != listMark && m.kind != tablesMark || len(v) != len(m.items) {
			return n, false
		}
		l := make(list, len(v))
		for i, item := range v {
			joined, ok := join(item, m.items[i])
			if !ok {
				return n, false
			}
			l[i] = joined
		}
		n.value = l
	default:
		if m.kind != leafMark {
			return n, false
		}
		n.value = v
	}
	return n, true
}

// invalidUTF8 finds the first line that is not UTF-8.
func invalidUTF8(text []byte) (line int, found bool) {
	line = 1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return line, true
		}
		if r == '\n' {
			line++
		}
		i += size
	}
	return 0, false
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }
