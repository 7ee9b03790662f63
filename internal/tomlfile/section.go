package tomlfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Section reads one table of the file. Every method records what is wrong and
// goes on, so that one pass finds all faults.
type Section struct {
	Name   string // "tool", "net.secret"
	Line   int    // 1-based
	Values Table

	rule    Rule
	meant   []string // keys that a misspelt one was probably meant to be
	reading *Reading
}

// Open starts to read a table by the name of its rule, and reports each key
// that does not belong there.
func (r *Reading) Open(name string, n Node) (Section, bool) {
	return r.OpenAs(r.format.rule(name), n)
}

// OpenAs is [Reading.Open] for a table whose own name the author chose, so that
// no rule of the format goes by it. The rule's name has been made printable.
func (r *Reading) OpenAs(rule Rule, n Node) (Section, bool) {
	values, ok := n.Value.(Table)
	if !ok {
		fix := "write it under its own " + rule.header() + " line"
		if _, many := n.Value.(List); many {
			fix = "write " + rule.header() + " once"
		}
		r.Add(n.Line, rule.Name, "", "expected a table, found "+n.Kind(), fix)
		return Section{}, false
	}
	s := Section{Name: rule.Name, Line: n.Line, Values: values, rule: rule, reading: r}
	if rule.Keys == nil {
		return s, true
	}
	for _, key := range values.ByLine() {
		if !slices.Contains(rule.Keys, key) {
			s.Fault(values[key], Printable(key), "unknown key", s.suggest(key))
		}
	}
	return s, true
}

// suggest says what an unknown key should have been.
func (s *Section) suggest(key string) string {
	if near, ok := Nearest(key, s.rule.Keys); ok {
		s.meant = append(s.meant, near)
		return "did you mean " + Quote(near) + "?"
	}
	for _, other := range s.reading.format.Tables {
		if slices.Contains(other.Keys, key) {
			return "it belongs under " + other.header()
		}
	}
	return s.rule.header() + " takes " + strings.Join(s.rule.Keys, ", ")
}

// Fault records what is wrong with the value of a key, or with one item of it.
func (s Section) Fault(at Node, key, msg, fix string) {
	s.reading.Add(at.Line, s.Name, key, msg, fix)
}

// Get finds a key. An absent one is no fault.
func (s Section) Get(key string) (Node, bool) {
	n, ok := s.Values[key]
	return n, ok
}

// Misspelt reports whether a key that the table does not have was probably meant
// to be this one.
func (s Section) Misspelt(key string) bool { return slices.Contains(s.meant, key) }

// Need finds a key that must be there. what completes "add …". Where a misspelt
// key has been told its right name, that is not said again.
func (s Section) Need(key, what string) (Node, bool) {
	n, ok := s.Values[key]
	if !ok && !s.Misspelt(key) {
		s.reading.Add(s.Line, s.Name, key, "this key is missing", "add "+key+" = "+what)
	}
	return n, ok
}

// Text reads a string of at most bound bytes, none of them hidden but those in
// permitted, and not empty.
func (s Section) Text(n Node, key string, bound int, permitted string) (string, bool) {
	v, ok := n.Value.(string)
	if !ok {
		s.Fault(n, key, "expected a string, found "+n.Kind(), "put the value in quotes")
		return "", false
	}
	if name, bad := Hidden(v, permitted); bad {
		fix := "remove it: people must see all that is there"
		if strings.HasPrefix(name, "a ") {
			fix = "write it on one line with plain spaces"
		}
		s.Fault(n, key, "the text holds "+name, fix)
		return "", false
	}
	if strings.TrimSpace(v) == "" {
		s.Fault(n, key, "the text is empty", "write it")
		return "", false
	}
	if len(v) > bound {
		s.Fault(n, key, fmt.Sprintf("the text has %d bytes, the bound is %d", len(v), bound), "shorten it")
		return "", false
	}
	return v, true
}

// Word is a kind of string.
type Word struct {
	What  string // "a name"
	Rule  string // what completes "write …"
	Bound int    // bytes
	Is    func(string) bool
}

// Word reads a string of one kind.
func (s Section) Word(n Node, key string, w Word) (string, bool) {
	v, ok := s.Text(n, key, w.Bound, "")
	if ok && !w.Is(v) {
		s.Fault(n, key, Quote(v)+" is not "+w.What, "write "+w.Rule)
		return "", false
	}
	return v, ok
}

// Number reads an integer from low to high.
func (s Section) Number(n Node, key string, low, high int64) (int64, bool) {
	v, ok := n.Value.(int64)
	if !ok {
		s.Fault(n, key, "expected an integer, found "+n.Kind(), "write a whole number without quotes")
		return 0, false
	}
	if v < low || v > high {
		s.Fault(n, key, integer(v)+" is out of range", "write a number from "+integer(low)+" to "+integer(high))
		return 0, false
	}
	return v, true
}

// Array reads an array of at most bound items. of says what they are: "host
// names".
func (s Section) Array(n Node, key string, bound int, of string) (List, bool) {
	v, ok := n.Value.(List)
	if !ok {
		s.Fault(n, key, "expected an array of "+of+", found "+n.Kind(), "put the value in brackets")
		return nil, false
	}
	if len(v) > bound {
		s.Fault(n, key, fmt.Sprintf("the array has %d items, the bound is %d", len(v), bound), "name fewer")
		return nil, false
	}
	return v, true
}

// Some is Array for an array that must not be empty.
func (s Section) Some(n Node, key string, bound int, of string) (List, bool) {
	items, ok := s.Array(n, key, bound, of)
	if ok && len(items) == 0 {
		s.Fault(n, key, "the array is empty", "name what is needed")
		return nil, false
	}
	return items, ok
}

// Distinct reports whether v is not in seen; else it records a fault.
func (s Section) Distinct(n Node, key, v string, seen []string) bool {
	if slices.Contains(seen, v) {
		s.Fault(n, key, Quote(v)+" is named twice", "name it once")
		return false
	}
	return true
}

// integer renders a bound.
func integer(n int64) string { return strconv.FormatInt(n, 10) }
