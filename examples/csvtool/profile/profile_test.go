package profile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/csvtool/table"
)

func TestKindOf(t *testing.T) {
	for kind, values := range map[Kind][]string{
		Empty:    {"", "NA", "n/a", "NULL", "-", "NaN"},
		Integer:  {"0", "7", "-12", "+3", "9007199254740993"},
		Number:   {"0.5", "-1.25", ".5", "1e6", "2.5E-3"},
		Boolean:  {"true", "FALSE", "Yes", "no"},
		Date:     {"2026-11-30", "30.11.2026", "2026/11/30", "30 Nov 2026"},
		Datetime: {"2026-11-30T17:00:00Z", "2026-11-30 17:00:00", "2026-11-30T17:00:00.5+01:00"},
		Text: {"x", "007", "02134", "1,234", "12%", "0x10", "1_000", "Inf", "1.2.3", "--1", "e5", "2026-13-01", "30.02.2026",
			"+41 44 123", "1e999", strings.Repeat("9", 41)},
	} {
		for _, value := range values {
			if got, _ := KindOf(value, "."); got != kind {
				t.Errorf("%q is %s, want %s", value, got, kind)
			}
		}
	}
	if kind, n := KindOf("-1,5", ","); kind != Number || n != -1.5 {
		t.Errorf("a decimal comma: %s %v", kind, n)
	}
	if kind, _ := KindOf("1.5", ","); kind != Text {
		t.Errorf("a point where commas are decimal marks: %s", kind)
	}
}

func column(t *testing.T, values ...string) (Column, []table.Fault) {
	t.Helper()
	read, err := table.Read("v,x\n"+strings.Join(values, ",\n")+",\n", table.Options{Header: true, MaxRows: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return Describe(read, 0, Options{Decimal: ".", Top: 3})
}

func TestNumbers(t *testing.T) {
	c, _ := column(t, "2", "4", "4", "4", "5", "5", "7", "9", "")
	got, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"v","type":"integer","count":8,"empty":1,"distinct":5,"min":"2","max":"9",` +
		`"numbers":{"sum":40,"mean":5,"median":4.5,"standard_deviation":2.1380899352994},"top":[{"value":"4","count":3},{"value":"5","count":2}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSmallDeviationsBesideALargeMean(t *testing.T) {
	c, _ := column(t, "1000000000.1", "1000000000.2", "1000000000.3")
	if d, err := c.Numbers.Deviation.Float64(); err != nil || d < 0.0999 || d > 0.1001 {
		t.Errorf("standard deviation %s", c.Numbers.Deviation)
	}
	if c, _ := column(t, "1e308", "1e308"); c.Numbers.Sum != "null" || c.Numbers.Median != "1e+308" {
		t.Errorf("overflow: %+v", c.Numbers)
	}
}

func TestTypes(t *testing.T) {
	for want, values := range map[Kind][]string{
		Number: {"1", "2.5"}, Datetime: {"2026-11-30", "2026-11-30 10:00"}, Date: {"2026-11-30", ""}, Boolean: {"yes", "no"}, Text: {"1", "x"}, Empty: {"", "NA"},
	} {
		if c, _ := column(t, values...); c.Type != want {
			t.Errorf("%q: %s, want %s", values, c.Type, want)
		}
	}
}

func TestExceptionsAreTold(t *testing.T) {
	values := strings.Split(strings.Repeat("5 ", 19)+"five", " ")
	c, faults := column(t, values...)
	if c.Type != Text || c.Mostly != Integer || len(faults) != 1 || faults[0].Line != 21 || faults[0].Msg != `"five" is no integer, as nearly all others are` {
		t.Errorf("%+v, %+v", c, faults)
	}
}

func TestDistinctIsBounded(t *testing.T) {
	values := make([]string, maxDistinct+5)
	for i := range values {
		values[i] = fmt.Sprint("v", i)
	}
	if c, _ := column(t, values...); c.Distinct != maxDistinct || !c.AtLeast || len(c.Top) != 0 {
		t.Errorf("%d, %v", c.Distinct, c.AtLeast)
	}
}
