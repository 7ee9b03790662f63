package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// FileName is the manifest's name, at the root of an extension's tree.
const FileName = "extension.toml"

// Fault is one thing wrong with an extension.toml.
type Fault struct {
	Line  int    `json:"line"`            // 1-based
	Table string `json:"table,omitempty"` // "tool", "net.secret"; empty at the top level
	Key   string `json:"key,omitempty"`   // empty where the table itself is at fault
	Msg   string `json:"msg"`             // what is wrong
	Fix   string `json:"fix"`             // what to do
}

// Error renders the fault as one line.
func (f Fault) Error() string {
	where := f.Key
	if f.Table != "" {
		where = strings.TrimSpace("[" + f.Table + "] " + f.Key)
	}
	if where != "" {
		where += ": "
	}
	text := fmt.Sprintf("manifest: %s:%d: %s%s", FileName, f.Line, where, f.Msg)
	if f.Fix != "" {
		text += "; " + f.Fix
	}
	return text
}

// Faults are all faults of one extension.toml, by line. As an error it is one
// line for each.
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

// add records a fault.
func (fs *Faults) add(line int, table, key, msg, fix string) {
	*fs = append(*fs, Fault{Line: line, Table: table, Key: key, Msg: msg, Fix: fix})
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
	if len(fs) > maxFaults {
		last := fs[maxFaults-1]
		rest := len(fs) - maxFaults + 1
		fs = append(fs[:maxFaults-1:maxFaults-1], Fault{
			Line: last.Line,
			Msg:  fmt.Sprintf("%d more faults from here on", rest),
			Fix:  "correct the ones above first",
		})
	}
	return fs
}

// maxQuoted is how much of a foreign text an error message repeats, in bytes.
const maxQuoted = 80

// quote renders foreign text for an error message: on one line, without
// anything a terminal would act on, and cut to a readable length.
func quote(s string) string {
	if len(s) <= maxQuoted {
		return escape(strconv.Quote(s))
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return escape(strconv.Quote(s[:end]+"…")) + fmt.Sprintf(" (%d bytes)", len(s))
}

// escape replaces what strconv holds to be printable and a reader does not see.
func escape(quoted string) string {
	if _, found := hidden(quoted, ""); !found {
		return quoted
	}
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case !isHidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
