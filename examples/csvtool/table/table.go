// Package table reads CSV text as people and programs write it, which is not always as RFC 4180
// wants it. What is wrong is noted with its line and read as well as it can be, so that one
// stray quote does not hide the rest of a file.
package table

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a text.
const (
	// MaxColumns is the most fields of a row: more is a text that is no table.
	MaxColumns = 512
	// MaxField is the longest field, in bytes. An unclosed quote would otherwise swallow the file.
	MaxField = 64 << 10
)

// Table is a text that was read.
type Table struct {
	Names []string // of the columns, each once
	Rows  []Row
	// Faults are what is wrong, in order; Dropped is how many more there are than were kept.
	Faults  []Fault
	Dropped int
	// Truncated says that there are more rows than were asked for.
	Truncated bool
	Delimiter byte
}

// Row is one record and the line it begins on, from 1.
type Row struct {
	Line   int
	Fields []string
}

// Fault is one thing wrong with the text.
type Fault struct {
	Line   int    `json:"line"`
	Column string `json:"column,omitempty"`
	Msg    string `json:"msg"`
}

// Options say how to read.
type Options struct {
	Delimiter byte // 0 finds out
	Header    bool
	MaxRows   int
	MaxFaults int
}

// Read reads a text. Its error is a text that is no table at all.
func Read(text string, o Options) (*Table, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	if err := readable(text); err != nil {
		return nil, err
	}
	if o.Delimiter == 0 {
		o.Delimiter = Sniff(text)
	}
	t := &Table{Delimiter: o.Delimiter}
	r := &reader{text: text, line: 1, delimiter: o.Delimiter, fault: func(line int, msg string) { t.note(o, Fault{Line: line, Msg: msg}) }}
	for {
		row, more, err := r.row()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if t.Names == nil {
			if t.Names = t.header(row, o); o.Header {
				continue
			}
		}
		if len(t.Rows) == o.MaxRows {
			t.Truncated = true
			break
		}
		t.Rows = append(t.Rows, t.fit(row, o))
	}
	if t.Names == nil {
		return nil, fmt.Errorf("the text has no row; pass the content of a CSV file")
	}
	return t, nil
}

func (t *Table) note(o Options, f Fault) {
	if len(t.Faults) == o.MaxFaults {
		t.Dropped++
		return
	}
	t.Faults = append(t.Faults, f)
}

// readable refuses what is not text.
func readable(text string) error {
	line := 1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return fmt.Errorf("line %d is not UTF-8 (byte 0x%02x); convert the text, it may be Latin-1", line, text[i])
		case r == 0:
			return fmt.Errorf("line %d has a zero byte; this is no CSV text, or it is UTF-16: convert it to UTF-8", line)
		case r == '\n':
			line++
		}
		i += size
	}
	return nil
}

// header names the columns: after the first row, or by number.
func (t *Table) header(first Row, o Options) []string {
	names := make([]string, len(first.Fields))
	taken := map[string]bool{}
	for i, field := range first.Fields {
		name := strings.TrimSpace(field)
		switch {
		case !o.Header:
			name = fmt.Sprintf("column_%d", i+1)
		case name == "":
			name = fmt.Sprintf("column_%d", i+1)
			t.note(o, Fault{Line: first.Line, Column: name, Msg: "the header has no name for this column"})
		}
		if taken[name] {
			unique := name
			for n := 2; taken[unique]; n++ {
				unique = fmt.Sprintf("%s_%d", name, n)
			}
			t.note(o, Fault{Line: first.Line, Column: unique, Msg: fmt.Sprintf("the header names %q twice; this is the second", name)})
			name = unique
		}
		taken[name] = true
		names[i] = name
	}
	return names
}

// fit gives a row as many fields as there are columns.
func (t *Table) fit(row Row, o Options) Row {
	have, want := len(row.Fields), len(t.Names)
	switch {
	case have < want:
		t.note(o, Fault{Line: row.Line, Msg: fmt.Sprintf("the row has %s, the first one %d; the missing ones count as empty", fields(have), want)})
		row.Fields = append(row.Fields, make([]string, want-have)...)
	case have > want:
		t.note(o, Fault{Line: row.Line, Msg: fmt.Sprintf("the row has %s, the first one %d; the rest is left out", fields(have), want)})
		row.Fields = row.Fields[:want]
	}
	return row
}

func fields(n int) string {
	if n == 1 {
		return "1 field"
	}
	return fmt.Sprintf("%d fields", n)
}
