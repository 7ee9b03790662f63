package profile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/csvtool/table"
)

// maxDistinct is how many different values are counted. Beyond it a column is free text, and
// the count says "at least".
const maxDistinct = 10_000

// Nine of ten values of one kind make the others exceptions, which are told.
const (
	mostly      = 0.9
	fewestJudge = 10
)

// Column is what there is to say of one.
type Column struct {
	Name  string `json:"name"`
	Type  Kind   `json:"type"`
	Count int    `json:"count"` // values that are not empty
	Empty int    `json:"empty"`
	// Distinct counts different values; AtLeast says that there are more.
	Distinct int  `json:"distinct"`
	AtLeast  bool `json:"distinct_at_least,omitempty"`
	// Min and Max are values as they stand in the text: numbers by size, the rest by spelling.
	Min string `json:"min,omitempty"`
	Max string `json:"max,omitempty"`
	// Numbers is there for numeric columns, Lengths for text.
	Numbers *Numbers `json:"numbers,omitempty"`
	Lengths *Lengths `json:"lengths,omitempty"`
	Top     []Value  `json:"top"`
	// Mostly is the type that nearly all values have where not all do.
	Mostly Kind `json:"mostly,omitempty"`
}

// Numbers are the statistics of a numeric column. Deviation is that of a sample.
type Numbers struct {
	Sum       json.Number `json:"sum"`
	Mean      json.Number `json:"mean"`
	Median    json.Number `json:"median"`
	Deviation json.Number `json:"standard_deviation"`
}

// Lengths are in characters.
type Lengths struct {
	Min  int         `json:"min"`
	Max  int         `json:"max"`
	Mean json.Number `json:"mean"`
}

// Value is a frequent value.
type Value struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// Options of a description.
type Options struct {
	Decimal string
	Top     int
}

// Describe looks at one column of a table. The faults are the values that do not fit what nearly
// all others are.
func Describe(t *table.Table, index int, o Options) (Column, []table.Fault) {
	c := &counter{column: Column{Name: t.Names[index], Top: []Value{}}, decimal: o.Decimal, kinds: map[Kind]int{}, values: map[string]int{}}
	for _, row := range t.Rows {
		c.add(strings.TrimSpace(row.Fields[index]))
	}
	c.column.Type = c.kind()
	c.extremes(t, index)
	if c.column.Type == Integer || c.column.Type == Number {
		c.column.Numbers = numbers(c.numbers)
	}
	if c.column.Type == Text {
		c.column.Lengths = c.lengths()
	}
	c.column.Distinct = len(c.values)
	c.column.Top = top(c.values, o.Top)
	return c.column, c.exceptions(t, index)
}

type counter struct {
	column  Column
	decimal string
	kinds   map[Kind]int
	values  map[string]int
	numbers []float64
	length  int
	short   int
	long    int
}

func (c *counter) add(value string) {
	kind, n := KindOf(value, c.decimal)
	if kind == Empty {
		c.column.Empty++
		return
	}
	length := utf8.RuneCountInString(value)
	if c.column.Count == 0 || length < c.short {
		c.short = length
	}
	c.long = max(c.long, length)
	c.length += length
	c.column.Count++
	c.kinds[kind]++
	if kind == Integer || kind == Number {
		c.numbers = append(c.numbers, n)
	}
	if _, known := c.values[value]; known || len(c.values) < maxDistinct {
		c.values[value]++
	} else {
		c.column.AtLeast = true
	}
}

// kind is the narrowest that all values have.
func (c *counter) kind() Kind {
	all := func(kinds ...Kind) bool {
		n := 0
		for _, kind := range kinds {
			n += c.kinds[kind]
		}
		return n == c.column.Count
	}
	switch {
	case c.column.Count == 0:
		return Empty
	case all(Integer):
		return Integer
	case all(Integer, Number):
		return Number
	case all(Boolean):
		return Boolean
	case all(Date):
		return Date
	case all(Date, Datetime):
		return Datetime
	}
	c.column.Mostly = c.mostly()
	return Text
}

