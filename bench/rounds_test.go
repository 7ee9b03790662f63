package main

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// takes is an op that says it took these times, one after the other, and the last one from then on.
func takes(times ...time.Duration) op {
	return func(context.Context) (time.Duration, error) {
		d := times[0]
		if len(times) > 1 {
			times = times[1:]
		}
		return d, nil
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		all  []time.Duration
		want time.Duration
	}{
		{nil, 0}, {[]time.Duration{7}, 7}, {[]time.Duration{9, 1}, 5}, {[]time.Duration{9, 1, 2}, 2}, {[]time.Duration{4, 100, 2, 1}, 3},
	} {
		if got := median(c.all); got != c.want {
			t.Errorf("median of %v is %d, want %d", c.all, got, c.want)
		}
	}
}

func TestRoundsTakeTurns(t *testing.T) {
	var order []byte
	mark := func(as byte) op {
		return func(context.Context) (time.Duration, error) {
			order = append(order, as)
			return 1, nil
		}
	}
	if _, err := interleave(t.Context(), 2, mark('f'), mark('o')); err != nil {
		t.Fatal(err)
	}
	if string(order) != "fofofofo" {
		t.Errorf("the order was %s", order)
	}
}

func TestRatioIsOfMediansOverBothFloors(t *testing.T) {
	s, err := compare(t.Context(), 3, takes(100, 102, 100, 102, 100, 102), takes(150, 300, 200, 200, 150, 300))
	if err != nil {
		t.Fatal(err)
	}
	if s.Ours != 200 || s.Floor != 101 || s.Floors != 1.02 || s.Runs != 1 || s.void() {
		t.Errorf("%+v", s)
	}
}

func TestRestlessRunIsRepeated(t *testing.T) {
	// The first run's floors are 10 % apart, the second's are not.
	s, err := compare(t.Context(), 1, takes(100, 110, 100, 101), takes(200, 150))
	if err != nil {
		t.Fatal(err)
	}
	if s.void() || s.Runs != 2 || s.Ours != 150 {
		t.Errorf("%+v, want the second run", s)
	}
}

func TestRunThatStaysRestlessIsVoid(t *testing.T) {
	calls := 0
	swinging := func(context.Context) (time.Duration, error) {
		calls++
		return time.Duration(100 + 50*(calls%2)), nil
	}
	s, err := compare(t.Context(), 1, swinging, takes(100))
	if err != nil {
		t.Fatal(err)
	}
	if !s.void() || s.Runs != maxRuns || calls != 2*maxRuns {
		t.Errorf("%+v after %d floors", s, calls)
	}
	r := ratioRow(s, most(100), "")
	if r.verdict != verdictVoid || allHold([]row{r}) {
		t.Errorf("a void run within its limit counts: %+v", r)
	}
}

func TestFailureEndsTheRounds(t *testing.T) {
	broken := errors.New("broken")
	fails := func(context.Context) (time.Duration, error) { return 0, broken }
	if _, err := compare(t.Context(), 3, takes(1), fails); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := compare(ctx, 3, takes(1), takes(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestSampleTravels(t *testing.T) {
	s := sample{Ours: 3, Floor: 2, Floors: 1.01, Runs: 2}
	var got sample
	if err := decode(encode(s), &got); err != nil || got != s {
		t.Errorf("%+v, %v", got, err)
	}
	if err := decode([]byte("panic:"), &got); err == nil {
		t.Error("text that is no sample was taken for one")
	}
}

func TestJSONTextHasItsLength(t *testing.T) {
	for _, size := range []int{128, smallArgs, largeArgs} {
		if text := jsonText(size); len(text) != size || !json.Valid(text) {
			t.Errorf("%d bytes of JSON (%t) for %d", len(text), json.Valid(text), size)
		}
	}
}
