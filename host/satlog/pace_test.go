package satlog

import (
	"testing"
	"time"
)

func TestAFloodIsPaced(t *testing.T) {
	type write struct {
		later time.Duration // than the end of the wait before
		bytes int
		wait  time.Duration
	}
	const rounding = time.Second / floodRate
	for _, tt := range []struct {
		name   string
		writes []write
	}{
		{"a line now and then", []write{{0, 100, 0}, {time.Second, 100, 0}, {0, 100, 0}}},
		{"a burst", []write{{0, floodBurst, 0}}},
		{"more than a burst", []write{{0, floodBurst, 0}, {0, floodRate / 100, 10 * time.Millisecond}, {0, floodRate / 100, 10 * time.Millisecond}}},
		{"a burst that is paid", []write{{0, floodBurst, 0}, {time.Second, floodBurst, 0}}},
		{"at the rate", []write{{0, floodBurst, 0}, {10 * time.Millisecond, floodRate / 100, 0}, {10 * time.Millisecond, floodRate / 100, 0}}},
		{"no longer than it may be", []write{{0, 100 * floodRate, floodPause}, {0, 0, 0}, {0, floodRate / 100, 10 * time.Millisecond}}},
		{"nothing", []write{{0, 0, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p pace
			now := noon
			for i, w := range tt.writes {
				now = now.Add(w.later)
				got := p.after(now, w.bytes)
				if diff := got - w.wait; diff < -rounding || diff > rounding {
					t.Errorf("write %d waits %s, want %s", i, got, w.wait)
				}
				now = now.Add(got)
			}
		})
	}
}
