package hookbus

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/loomext/loomext/host"
)

const (
	// maxQueued bounds the notifications that wait for one extension: those of some
	// hundred steps of an agent. One that is further behind will not catch up.
	maxQueued = 256
	// atOnce is a wait that is none: a notification takes its turn only where nobody
	// else has or wants it, so that it never stands before a question in the session's
	// queue.
	atOnce = time.Nanosecond
	// retry is how soon a turn that was taken is tried again. What holds it is a tool of
	// the extension's own, and a notification is in no hurry.
	retry = 5 * time.Millisecond
)

// SessionStart starts the extensions that declare session_start and have not been
// started, so that they learn of the session before anything is asked of them. The
// session tells each that it starts, now, later or again; what it tells by itself is
// not counted here.
func (b *Bus) SessionStart() {
	if len(b.declared[sessionStart]) > 0 {
		b.tell(sessionStart, json.RawMessage("{}"))
	}
}

// AgentEnd tells that a run has ended.
func (b *Bus) AgentEnd(opID string) { b.tellOp(agentEnd, opID) }

// AgentSettled tells that a run has ended and nothing of it is still going on.
func (b *Bus) AgentSettled(opID string) { b.tellOp(agentSettled, opID) }

// Usage tells of a row of the cost ledger.
func (b *Bus) Usage(u Usage) {
	if len(b.declared[usage]) == 0 {
		return
	}
	document, err := encoded(u)
	if err != nil {
		b.logger.Error("a row of usage is no JSON, so no extension is told of it", "session", b.session.ID(), "error", err)
		return
	}
	b.tell(usage, document)
}

func (b *Bus) tellOp(e event, opID string) {
	if len(b.declared[e]) > 0 {
		b.tell(e, opDocument(opID))
	}
}

// tell queues a notification for all that declare it.
func (b *Bus) tell(e event, document json.RawMessage) {
	for _, m := range b.declared[e] {
		m.push(notification{e, document})
	}
}

// Flush waits until what has been queued is delivered, or until ctx ends, whose error it
// gives. A closed bus delivers nothing more, and the error is [host.ErrClosed] where
// something was left.
func (b *Bus) Flush(ctx context.Context) error {
	for _, m := range b.members {
		select {
		case <-m.drained():
		case <-ctx.Done():
			return fmt.Errorf("hookbus: %s: not all notifications are delivered: %w", m.name, ctx.Err())
		}
		if m.lost() {
			return fmt.Errorf("hookbus: %s: not all notifications were delivered: %w", m.name, host.ErrClosed)
		}
	}
	return nil
}

// notification is one event on its way to one extension.
type notification struct {
	event    event
	document json.RawMessage
}

// queue is what waits for one extension. One goroutine at a time delivers it, which
// ends when it is empty.
type queue struct {
	mu         sync.Mutex
	free       *sync.Cond // on mu: no question is asked, or the bus is closed
	asking     int        // questions that wait or are being answered
	waiting    []notification
	delivering bool
	closed     bool
	left       bool      // something was not delivered when it was closed
	until      time.Time // when the notification that is being answered has to be
	since      time.Time // when the one at the head was first tried
	dropping   int       // how many were dropped since one was taken
	taken      int       // how many were ever queued, and how many of them are done
	done       int
	flushes    []flush
}

// flush waits until so many are done.
type flush struct {
	until int
	ready chan struct{}
}

func (m *member) questionBegins() {
	m.mu.Lock()
	m.asking++
	m.mu.Unlock()
}

func (m *member) questionEnds() {
	m.mu.Lock()
	if m.asking--; m.asking == 0 {
		m.free.Signal()
	}
	m.mu.Unlock()
}

// occupied is how long a notification may still keep the turn.
func (m *member) occupied() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.until.IsZero() {
		return 0
	}
	return time.Until(m.until)
}

