package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestLimitItselfIsWithin(t *testing.T) {
	for _, c := range []struct {
		value float64
		want  string
	}{{1.3, verdictOK}, {1.31, verdictOver}, {0, verdictOK}, {math.NaN(), verdictOver}, {math.Inf(1), verdictOver}} {
		if got := within(c.value, 1.3); got != c.want {
			t.Errorf("%v is %s, want %s", c.value, got, c.want)
		}
	}
}

func TestTableTellsEveryRow(t *testing.T) {
	s := sample{Ours: 1500 * time.Microsecond, Floor: time.Millisecond, Floors: 0.99, Runs: 3}
	r := ratioRow(s, 1.3, behind(s))
	r.figure = "a figure"
	for _, text := range []string{table([]row{r}), document([]row{r}, "a machine", time.Unix(0, 0))} {
		for _, want := range []string{"a figure", "1.50", "0.990", "1.3", "over", "1.5 ms ÷ 1 ms; run 3, the ones before it void"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

func TestLimitHasTheDigitsItNeeds(t *testing.T) {
	for limit, want := range map[float64]string{1.3: "1.3", 1.15: "1.15", 2: "2.0", 0.6: "0.6"} {
		if got := limitText(limit); got != want {
			t.Errorf("%v is %q, want %q", limit, got, want)
		}
	}
}

func TestFigureWithoutItsOtherSideDoesNotHold(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r, err := wrappedStart(t.Context(), &bed{})
	if err != nil {
		t.Fatal(err)
	}
	if r.note != "needs bubblewrap" || allHold([]row{r}) {
		t.Errorf("%+v", r)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		14230 * time.Nanosecond:   "14.2 µs",
		1234 * time.Microsecond:   "1.23 ms",
		56789 * time.Microsecond:  "56.8 ms",
		1234 * time.Millisecond:   "1.23 s",
		123400 * time.Nanosecond:  "123 µs",
		98765 * time.Millisecond:  "98.77 s",
		250250 * time.Microsecond: "250 ms",
	} {
		if got := duration(d); got != want {
			t.Errorf("%d ns is %q, want %q", d, got, want)
		}
	}
}
