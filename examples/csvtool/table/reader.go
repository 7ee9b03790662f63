package table

import (
	"fmt"
	"strings"
)

// reader takes rows off a text.
type reader struct {
	text      string
	at        int
	line      int
	delimiter byte
	fault     func(line int, msg string)
}

// row is the next record that is not an empty line.
func (r *reader) row() (Row, bool, error) {
	for r.at < len(r.text) && (r.text[r.at] == '\n' || r.text[r.at] == '\r') {
		r.newline()
	}
	if r.at >= len(r.text) {
		return Row{}, false, nil
	}
	row := Row{Line: r.line}
	for {
		field, err := r.field()
		if err != nil {
			return Row{}, false, err
		}
		if row.Fields = append(row.Fields, field); len(row.Fields) > MaxColumns {
			return Row{}, false, fmt.Errorf("line %d has more than %d fields; name the delimiter, or pass a table with fewer columns", row.Line, MaxColumns)
		}
		if r.at >= len(r.text) {
			return row, true, nil
		}
		if r.text[r.at] != r.delimiter {
			r.newline()
			return row, true, nil
		}
		r.at++
	}
}

// newline passes one end of a line, whichever system wrote it.
func (r *reader) newline() {
	if r.text[r.at] == '\r' && r.at+1 < len(r.text) && r.text[r.at+1] == '\n' {
		r.at++
	}
	r.at++
	r.line++
}

// field is the next field, with its quotes gone; what follows it is a delimiter, an end of the
// line or the end.
func (r *reader) field() (string, error) {
	begin, line := r.at, r.line
	for begin < len(r.text) && r.text[begin] == ' ' {
		begin++
	}
	if begin < len(r.text) && r.text[begin] == '"' {
		r.at = begin
		return r.quoted(line)
	}
	end := r.at + r.plainEnd(r.text[r.at:])
	field := r.text[r.at:end]
	r.at = end
	if strings.IndexByte(field, '"') >= 0 {
		r.fault(line, fmt.Sprintf("a quote inside the unquoted field %s; quote the whole field and double the quote", shown(field)))
	}
	return field, bounded(field, line)
}

// plainEnd is how far an unquoted field goes.
func (r *reader) plainEnd(text string) int {
	for i := range len(text) {
		if c := text[i]; c == r.delimiter || c == '\n' || c == '\r' {
			return i
		}
	}
	return len(text)
}

// quoted reads a field that begins with a quote. One that is never closed is read to the end of
// its first line instead, so that it costs a row and not the file.
func (r *reader) quoted(line int) (string, error) {
	var b strings.Builder
	open := r.at
	r.at++
	for {
		end := strings.IndexByte(r.text[r.at:], '"')
		if end < 0 {
			r.at, r.line = open+1, line
			length := r.plainEnd(r.text[r.at:])
			field := r.text[r.at : r.at+length]
			r.at += length
			r.fault(line, fmt.Sprintf("the quote before %s is never closed", shown(field)))
			return field, bounded(field, line)
		}
		part := r.text[r.at : r.at+end]
		b.WriteString(part)
		r.line += lines(part)
		r.at += end + 1
		if r.at < len(r.text) && r.text[r.at] == '"' {
			b.WriteByte('"')
			r.at++
			continue
		}
		if err := bounded(b.String(), line); err != nil {
			return "", err
		}
		rest := r.plainEnd(r.text[r.at:])
		after := r.text[r.at : r.at+rest]
		r.at += rest
		if strings.TrimSpace(after) != "" {
			r.fault(r.line, fmt.Sprintf("%s follows a closing quote; double the quote inside the field", shown(after)))
			b.WriteString(after)
		}
		return b.String(), bounded(b.String(), line)
	}
}

// lines counts the ends of lines, of all three kinds.
func lines(text string) int {
	return strings.Count(text, "\n") + strings.Count(text, "\r") - strings.Count(text, "\r\n")
}

func bounded(field string, line int) error {
	if len(field) > MaxField {
		return fmt.Errorf("line %d begins a field of more than %d bytes; look for a quote that is not closed", line, MaxField)
	}
	return nil
}

// shown is a field as a message repeats it.
func shown(field string) string {
	const enough = 30
	if runes := []rune(field); len(runes) > enough {
		return fmt.Sprintf("%q…", string(runes[:enough]))
	}
	return fmt.Sprintf("%q", field)
}

// sniffed are the delimiters that are tried, the likelier first.
var sniffed = []byte{',', ';', '\t', '|'}

// Sniff finds the delimiter: the one that gives the first rows equally many fields, and most of
// them. Quoted fields are looked past.
func Sniff(text string) byte {
	const rows = 20
	best, bestScore := sniffed[0], 0
	for _, delimiter := range sniffed {
		r := &reader{text: text, line: 1, delimiter: delimiter, fault: func(int, string) {}}
		width, equal := 0, 0
		for range rows {
			row, more, err := r.row()
			if err != nil || !more {
				break
			}
			if width == 0 {
				width = len(row.Fields)
			}
			if len(row.Fields) == width {
				equal++
			}
		}
		if score := equal * (width - 1) * 2; width > 1 && score > bestScore {
			best, bestScore = delimiter, score
		}
	}
	return best
}