// mostly is the kind of nearly all values, or empty.
func (c *counter) mostly() Kind {
	if c.column.Count < fewestJudge {
		return ""
	}
	for _, group := range [][]Kind{{Integer}, {Number, Integer}, {Boolean}, {Date}, {Datetime, Date}} {
		n := 0
		for _, kind := range group {
			n += c.kinds[kind]
		}
		if float64(n) >= mostly*float64(c.column.Count) {
			return group[0]
		}
	}
	return ""
}

// exceptions are the values that are not of the kind that nearly all are.
func (c *counter) exceptions(t *table.Table, index int) []table.Fault {
	want := c.column.Mostly
	if want == "" {
		return nil
	}
	fits := map[Kind]bool{Empty: true, want: true, Integer: want == Number || want == Integer, Date: want == Datetime || want == Date}
	var faults []table.Fault
	for _, row := range t.Rows {
		value := strings.TrimSpace(row.Fields[index])
		if kind, _ := KindOf(value, c.decimal); !fits[kind] {
			faults = append(faults, table.Fault{Line: row.Line, Column: c.column.Name, Msg: fmt.Sprintf("%s is no %s, as nearly all others are", clipped(value), want)})
		}
	}
	return faults
}

// extremes are the smallest and the largest value.
func (c *counter) extremes(t *table.Table, index int) {
	numeric := c.column.Type == Integer || c.column.Type == Number
	first := true
	var least, most float64
	for _, row := range t.Rows {
		value := strings.TrimSpace(row.Fields[index])
		kind, n := KindOf(value, c.decimal)
		if kind == Empty {
			continue
		}
		if first || numeric && n < least || !numeric && value < c.column.Min {
			c.column.Min, least = value, n
		}
		if first || numeric && n > most || !numeric && value > c.column.Max {
			c.column.Max, most = value, n
		}
		first = false
	}
	c.column.Min, c.column.Max = short(c.column.Min), short(c.column.Max)
}

func (c *counter) lengths() *Lengths {
	return &Lengths{Min: c.short, Max: c.long, Mean: figure(float64(c.length) / float64(c.column.Count))}
}

// numbers computes with Welford's method, which does not lose a small deviation beside a large
// mean, and sums with Neumaier's.
func numbers(values []float64) *Numbers {
	var mean, squares, sum, lost float64
	for i, v := range values {
		delta := v - mean
		mean += delta / float64(i+1)
		squares += delta * (v - mean)
		next := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += sum - next + v
		} else {
			lost += v - next + sum
		}
		sum = next
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	median := sorted[half]
	if len(sorted)%2 == 0 {
		median = sorted[half-1]/2 + sorted[half]/2
	}
	deviation := 0.0
	if len(values) > 1 {
		deviation = math.Sqrt(squares / float64(len(values)-1))
	}
	return &Numbers{Sum: figure(sum + lost), Mean: figure(mean), Median: figure(median), Deviation: figure(deviation)}
}

// figure is a number with the digits that mean something. What overflowed is null.
func figure(v float64) json.Number {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "null"
	}
	text, err := json.Marshal(rounded(v))
	if err != nil {
		return "null"
	}
	return json.Number(text)
}

// rounded keeps fifteen digits, which every float64 has.
func rounded(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// top are the most frequent values that stand more than once.
func top(values map[string]int, n int) []Value {
	frequent := []Value{}
	for _, value := range slices.Sorted(maps.Keys(values)) {
		if values[value] > 1 {
			frequent = append(frequent, Value{value, values[value]})
		}
	}
	slices.SortStableFunc(frequent, func(a, b Value) int { return cmp.Compare(b.Count, a.Count) })
	frequent = frequent[:min(n, len(frequent))]
	for i := range frequent {
		frequent[i].Value = short(frequent[i].Value)
	}
	return frequent
}

// short is a value of which a long one has its beginning.
func short(value string) string {
	const enough = 80
	if runes := []rune(value); len(runes) > enough {
		return string(runes[:enough]) + "…"
	}
	return value
}

func clipped(value string) string { return fmt.Sprintf("%q", short(value)) }
