package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/loomext/loomext/escape"
)

// errorf writes to standard error, above a progress line that is being rewritten. The caller
// has escaped what is not loomext's own. Nobody can be told that this write failed.
func (c *cli) errorf(format string, args ...any) {
	if c.stuck.Load() {
		return // a write of before has not come back, and this one would not either
	}
	c.errLock.Lock()
	defer c.errLock.Unlock()
	c.progress.clear()
	_, _ = fmt.Fprintf(c.err, format, args...)
}

// printf writes a result. The caller has escaped what is not loomext's own.
func (c *cli) printf(format string, args ...any) error {
	c.progress.clear()
	_, err := fmt.Fprintf(c.out, format, args...)
	return writeFault(err)
}

// outputError is a failed write of standard output.
type outputError struct{ error }

func (e *outputError) Unwrap() error { return e.error }

func (e *outputError) Error() string {
	why := e.error
	if path := (*fs.PathError)(nil); errors.As(why, &path) {
		why = path.Err
	}
	return "output: the result could not be written: " + why.Error() + "; write it elsewhere; what the command did stands"
}

// writeFault is the error of a write of standard output, or nil.
func writeFault(err error) error {
	if err == nil {
		return nil
	}
	return &outputError{err}
}

// printJSON writes a result as one JSON document: indented, keys in the documented order, no
// HTML escaping. On a terminal the characters that a terminal obeys are spelled as escapes,
// which decode to the same document.
func (c *cli) printJSON(v any) error {
	c.progress.clear()
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return writeShown(c.out, text.String(), escape.JSON)
}

// printLine writes one of many results as JSON on a line of its own, in the manner of printJSON.
func (c *cli) printLine(v any) error {
	c.progress.clear()
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return writeShown(c.out, line.String(), escape.JSON)
}

// writeShown writes a result as it is, or escaped where w is a terminal.
func writeShown(w io.Writer, text string, escaped func(string) string) error {
	if isTerminal(w) {
		text = escaped(text)
	}
	_, err := io.WriteString(w, text)
	return writeFault(err)
}

// columns is how many columns of a terminal s takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// clip shortens s to at most n columns.
func clip(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		w := runeColumns(r)
		if used+w > n-1 {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}

// wrap breaks s into lines of at most n columns between words; a longer word has a line of
// its own. The line breaks in s stay.
func wrap(s string, n int) []string {
	var lines []string
	for _, paragraph := range strings.Split(s, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			switch {
			case line == "":
				line = word
			case columns(line)+1+columns(word) <= n:
				line += " " + word
			default:
				lines, line = append(lines, line), word
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// table writes rows with their columns aligned, two spaces apart; the last column is free.
func table(w *strings.Builder, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell
			if i < len(row)-1 {
				line += strings.Repeat(" ", widths[i]-columns(cell)+2)
			}
		}
		w.WriteString(strings.TrimRight(line, " "))
		w.WriteByte('\n')
	}
}

// bytesText is a size for people.
func bytesText(n int64) string {
	const kibi = 1 << 10
	switch {
	case n < kibi:
		return fmt.Sprintf("%d B", n)
	case n < kibi*kibi:
		return fmt.Sprintf("%.1f KiB", float64(n)/kibi)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(kibi*kibi))
}
