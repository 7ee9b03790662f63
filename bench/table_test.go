package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLimitItselfIsWithin(t *testing.T) {
	for _, c := range []struct {
		limit bound
		value float64
		want  string
	}{
		{most(1.3), 1.3, verdictOK},
		{most(1.3), 1.31, verdictOver},
		{most(1.3), 0, verdictOK},
		{most(1.3), math.NaN(), verdictOver},
		{most(1.3), math.Inf(1), verdictOver},
		{most(0), 0, verdictOK},
		{most(0), 1, verdictOver},
		{least(3), 3, verdictOK},
		{least(3), 2.99, verdictUnder},
		{least(3), math.Inf(1), verdictOK},
		{least(3), math.NaN(), verdictUnder},
	} {
		if got := c.limit.judge(c.value); got != c.want {
			t.Errorf("%v is %s, where the limit is %s; want %s", c.value, got, c.limit, c.want)
		}
		if holds := allHold([]row{{verdict: c.limit.judge(c.value)}}); holds != (c.want == verdictOK) {
			t.Errorf("%v against %s holds: %t", c.value, c.limit, holds)
		}
	}
}

func TestTableTellsEveryRow(t *testing.T) {
	s := sample{Ours: 1500 * time.Microsecond, Floor: time.Millisecond, Floors: 0.99, Runs: 3}
	r := ratioRow(s, most(1.3), behind(s))
	r.figure = "a figure"
	for _, text := range []string{table([]row{r}), document([]row{r}, "a machine", time.Unix(0, 0))} {
		for _, want := range []string{"a figure", "1.50", "0.990", "≤ 1.3", "over", "1.5 ms ÷ 1 ms; run 3, the ones before it void"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

func TestLimitHasTheDigitsItNeeds(t *testing.T) {
	for limit, want := range map[bound]string{
		most(1.3): "≤ 1.3", most(1.15): "≤ 1.15", most(2): "≤ 2.0", most(0.6): "≤ 0.6", least(3): "≥ 3.0", least(2.25): "≥ 2.25",
	} {
		if got := limit.String(); got != want {
			t.Errorf("%v is %q, want %q", limit.value, got, want)
		}
	}
	for got, want := range map[string]string{
		most(10).in(""): "≤ 10", most(0).in(""): "≤ 0", most(2.6).in("MiB"): "≤ 2.6 MiB", most(4).in("GB"): "≤ 4 GB", least(1).in("MB"): "≥ 1 MB",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPeerIsTheSlowerSide(t *testing.T) {
	s := sample{Ours: 4 * time.Millisecond, Floor: time.Millisecond, Floors: 1}
	if r := ratioRow(s, least(3), behind(s)); r.measured != "4.00" || r.verdict != verdictOK || r.limit != "≥ 3.0" {
		t.Errorf("%+v", r)
	}
	s.Floor = 2 * time.Millisecond
	if r := ratioRow(s, least(3), behind(s)); r.measured != "2.00" || r.verdict != verdictUnder {
		t.Errorf("%+v", r)
	}
}

func TestPeersThatCannotBeHadAreNotMeasured(t *testing.T) {
	module := t.TempDir()
	if err := os.MkdirAll(filepath.Join(module, "bench/peers"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"go.mod":  "module peers.invalid\n\ngo 1.26.0\n\nrequire absent.invalid/nothing v1.0.0\n",
		"main.go": "package main\n\nimport _ \"absent.invalid/nothing\"\n\nfunc main() {}\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(module, "bench/peers", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	b := &bed{module: module, dir: t.TempDir()}
	b.toolchain.Go = "go"
	r, err := mcpCall(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if r.verdict != verdictUnmet || r.limit != "≥ 5.0" || !strings.Contains(r.note, "go mod download") || allHold([]row{r}) {
		t.Errorf("%+v", r)
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
