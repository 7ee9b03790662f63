package hookbus

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long one answer is waited for before the other extensions are asked
// beside it: far more than an answer takes, and far less than anyone notices.
const patience = time.Millisecond

// askAll asks all that declare an event. The answers are in load order.
//
// They are asked at once as soon as that gains anything. An answer mostly comes in a
// fraction of patience, and then another goroutine for each costs more than to ask one
// after the other; so does a timer for each question, so all of a bus have one.
func (b *Bus) askAll(ctx context.Context, e event, document json.RawMessage) []Fired {
	asked := b.declared[e]
	r := &round{bus: b, ctx: ctx, event: e, document: document, answers: make([]Fired, len(asked))}
	if len(asked) == 1 {
		r.one()
		return r.answers
	}
	b.rounds.begin(r)
	for r.one() {
	}
	b.rounds.end(r)
	r.others.Wait()
	return r.answers
}

// round is one question on its way to several extensions.
type round struct {
	bus      *Bus
	ctx      context.Context
	event    event
	document json.RawMessage
	answers  []Fired
	next     atomic.Int32
	others   sync.WaitGroup // what asks beside the caller
	began    time.Time
	hurried  bool
}

// one asks the next extension. It is false when none is left.
func (r *round) one() bool {
	asked := r.bus.declared[r.event]
	i := int(r.next.Add(1)) - 1
	if i >= len(asked) {
		return false
	}
	r.answers[i] = r.bus.ask(r.ctx, asked[i], r.event, r.document)
	return true
}

// hurry asks all that are left at once.
func (r *round) hurry() {
	r.hurried = true
	for range len(r.answers) - int(r.next.Load()) {
		r.others.Go(func() { r.one() })
	}
}

// rounds are the questions of a bus that are being asked. While there are any, a timer
// looks after those whose patience is over.
type rounds struct {
	mu      sync.Mutex
	open    []*round
	began   bool // one has since the timer was set
	timer   *time.Timer
	waiting bool // the timer is set
}

func (rs *rounds) begin(r *round) {
	r.began = time.Now()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.open = append(rs.open, r)
	rs.began = true
	switch {
	case rs.waiting:
		return
	case rs.timer == nil:
		rs.timer = time.AfterFunc(patience, rs.look)
	default:
		rs.timer.Reset(patience)
	}
	rs.waiting = true
}

// end takes a round out. Nothing more is asked beside it then.
func (rs *rounds) end(r *round) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for i, other := range rs.open {
		if other == r {
			last := len(rs.open) - 1
			rs.open[i], rs.open[last] = rs.open[last], nil
			rs.open = rs.open[:last]
			return
		}
	}
}

// look hurries those that have waited, and looks again as long as questions are asked.
func (rs *rounds) look() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.open {
		if !r.hurried && time.Since(r.began) >= patience {
			r.hurry()
		}
	}
	if rs.waiting = rs.began || len(rs.open) > 0; rs.waiting {
		rs.began = false
		rs.timer.Reset(patience)
	}
}
