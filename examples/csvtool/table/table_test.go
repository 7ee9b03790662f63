package table

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, text string) *Table {
	t.Helper()
	got, err := Read(text, Options{Header: true, MaxRows: 100, MaxFaults: 10})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRowsAsTheyAreWritten(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"plain", "a,b\n1,2\n3,4\n", "[1 2] [3 4]"},
		{"no last newline", "a,b\n1,2", "[1 2]"},
		{"carriage returns", "a,b\r\n1,2\r\n", "[1 2]"},
		{"old Mac", "a,b\r1,2\r", "[1 2]"},
		{"a byte order mark", "\ufeffa,b\n1,2\n", "[1 2]"},
		{"quotes", "a,b\n\"x,y\",\"say \"\"hi\"\"\"\n", `[x,y say "hi"]`},
		{"a line break in quotes", "a,b\n\"x\ny\",2\n3,4\n", "[x\ny 2] [3 4]"},
		{"space before a quote", "a,b\n1, \"x,y\"\n", "[1 x,y]"},
		{"empty lines", "a,b\n\n1,2\n\n\n3,4\n", "[1 2] [3 4]"},
		{"empty fields", "a,b,c\n,,\n", "[  ]"},
		{"semicolons", "a;b\n1,5;2\n", "[1,5 2]"},
		{"tabs", "a\tb\n1\t2\n", "[1 2]"},
		{"one column", "a\n1\n2\n", "[1] [2]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := read(t, tt.text)
			var rows []string
			for _, row := range table.Rows {
				rows = append(rows, fmt.Sprint(row.Fields))
			}
			if got := strings.Join(rows, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if len(table.Faults) > 0 {
				t.Errorf("faults: %v", table.Faults)
			}
		})
	}
}

func TestFaultsHaveTheirLine(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		line       int
		msg        string
		rows       int
	}{
		{"too few", "a,b\n1,2\n3\n4,5\n", 3, "the row has 1 field, the first one 2", 3},
		{"too many", "a,b\n1,2,3\n", 2, "the row has 3 fields, the first one 2", 1},
		{"after a line break in quotes", "a,b\n\"x\n\ny\",2\n3\n", 5, "the row has 1 field", 2},
		{"never closed", "a,b\n1,2\n\"x,2\n3,4\n", 3, "never closed", 3},
		{"text after a quote", "a,b\n\"x\"y,2\n", 2, `"y" follows a closing quote`, 1},
		{"a quote inside", "a,b\n5\" pipe,2\n", 2, "a quote inside the unquoted field", 1},
		{"a name twice", "a,a\n1,2\n", 1, `names "a" twice`, 1},
		{"no name", "a,\n1,2\n", 1, "no name for this column", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := read(t, tt.text)
			if len(table.Rows) != tt.rows {
				t.Errorf("%d rows, want %d: %v", len(table.Rows), tt.rows, table.Rows)
			}
			if !slices.ContainsFunc(table.Faults, func(f Fault) bool { return f.Line == tt.line && strings.Contains(f.Msg, tt.msg) }) {
				t.Errorf("no fault on line %d with %q: %v", tt.line, tt.msg, table.Faults)
			}
		})
	}
}

func TestNamesAreUnique(t *testing.T) {
	if got := read(t, "a,a_2,a, ,a\n1,2,3,4,5\n").Names; !slices.Equal(got, []string{"a", "a_2", "a_3", "column_4", "a_4"}) {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsNoTable(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "no row"},
		{"\n\n", "no row"},
		{"a,b\ncaf\xe9,1\n", "line 2 is not UTF-8 (byte 0xe9)"},
		{"a\x00,\x00", "zero byte"},
		{strings.Repeat("a,", MaxColumns) + "b\n", "more than 512 fields"},
		{"a\n\"" + strings.Repeat("x\n", MaxField) + "\"\n", "line 2 begins a field of more than"},
	} {
		if _, err := Read(tt.text, Options{MaxRows: 10}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.20q: %v; want %q", tt.text, err, tt.want)
		}
	}
}

func TestBoundsAreSaid(t *testing.T) {
	table, err := Read("a,b\n"+strings.Repeat("1\n", 50), Options{Header: true, MaxRows: 20, MaxFaults: 3})
	if err != nil || len(table.Rows) != 20 || !table.Truncated || len(table.Faults) != 3 || table.Dropped != 17 {
		t.Errorf("%d rows, truncated %v, %d faults and %d more, %v", len(table.Rows), table.Truncated, len(table.Faults), table.Dropped, err)
	}
}

func TestSniff(t *testing.T) {
	for text, want := range map[string]byte{
		"a,b,c\n1,2,3\n": ',', "a;b\n1,5;2,5\n": ';', "a\tb\n1\t2\n": '\t', "a|b|c\nx,y|2|3\n": '|', "one\ntwo\n": ',',
		"name;note\n\"x;y\";a,b\n": ';', "": ',',
	} {
		if got := Sniff(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a,b\n\"x\"y,2\n\"", byte(','))
	f.Add("\"\"\"\r\n,\"", byte(0))
	f.Fuzz(func(t *testing.T, text string, delimiter byte) {
		if !slices.Contains(append(sniffed, 0), delimiter) {
			return
		}
		table, err := Read(text, Options{Delimiter: delimiter, Header: true, MaxRows: 100, MaxFaults: 5})
		if err != nil {
			return
		}
		for _, row := range table.Rows {
			if len(row.Fields) != len(table.Names) || row.Line < 1 || row.Line > 1+lines(text) {
				t.Fatalf("%q: %+v of %d names", text, row, len(table.Names))
			}
		}
	})
}
