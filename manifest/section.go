package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// section reads one table of the file. Every method records what is wrong and
// goes on, so that one pass finds all faults.
type section struct {
	name   string // "tool", "net.secret"
	line   int
	values table
	keys   []string // the keys it may hold, in the order messages name them
	meant  []string // keys that a misspelt one was probably meant to be
	faults *Faults
}

// The keys of every table. They double as the list from which a key that stands
// in the wrong table is recognized.
var tableKeys = map[string][]string{
	"extension":  {"name", "version", "description", "license", "tier", "requests"},
	"tool":       {"name", "description", "prompt_snippet", "parameters", "entry", "timeout_ms"},
	"hook":       {"event", "entry"},
	"net":        {"hosts", "methods", "max_response_bytes", "requests_per_call", "secret"},
	"net.secret": {"env", "host", "header", "format"},
	"proc":       {"commands"},
	"limits":     {"memory_mb"},
}

// open starts to read a table, and reports each key that does not belong there.
func open(name string, n node, faults *Faults) (section, bool) {
	values, ok := n.value.(table)
	if !ok {
		fix := "write it under its own " + header(name) + " line"
		if _, many := n.value.(list); many {
			fix = "write " + header(name) + " once"
		}
		faults.add(n.line, name, "", "expected a table, found "+n.kind(), fix)
		return section{}, false
	}
	s := section{name: name, line: n.line, values: values, keys: tableKeys[name], faults: faults}
	for _, key := range values.byLine() {
		if !slices.Contains(s.keys, key) {
			s.fault(values[key], printable(key), "unknown key", s.suggest(key))
		}
	}
	return s, true
}

// suggest says what an unknown key should have been.
func (s *section) suggest(key string) string {
	if near, ok := nearest(key, s.keys); ok {
		s.meant = append(s.meant, near)
		return "did you mean " + quote(near) + "?"
	}
	for _, other := range []string{"extension", "tool", "hook", "net", "net.secret", "proc", "limits"} {
		if slices.Contains(tableKeys[other], key) {
			return "it belongs under " + header(other)
		}
	}
	return header(s.name) + " takes " + strings.Join(s.keys, ", ")
}

// header is the line that opens a table.
func header(name string) string {
	if isListed(name) {
		return "[[" + name + "]]"
	}
	return "[" + name + "]"
}

// isListed is true for a table of which there may be many.
func isListed(name string) bool {
	return name == "tool" || name == "hook" || name == "net.secret"
}

func (s section) fault(at node, key, msg, fix string) {
	s.faults.add(at.line, s.name, key, msg, fix)
}

// get finds a key. An absent one is no fault.
func (s section) get(key string) (node, bool) {
	n, ok := s.values[key]
	return n, ok
}

// need finds a key that must be there. what completes "add …". Where a misspelt
// key has been told its right name, that is not said again.
func (s section) need(key, what string) (node, bool) {
	n, ok := s.values[key]
	if !ok && !slices.Contains(s.meant, key) {
		s.faults.add(s.line, s.name, key, "this key is missing", "add "+key+" = "+what)
	}
	return n, ok
}

// text reads a string of at most bound bytes, none of them hidden but those in
// permitted, and not empty.
func (s section) text(n node, key string, bound int, permitted string) (string, bool) {
	v, ok := n.value.(string)
	if !ok {
		s.fault(n, key, "expected a string, found "+n.kind(), "put the value in quotes")
		return "", false
	}
	if name, bad := hidden(v, permitted); bad {
		fix := "remove it: people must see all that is there"
		if strings.HasPrefix(name, "a ") {
			fix = "write it on one line with plain spaces"
		}
		s.fault(n, key, "the text holds "+name, fix)
		return "", false
	}
	if strings.TrimSpace(v) == "" {
		s.fault(n, key, "the text is empty", "write it")
		return "", false
	}
	if len(v) > bound {
		s.fault(n, key, fmt.Sprintf("the text has %d bytes, the bound is %d", len(v), bound), "shorten it")
		return "", false
	}
	return v, true
}

// word is a kind of string.
type word struct {
	what  string // "a name"
	rule  string // what completes "write …"
	bound int    // bytes
	is    func(string) bool
}

// word reads a string of one kind.
func (s section) word(n node, key string, w word) (string, bool) {
	v, ok := s.text(n, key, w.bound, "")
	if ok && !w.is(v) {
		s.fault(n, key, quote(v)+" is not "+w.what, "write "+w.rule)
		return "", false
	}
	return v, ok
}

// number reads an integer from low to high.
func (s section) number(n node, key string, low, high int64) (int64, bool) {
	v, ok := n.value.(int64)
	if !ok {
		s.fault(n, key, "expected an integer, found "+n.kind(), "write a whole number without quotes")
		return 0, false
	}
	if v < low || v > high {
		s.fault(n, key, integer(v)+" is out of range", "write a number from "+integer(low)+" to "+integer(high))
		return 0, false
	}
	return v, true
}

// array reads an array of 1 to bound items.
func (s section) array(n node, key string, bound int, of string) (list, bool) {
	v, ok := n.value.(list)
	if !ok {
		s.fault(n, key, "expected an array of "+of+", found "+n.kind(), "put the value in brackets")
		return nil, false
	}
	if len(v) > bound {
		s.fault(n, key, fmt.Sprintf("the array has %d items, the bound is %d", len(v), bound), "name fewer")
		return nil, false
	}
	return v, true
}

// distinct reports whether v is not in seen; else it records a fault.
func (s section) distinct(n node, key, v string, seen []string) bool {
	if slices.Contains(seen, v) {
		s.fault(n, key, quote(v)+" is named twice", "name it once")
		return false
	}
	return true
}
