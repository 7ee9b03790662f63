package vet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Layer is the layer a finding belongs to, as error texts and exit statuses name it.
const Layer = "vetting"

// MaxFindings is the most findings of one file that are reported. A file with more is not repaired one by one.
const MaxFindings = 50

// Finding is one thing that keeps a source from being built.
type Finding struct {
	Path string // the file, from the tree's root
	Line int    // from 1; 0 where the finding is about the file as a whole
	Col  int    // in bytes, from 1; 0 where the finding is about the line as a whole
	Lint string // which rule, one of the Lint constants
	What string // what is wrong
	Fix  string // what to do instead
}

// String is the finding on one line, without its layer: "tool/run.go:12:2: import: …; …". Nothing in it can act on a
// terminal, whatever the source holds.
func (f Finding) String() string {
	place := plain(f.Path)
	if f.Line > 0 {
		place += ":" + strconv.Itoa(f.Line)
	}
	if f.Line > 0 && f.Col > 0 {
		place += ":" + strconv.Itoa(f.Col)
	}
	return fmt.Sprintf("%s: %s: %s; %s", place, f.Lint, plain(f.What), plain(f.Fix))
}

// Findings is everything that was found, sorted by place. As an error it has one line for each, with the layer.
type Findings []Finding

func (fs Findings) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = Layer + ": " + f.String()
	}
	return strings.Join(lines, "\n")
}

// sorted orders findings by place and cuts each file's to MaxFindings, saying so.
func (fs Findings) sorted() Findings {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Lint, b.Lint), cmp.Compare(a.What, b.What))
	})
	fs = slices.Compact(fs)
	var out Findings
	for len(fs) > 0 {
		n := 1
		for n < len(fs) && fs[n].Path == fs[0].Path {
			n++
		}
		out = append(out, fs[:min(n, MaxFindings)]...)
		if n > MaxFindings {
			last := fs[MaxFindings]
			out = append(out, Finding{Path: last.Path, Line: last.Line, Col: last.Col, Lint: LintMore,
				What: fmt.Sprintf("at least %d more findings from here on are not shown", n-MaxFindings), Fix: "repair those above first"})
		}
		fs = fs[n:]
	}
	return out
}

// maxText is where a text taken from a source is cut.
const maxText = 300

// plain is text as it may reach a terminal: printable, and not endless.
func plain(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	odd := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	if strings.IndexFunc(s, odd) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if odd(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