// push queues a notification, or drops it where the queue is full or closed.
func (m *member) push(n notification) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		m.left = true
		m.tallies[n.event].drop()
		m.bus.keeper.changed()
		return
	}
	if len(m.waiting) >= maxQueued {
		if m.dropping++; m.dropping == 1 {
			m.bus.logger.Warn("notifications are dropped: too many wait", "extension", m.name, "session", m.bus.session.ID(), "event", names[n.event])
		}
		m.tallies[n.event].drop()
		m.bus.keeper.changed()
		return
	}
	if m.dropping > 0 {
		m.bus.logger.Warn("notifications were dropped", "extension", m.name, "session", m.bus.session.ID(), "dropped", m.dropping)
		m.dropping = 0
	}
	m.waiting = append(m.waiting, n)
	m.taken++
	if !m.delivering {
		m.delivering = true
		m.bus.deliver.Go(m.deliver)
	}
}

// deliver delivers what waits, in order.
func (m *member) deliver() {
	timer := time.NewTimer(retry)
	defer timer.Stop()
	for {
		n, ok := m.next()
		if !ok {
			return
		}
		if m.send(n) {
			m.delivered()
			continue
		}
		timer.Reset(retry)
		select {
		case <-timer.C:
		case <-m.bus.closing:
		}
	}
}

// next waits until no question is asked, and gives the notification at the head.
func (m *member) next() (notification, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.asking > 0 && !m.closed {
		m.free.Wait()
	}
	if m.closed {
		m.abandon()
	}
	if len(m.waiting) == 0 {
		m.delivering = false
		return notification{}, false
	}
	return m.waiting[0], true
}

// send tells the extension, unless its turn is taken.
func (m *member) send(n notification) bool {
	b, limit := m.bus, m.bus.deadline[n.event]
	began := time.Now()
	f := Fired{Extension: m.name, Event: names[n.event], Document: n.document}
	e := host.Event{Extension: m.name, Name: f.Event, Document: n.document, Limit: limit, Wait: m.patient(limit)}
	m.mu.Lock()
	m.until = time.Now().Add(limit + slack)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.until = time.Time{}
		m.mu.Unlock()
	}()
	ctx, stop := context.WithTimeout(context.Background(), 2*limit+slack)
	defer stop()
	told := true
	if n.event == sessionStart {
		f.Answer, told, f.Err = b.session.Begin(ctx, e)
	} else {
		f.Answer, f.Err = b.session.Fire(ctx, e)
	}
	if host.KindOf(f.Err) == host.Busy {
		return false
	}
	if !told && f.Err == nil {
		return true // the session has told it
	}
	f.Took = time.Since(began)
	m.tallies[n.event].asked(began)
	b.settle(m, n.event, f, false)
	return true
}

// patient is how long the notification at the head waits for a turn: not at all at
// first, and as anyone else once that has gone on for its deadline. An extension whose
// tools run one after the other must not be told nothing.
func (m *member) patient(limit time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since.IsZero() {
		m.since = time.Now()
	}
	if time.Since(m.since) > limit {
		return limit
	}
	return atOnce
}

// delivered takes the head off the queue.
func (m *member) delivered() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since = time.Time{}
	m.waiting[0] = notification{}
	if m.waiting = m.waiting[1:]; len(m.waiting) == 0 {
		m.waiting = nil
	}
	m.done++
	m.release()
}

// release lets those flushes go whose notifications are done. m.mu is held.
func (m *member) release() {
	kept := m.flushes[:0]
	for _, f := range m.flushes {
		if f.until <= m.done {
			close(f.ready)
		} else {
			kept = append(kept, f)
		}
	}
	m.flushes = kept
}

// drained is closed when what is queued now is done, or never will be.
func (m *member) drained() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := flush{m.taken, make(chan struct{})}
	m.flushes = append(m.flushes, f)
	m.release()
	return f.ready
}

// lost says whether something was left when the queue was closed.
func (m *member) lost() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left
}

// close ends the queue. What is being delivered goes on.
func (m *member) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.free.Broadcast()
}

// abandon drops what waits. m.mu is held.
func (m *member) abandon() {
	if len(m.waiting) == 0 {
		return
	}
	m.bus.logger.Warn("notifications were dropped: the bus was closed", "extension", m.name, "session", m.bus.session.ID(), "dropped", len(m.waiting))
	for _, n := range m.waiting {
		m.tallies[n.event].drop()
	}
	m.bus.keeper.changed()
	m.left, m.waiting, m.done = true, nil, m.taken
	m.release()
}
