package source

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The layers a source can be refused by.
const (
	// LayerFetch is the layer that reaches the source: it is not there, or it is of a kind that is not supported.
	LayerFetch = "fetch"
	// LayerExtract is the layer that takes a source's files: one of them cannot be kept.
	LayerExtract = "extract"
)

// Error is one refusal.
type Error struct {
	Layer string // LayerFetch or LayerExtract
	Path  string // what was refused: the source, or a path inside the tree with slashes; empty for the tree as a whole
	What  string // what is wrong
	Fix   string // what to do about it
	Err   error  // the cause where the system or a context gave one, or nil
}

// Error is one line; a name that is not plain ASCII is quoted, so that it cannot act on a terminal.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Layer)
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(shown(e.Path))
		b.WriteString(": ")
	}
	b.WriteString(e.What)
	if e.Fix != "" {
		b.WriteString("; ")
		b.WriteString(e.Fix)
	}
	return b.String()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errors is everything a source was refused for, sorted by path.
type Errors []*Error

// Error has one line for each refusal.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes errors.Is and errors.As reach every refusal and its cause.
func (es Errors) Unwrap() []error {
	all := make([]error, len(es))
	for i, e := range es {
		all[i] = e
	}
	return all
}

// sorted orders refusals by path, then text, and cuts what nobody would read.
func (es Errors) sorted() Errors {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.What, b.What))
	})
	if extra := len(es) - MaxErrors; extra > 0 {
		es = append(es[:MaxErrors:MaxErrors], &Error{Layer: LayerExtract,
			What: fmt.Sprintf("%d more refusals are not shown", extra), Fix: "repair these first"})
	}
	return es
}

func refuse(path, what, do string) *Error {
	return &Error{Layer: LayerExtract, Path: path, What: what, Fix: do}
}

func failed(layer, path string, err error, do string) Errors {
	return Errors{{Layer: layer, Path: path, What: err.Error(), Fix: do, Err: err}}
}

// shown is a path as it may reach a terminal.
func shown(path string) string {
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return strconv.QuoteToASCII(path)
		}
	}
	return path
}
