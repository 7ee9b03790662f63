package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// clock is a tool whose calls take as long as they are asked to do something.
type clock struct{ calls []int }

func (c *clock) call(times int) error {
	c.calls = append(c.calls, times)
	return nil
}

func TestOneCallIsTakenOffTheOther(t *testing.T) {
	var c clock
	if _, err := perEffect(20, c.call)(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []int{leadIn, 0, 20}; !slices.Equal(c.calls, want) {
		t.Errorf("it was asked for %v times, want %v", c.calls, want)
	}
}

func TestFailedEffectEndsTheRounds(t *testing.T) {
	for _, at := range []int{leadIn, 0, 20} {
		fails := func(times int) error {
			if times == at {
				return context.Canceled
			}
			return nil
		}
		if _, err := perEffect(20, fails)(t.Context()); err == nil {
			t.Errorf("a call of %d failed unseen", at)
		}
	}
}

// The floor of a capability call has to be of its lengths.
func TestStoreCallIsWhatTheToolMakes(t *testing.T) {
	call := storeCall()
	frame, err := wire.AppendCapCall(nil, 1, call)
	if err != nil {
		t.Fatal(err)
	}
	if len(frame) < effectSize || len(frame) > effectSize+256 {
		t.Errorf("%d bytes around %d", len(frame)-effectSize, effectSize)
	}
	if call.DeadlineMS != int64(callerTime/time.Millisecond) {
		t.Errorf("%d ms", call.DeadlineMS)
	}
}

func TestCrowdHasARowForEachOfItsFigures(t *testing.T) {
	b := &bed{sessions: &crowded{Calls: 3500, Memory: [3]int64{50e6, 100e6, 205e6}, HostMemory: 20e6, Took: time.Second}}
	r, err := failedCalls(t.Context(), b)
	if err != nil || r.measured != "0" || r.verdict != verdictOK || !strings.Contains(r.note, "of 3500 calls") {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = growth(t.Context(), b)
	if err != nil || r.measured != "1.05" || r.verdict != verdictOK || !strings.Contains(r.note, "1.05 MB ÷ 1.00 MB") {
		t.Errorf("%+v, %v", r, err)
	}
	b.sessions.Memory[2] = 300e6
	b.sessions.Failed, b.sessions.Failure = 1, "host: echo: gone"
	if r, _ = growth(t.Context(), b); r.verdict != verdictOver {
		t.Errorf("%+v", r)
	}
	if r, _ = failedCalls(t.Context(), b); r.verdict != verdictOver || !strings.Contains(r.note, strconv.Quote("host: echo: gone")) {
		t.Errorf("%+v", r)
	}
}
