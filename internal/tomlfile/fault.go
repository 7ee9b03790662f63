package tomlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing wrong with a file. Only a [Reading] makes one.
type Fault struct {
	Line  int    `json:"line"`            // 1-based; 0 is the file as a whole
	Table string `json:"table,omitempty"` // "tool", "net.secret"; empty at the top level
	Key   string `json:"key,omitempty"`   // empty where the table itself is at fault
	Msg   string `json:"msg"`             // what is wrong
	Fix   string `json:"fix"`             // what to do

	place string // "manifest: extension.toml"
}

// Error renders the fault as one line: "<layer>: <file>:<line>: [<table>] <key>: <msg>; <fix>".
func (f Fault) Error() string {
	where := f.Key
	if f.Table != "" {
		where = strings.TrimSpace("[" + f.Table + "] " + f.Key)
	}
	if where != "" {
		where += ": "
	}
	line := ""
	if f.Line > 0 {
		line = fmt.Sprintf(":%d", f.Line)
	}
	text := f.place + line + ": " + where + f.Msg
	if f.Fix != "" {
		text += "; " + f.Fix
	}
	return text
}

// Faults are all faults of one file, by line. As an error it is one line for each.
type Faults []Fault

// Error renders one line for each fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each fault to errors.As.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// sorted orders the faults by line and cuts what nobody would read. A map's
// order may have decided which of two faults on a line came first, so the order
// among them is by text.
func (fs Faults) sorted() Faults {
	slices.SortFunc(fs, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Table, b.Table),
			cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Msg, b.Msg),
		)
	})
	if len(fs) > MaxFaults {
		last := fs[MaxFaults-1]
		rest := len(fs) - MaxFaults + 1
		fs = append(fs[:MaxFaults-1:MaxFaults-1], Fault{
			Line:  last.Line,
			Msg:   fmt.Sprintf("%d more faults from here on", rest),
			Fix:   "correct the ones above first",
			place: last.place,
		})
	}
	return fs
}
