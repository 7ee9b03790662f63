package host

import (
	"fmt"
	"time"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/satellite"
)

// State is where an extension of a session stands.
type State string

// The states.
const (
	// StateUnstarted: no satellite was needed yet.
	StateUnstarted State = "unstarted"
	// StateIdle: the satellite is there and nothing is asked of it.
	StateIdle State = "idle"
	// StateAnswering: an invocation is open, or about to be.
	StateAnswering State = "answering"
	// StateDestroyed: the satellite ended, and the next call starts another.
	StateDestroyed State = "destroyed"
	// StateOut: the extension takes no part in the session any more, or never did.
	StateOut State = "out"
)

// Status is how one extension of a session stands.
type Status struct {
	Name    string
	Version string // empty where it could not be loaded
	State   State
	// Reason is why it is destroyed or out, in a sentence. It may hold the satellite's
	// last words: escape it.
	Reason string
	// Err is why it could not be loaded.
	Err error
	// Restarts is how many satellites came after the first, and Strikes how many ended
	// through their own fault and are not forgiven: see [StrikeTime].
	Restarts, Strikes int
	// Waiting is how many callers are in the queue.
	Waiting int
	// PID is of the satellite that is there, and Jail of the last that was started.
	PID  int
	Jail jail.Report
}

func (x *extension) status() Status {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forgive()
	s := Status{Name: x.name, State: StateUnstarted, Reason: x.reason, Err: x.refusal, Restarts: max(x.starts-1, 0), Strikes: x.strikes, Waiting: x.waiting, Jail: x.jail}
	if x.refusal == nil {
		s.Version = x.record.Version
	}
	switch {
	case x.out:
		s.State = StateOut
	case x.satellite != nil && len(x.turn) > 0:
		s.State = StateAnswering
	case x.satellite != nil:
		s.State = StateIdle
	case x.starts > 0:
		s.State = StateDestroyed
	}
	if x.satellite != nil {
		s.PID, s.Reason = x.satellite.PID(), ""
	}
	return s
}

// forgive takes back a strike for each StrikeTime that went by without one. An extension that is out stays out. The lock is held.
func (x *extension) forgive() {
	if x.out || x.strikes == 0 {
		return
	}
	good := int(x.session.host.now().Sub(x.struck) / StrikeTime)
	x.strikes = max(x.strikes-good, 0)
	x.struck = x.struck.Add(time.Duration(good) * StrikeTime)
}

// ended notes the end of a satellite, once. Whose fault it was decides whether it
// is a strike; the last strike is the end of the extension.
func (x *extension) ended(sat *satellite.Satellite, why string, strike bool) {
	x.mu.Lock()
	if x.satellite != sat {
		x.mu.Unlock()
		return
	}
	if x.session.ctx.Err() != nil {
		why, strike = "the session was closed", false
	}
	x.satellite, x.reason = nil, why
	if strike {
		x.forgive()
		x.strikes, x.struck = x.strikes+1, x.session.host.now()
	}
	if x.strikes > MaxRestarts {
		x.out = true
		x.reason = fmt.Sprintf("its satellite ended %d times through its own fault, and is not started again in this session; the last time: %s", x.strikes, why)
	}
	strikes, out := x.strikes, x.out
	x.mu.Unlock()
	x.session.host.logger.Info("satellite ended", "extension", x.name, "session", x.session.id, "pid", sat.PID(), "strikes", strikes, "out", out)
	x.log.Note(x.session.id, "ended: "+why)
}
