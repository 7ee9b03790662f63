package tomlfile

import (
	"slices"
	"strings"
)

// Format describes one kind of file. It does not change while files are read.
type Format struct {
	Layer    string // the first word of every fault: "manifest"
	Name     string // how faults call the file: "extension.toml", or a path
	Subject  string // what has the tables: "an extension"
	MaxBytes int    // size of the whole file
	Relief   string // what to do where a file is too large: "move data into …"
	Tables   []Rule // in the order in which messages name them
	// Discreet is set where people may write into the file what no message should
	// repeat. A fault of syntax then names the line alone.
	Discreet bool
}

// Rule says which keys a table has.
type Rule struct {
	Name   string   // "tool"; of a table in a table, "net.secret"
	Keys   []string // in the order in which messages name them; nil where the keys are the author's own
	Listed bool     // there may be many: [[tool]]
}

// header is the line that opens a table.
func (r Rule) header() string {
	if r.Listed {
		return "[[" + r.Name + "]]"
	}
	return "[" + r.Name + "]"
}

// rule is that of a table by its name. A table that the format does not have takes no key.
func (f *Format) rule(name string) Rule {
	for _, r := range f.Tables {
		if r.Name == name {
			return r
		}
	}
	return Rule{Name: name, Keys: []string{}}
}

// top lists the tables that stand at the top level.
func (f *Format) top() []Rule {
	return slices.DeleteFunc(slices.Clone(f.Tables), func(r Rule) bool { return strings.Contains(r.Name, ".") })
}

// names lists the names of tables.
func names(rules []Rule) []string {
	list := make([]string, len(rules))
	for i, r := range rules {
		list[i] = r.Name
	}
	return list
}

// Reading is one file being read: its format, and the faults found so far.
type Reading struct {
	format *Format
	faults Faults
}

// Begin starts a reading whose file [Format.Parse] has not seen, to report faults of the file
// as a whole.
func (f *Format) Begin() *Reading { return &Reading{format: f} }

// Add records a fault. Line is 1-based; 0 is the file as a whole. Table and key may be empty.
// Foreign text in any of them has been made printable.
func (r *Reading) Add(line int, table, key, msg, fix string) {
	r.faults = append(r.faults, Fault{
		Line: line, Table: table, Key: key, Msg: msg, Fix: fix,
		place: r.format.Layer + ": " + r.format.Name,
	})
}

// Count is how many faults there are so far.
func (r *Reading) Count() int { return len(r.faults) }

// Faults are the faults found so far, by line; of very many, the first.
func (r *Reading) Faults() Faults { return r.faults.sorted() }

// Strays reports each key at the top level that no table of the format goes by, but those that
// the caller reports itself.
func (r *Reading) Strays(root Table, but ...string) {
	top := r.format.top()
	for _, name := range root.ByLine() {
		known := slices.ContainsFunc(top, func(t Rule) bool { return t.Name == name })
		if !known && !slices.Contains(but, name) {
			r.stray(name, root[name], top)
		}
	}
}

func (r *Reading) stray(name string, n Node, top []Rule) {
	all := r.format.Subject + " has " + strings.Join(names(top), ", ")
	_, isTable := n.Value.(Table)
	_, isList := n.Value.(List)
	if isTable || isList {
		fix := all
		if near, ok := Nearest(name, names(top)); ok {
			fix = "did you mean " + r.format.rule(near).header() + "?"
		}
		r.Add(n.Line, Printable(name), "", "unknown table", fix)
		return
	}
	fix := "every key stands in a table: " + all
	for _, t := range top {
		if slices.Contains(t.Keys, name) {
			fix = "it belongs under " + t.header()
			break
		}
	}
	r.Add(n.Line, "", Printable(name), "unknown key at the top level", fix)
}

// Each lists the tables of an array of tables, by the name of its rule. There are none where
// the parent has no such key.
func (r *Reading) Each(name string, parent Table) List {
	n, ok := parent[name[strings.LastIndexByte(name, '.')+1:]]
	if !ok {
		return nil
	}
	items, ok := n.Value.(List)
	if !ok {
		r.Add(n.Line, name, "", "expected an array of tables, found "+n.Kind(), "write "+r.format.rule(name).header())
	}
	return items
}
