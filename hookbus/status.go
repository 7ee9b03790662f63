package hookbus

import (
	"math/bits"
	"sync"
	"time"

	"github.com/loomext/loomext/host"
)

// ExtensionStatus is how one extension of the session stands.
type ExtensionStatus struct {
	Name   string
	State  host.State // out where it is asked no more
	Reason string     // why it is destroyed or out; foreign text
	Gate   Gate       // of an extension that declares tool_call, else empty
	// Waiting is how many notifications wait for it.
	Waiting int
	Events  []EventStatus // those that it declares, in the order of an agent's life
}

// EventStatus is what became of one event at one extension.
type EventStatus struct {
	Event    string
	Asked    int // how often it was fired; what is not answered and has not failed is open
	Answered int // with an answer of use
	Blocked  int // of those, verdicts that blocked
	Failed   int // no answer, or one that was discarded
	Dropped  int // notifications that were never fired: too many waited, or the bus was closed
	// LastFired is when it was last fired; zero is never.
	LastFired time.Time
	// P50 and P99 are what half and all but a hundredth of those that are over took, the
	// queue included, to an eighth. They may be that much too high.
	P50, P99 time.Duration
	// LastFailure is why the last one that failed did, in a sentence; foreign text.
	LastFailure string
}

// Status is how all extensions stand, in load order. It waits for nothing.
func (b *Bus) Status() []ExtensionStatus {
	states := map[string]host.Status{}
	for _, s := range b.session.Status() {
		states[s.Name] = s
	}
	all := make([]ExtensionStatus, len(b.members))
	for i, m := range b.members {
		s := ExtensionStatus{Name: m.name, State: states[m.name].State, Reason: states[m.name].Reason}
		if m.tallies[toolCall] != nil {
			s.Gate = m.gate
		}
		m.mu.Lock()
		s.Waiting = len(m.waiting)
		m.mu.Unlock()
		for e, t := range m.tallies {
			if t != nil {
				s.Events = append(s.Events, t.status(names[e]))
			}
		}
		all[i] = s
	}
	return all
}

// tally counts one event at one extension.
type tally struct {
	mu       sync.Mutex
	counts   EventStatus // but for the times
	duration histogram
}

// asked counts an event that is fired.
func (t *tally) asked(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Asked++
	t.counts.LastFired = at
}

// over counts one that is over.
func (t *tally) over(f Fired, blocked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.duration.add(f.Took)
	if f.Err != nil {
		t.counts.Failed++
		t.counts.LastFailure = shortened(f.Err.Error(), maxReason)
		return
	}
	t.counts.Answered++
	if blocked {
		t.counts.Blocked++
	}
}

func (t *tally) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Dropped++
}

func (t *tally) status(event string) EventStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.counts
	s.Event, s.P50, s.P99 = event, t.duration.quantile(50), t.duration.quantile(99)
	return s
}

const (
	// steps divide each doubling of a time, so that a quantile is right to an eighth.
	steps     = 8
	stepBits  = 3
	doublings = 28 // of a microsecond: more than four minutes, which no event takes
)

// histogram holds any number of times in little memory. The last bucket has all that is
// longer.
type histogram struct {
	count   int
	buckets [doublings * steps]uint32
}

func (h *histogram) add(d time.Duration) {
	h.count++
	h.buckets[bucket(d)]++
}

// bucket is the place of a time: its doubling, and its next three bits.
func bucket(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < steps {
		return int(us)
	}
	doubling := bits.Len64(us) - stepBits // 1 for those from steps
	return min(doubling*steps+int(us>>(doubling-1))-steps, doublings*steps-1)
}

// upper is the end of a bucket.
func upper(bucket int) time.Duration {
	if bucket < steps {
		return time.Duration(bucket+1) * time.Microsecond
	}
	doubling := bucket / steps
	return time.Duration((bucket%steps+steps+1)<<(doubling-1)) * time.Microsecond
}

// quantile is the time that so many of a hundred took at most, or zero where there are
// none.
func (h *histogram) quantile(percent int) time.Duration {
	rank := (h.count*percent + 99) / 100
	for i, n := range h.buckets {
		if rank -= int(n); n > 0 && rank <= 0 {
			return upper(i)
		}
	}
	return 0
}
