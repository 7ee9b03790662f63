package runtime

import (
	"sync"
	"sync/atomic"
	"time"
)

// handOverAfter is how long an answer may run before another goroutine reads in its
// place. Nearly all are quicker. A cancel, or a second hook_call, that comes sooner
// than this, or twice this while questions keep coming, waits for it.
const handOverAfter = 2 * time.Millisecond

// turn is the right to read, which exactly one goroutine has.
//
// The goroutine that reads a hook_call keeps the right while it answers, and goes on
// reading afterwards, so that an ordinary question wakes nobody. It is handed over
// when somebody has to read in the meantime: when an answer waits for the host, and
// when it takes long, be it in the author's function or in writing the result.
//
// What notices that it takes long is one timer, which runs on while questions keep
// coming and rests when they stop, so that a question neither sets nor stops it.
type turn struct {
	pass func() // has another goroutine read

	kept  atomic.Bool   // the right is kept by one that answers; whoever clears this has it
	count atomic.Uint64 // times it was kept
	armed atomic.Bool   // the timer runs

	mu      sync.Mutex
	timer   *time.Timer
	seen    uint64 // count when the timer was set
	stopped bool
}

// keep is called by the goroutine that reads, before it answers.
func (t *turn) keep() {
	t.kept.Store(true)
	t.count.Add(1)
	if !t.armed.Load() {
		t.mu.Lock()
		t.arm()
		t.mu.Unlock()
	}
}

// take is called by the goroutine that has answered. It reports whether it has the
// right: perhaps it was handed over.
func (t *turn) take() bool { return t.kept.CompareAndSwap(true, false) }

// hand hands the right over, if it is kept.
func (t *turn) hand() {
	if t.take() {
		t.pass()
	}
}

// arm sets the timer. mu is held.
func (t *turn) arm() {
	if t.stopped {
		return
	}
	t.armed.Store(true)
	t.seen = t.count.Load()
	if t.timer == nil {
		t.timer = time.AfterFunc(handOverAfter, t.look)
		return
	}
	t.timer.Reset(handOverAfter)
}

// look is what the timer calls. Where the right was not kept again since it was set,
// it is kept for the same answer still, or all is quiet.
func (t *turn) look() {
	t.mu.Lock()
	same := t.count.Load() == t.seen
	if same {
		t.armed.Store(false)
		same = t.count.Load() == t.seen // one that came in between counted on the timer
	}
	if !same {
		t.arm()
	}
	t.mu.Unlock()
	if same {
		t.hand()
	}
}

// stop ends the timer for good.
func (t *turn) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}
