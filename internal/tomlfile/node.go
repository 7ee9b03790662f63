package tomlfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Node is one value of a file with its line: what the TOML package decoded,
// joined to what outline noted.
type Node struct {
	Line  int // 1-based
	Value any // string, int64, float64, bool, time.Time, Table or List
}

// Table is a table's values by key, List an array's.
type (
	Table map[string]Node
	List  []Node
)

// Kind names the node's type the way a fault does: "an integer".
func (n Node) Kind() string {
	switch n.Value.(type) {
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
	case Table:
		return "a table"
	case List:
		return "an array"
	}
	return "nothing"
}

// ByLine lists a table's keys in the order in which they stand in the file.
func (t Table) ByLine() []string {
	keys := slices.Sorted(maps.Keys(t))
	slices.SortStableFunc(keys, func(a, b string) int { return t[a].Line - t[b].Line })
	return keys
}

// Parse reads a whole file. Where it returns false the reading has faults, and
// there is no table. Where it returns true it may have some too, of comments.
func (f *Format) Parse(text []byte) (Table, *Reading, bool) {
	r := f.Begin()
	if len(text) > f.MaxBytes {
		r.Add(1, "", "", fmt.Sprintf("the file has %d bytes, the bound is %d", len(text), f.MaxBytes), f.Relief)
		return nil, r, false
	}
	if line, ok := InvalidUTF8(text); ok {
		r.Add(line, "", "", "this line is not UTF-8", "save the file as UTF-8")
		return nil, r, false
	}
	// Line ends in the file mean nothing; inside a multi-line string they would.
	s := strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n")

	sketch := outline(s, r)
	if sketch.broken && r.Count() > 0 {
		return nil, r, false
	}
	values, err := decodeTOML(s[:sketch.end])
	if err != nil {
		line, msg := syntaxError(err)
		if f.Discreet {
			msg = "this line is not TOML"
		}
		r.Add(max(1, min(line, 1+strings.Count(s, "\n"))), "", "", msg, "correct the TOML syntax")
		return nil, r, false
	}
	root, ok := join(values, sketch.root)
	if sketch.broken || !ok {
		r.Add(1+strings.Count(s[:sketch.end], "\n"), "", "", "this is not the TOML that it seems to be",
			"write keys, tables and values in their plain form")
		return nil, r, false
	}
	return root.Value.(Table), r, true
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
		return 1, "not TOML: " + Printable(err.Error())
	}
	if pe.Message == "" { // the errors of numbers and dates keep theirs to themselves
		_, after, _ := strings.Cut(pe.Error(), ": ")
		_, after, _ = strings.Cut(after, ": ")
		return pe.Position.Line, "not TOML: " + Printable(after)
	}
	return pe.Position.Line, "not TOML: " + Printable(strings.TrimSuffix(pe.Message, "."))
}

// join puts values and lines together. It returns false where the two have not
// the same shape; then one of the two readers has misread the file.
func join(value any, m *mark) (Node, bool) {
	n := Node{Line: m.line}
	switch v := value.(type) {
	case map[string]any:
		if m.kind != tableMark || len(v) != len(m.keys) {
			return n, false
		}
		t := make(Table, len(v))
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
		n.Value = t
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
		l := make(List, len(v))
		for i, item := range v {
			joined, ok := join(item, m.items[i])
			if !ok {
				return n, false
			}
			l[i] = joined
		}
		n.Value = l
	default:
		if m.kind != leafMark {
			return n, false
		}
		n.Value = v
	}
	return n, true
}
