// Package stats is the entry of the tool column_stats.
package stats

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loomext/loomext/prelude/ext"

	"example.com/csvtool/profile"
	"example.com/csvtool/table"
)

// request is schema/column_stats.json.
type request struct {
	CSV       string   `json:"csv"`
	Delimiter string   `json:"delimiter"`
	Header    *bool    `json:"header"`
	Decimal   string   `json:"decimal"`
	Columns   []string `json:"columns"`
}

// settings is the [config] of extension.toml.
type settings struct {
	MaxRows   int `json:"max_rows"`
	MaxFaults int `json:"max_faults"`
	Top       int `json:"top"`
}

// answer is what the tool gives back.
type answer struct {
	Rows      int              `json:"rows"`
	Truncated bool             `json:"truncated,omitempty"` // there are more rows than max_rows
	Delimiter string           `json:"delimiter"`
	Columns   []profile.Column `json:"columns"`
	Faults    []table.Fault    `json:"faults"`
	// MoreFaults is how many there are beside those.
	MoreFaults int `json:"more_faults,omitempty"`
}

// Run describes the columns of a text.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	s, err := ext.Config[settings]()
	if err != nil {
		return ext.Outcome{}, err
	}
	a, err := describe(ctx, r, s)
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.JSON(a)
})

// describe does the work. Its errors are written for the model that reads them.
func describe(ctx ext.Ctx, r request, s settings) (answer, error) {
	if s.MaxRows < 1 || s.MaxFaults < 0 || s.Top < 0 {
		return answer{}, ext.Refuse("max_rows, max_faults and top in the configuration must not be negative, and max_rows at least 1; the operator set them")
	}
	o := table.Options{Header: r.Header == nil || *r.Header, MaxRows: s.MaxRows, MaxFaults: s.MaxFaults}
	if r.Delimiter != "" && r.Delimiter != "auto" {
		o.Delimiter = r.Delimiter[0]
	}
	decimal := r.Decimal
	if decimal == "" {
		decimal = "."
	}
	t, err := table.Read(r.CSV, o)
	if err != nil {
		return answer{}, ext.Refuse("csv: %v", err)
	}
	if string(t.Delimiter) == decimal {
		return answer{}, ext.Refuse("decimal and delimiter are both %q; numbers with a decimal comma need another delimiter, or quotes and decimal \".\"", decimal)
	}
	wanted, err := chosen(t.Names, r.Columns)
	if err != nil {
		return answer{}, err
	}
	a := answer{Rows: len(t.Rows), Truncated: t.Truncated, Delimiter: string(t.Delimiter), Columns: []profile.Column{}, Faults: t.Faults, MoreFaults: t.Dropped}
	for i, index := range wanted {
		if err := ctx.Err(); err != nil {
			return answer{}, fmt.Errorf("stopped after %d of %d columns: %w", i, len(wanted), err)
		}
		column, faults := profile.Describe(t, index, profile.Options{Decimal: decimal, Top: s.Top})
		a.Columns = append(a.Columns, column)
		room := max(s.MaxFaults-len(a.Faults), 0)
		a.Faults = append(a.Faults, faults[:min(room, len(faults))]...)
		a.MoreFaults += max(len(faults)-room, 0)
	}
	if a.Faults == nil {
		a.Faults = []table.Fault{}
	}
	return a, nil
}

// chosen are the indices of the columns that are asked for, all where none is.
func chosen(names, asked []string) ([]int, error) {
	var indices []int
	if asked == nil {
		for i := range names {
			indices = append(indices, i)
		}
		return indices, nil
	}
	var unknown []string
	for _, name := range asked {
		i := slices.Index(names, name)
		switch {
		case i < 0:
			unknown = append(unknown, fmt.Sprintf("%q", name))
		case !slices.Contains(indices, i):
			indices = append(indices, i)
		}
	}
	if len(unknown) > 0 {
		return nil, ext.Refuse("columns: there is no %s; the text has %s", strings.Join(unknown, ", "), listed(names))
	}
	return indices, nil
}

// listed are names, not too many of them.
func listed(names []string) string {
	const enough = 20
	quoted := make([]string, 0, enough)
	for _, name := range names[:min(len(names), enough)] {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	text := strings.Join(quoted, ", ")
	if len(names) > enough {
		text += fmt.Sprintf(" and %d more", len(names)-enough)
	}
	return text
}
