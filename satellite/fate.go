package satellite

import (
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// settle ends the open invocation: its token is worth nothing from here on, for
// a token only counts while its invocation is open, its effects are called off, and its caller has the answer. s.mu is held.
func (s *Satellite) settle(a answer) {
	s.open = false
	if s.call.end != nil {
		s.call.end()
	}
	s.call.caller, s.call.serve, s.call.prompt, s.call.effects, s.call.end = nil, nil, nil, nil, nil
	s.input.budget.Store(idleBytes)
	s.answers <- a
	s.rest()
}

// destroy ends the process and decides what an open invocation is told once
// the process is gone. Only the first destruction counts.
func (s *Satellite) destroy(why *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.condemn(why)
}

// condemn is destroy with s.mu held.
func (s *Satellite) condemn(why *Error) {
	if s.fate == nil && !s.ended {
		s.fate = why
		s.reapBy = time.Now().Add(reapGrace)
		s.arm(s.reapBy)
	}
	s.command.Kill()
}

func (s *Satellite) violated(reason string) {
	s.destroy(minted(wire.CodeProtocol, reason))
}

// hangUp notes that the satellite's end of the channel is closed. Its process
// has a moment to exit by itself, so that the cause can be told.
func (s *Satellite) hangUp(unsent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if unsent {
		s.call.unsent = true
	}
	if !s.lost {
		s.lost = true
		s.exitBy = time.Now().Add(exitGrace)
		s.arm(s.exitBy)
	}
}

// arm sees to it that expire runs no later than at. The timer is left to fire
// in vain when a call ends early: that costs less than setting it for each.
// s.mu is held.
func (s *Satellite) arm(at time.Time) {
	if !s.armed.IsZero() && !at.Before(s.armed) {
		return
	}
	s.armed = at
	s.timer.Reset(time.Until(at))
}

// rest has the timer look after a moment whether the satellite was left alone.
// s.mu is held.
func (s *Satellite) rest() {
	if s.resting || s.keeping || s.lost || s.fate != nil {
		return
	}
	s.resting = true
	s.restID = s.call.id
	s.restAt = time.Now().Add(restAfter)
	s.arm(s.restAt)
}

// expire is the timer's: it looks at every clock there is.
func (s *Satellite) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = time.Time{}
	if s.ended { // it fired while the end was being settled
		return
	}
	now := time.Now()
	due := func(running bool, at time.Time) bool {
		if running && now.Before(at) {
			s.arm(at)
			return false
		}
		return running
	}
	if due(s.fate != nil, s.reapBy) && s.open {
		s.settle(answer{err: s.fate})
		s.channel.close() // so that its caller stops reading
	}
	if s.fate != nil {
		return
	}
	if due(s.lost, s.exitBy) {
		s.condemn(minted(wire.CodeProtocol, "the satellite closed its channel and did not exit"))
		return
	}
	if due(s.open, s.call.killAt) {
		s.condemn(s.call.overdue())
		return
	}
	if due(s.keeping, s.lookAt) {
		s.judgeCPU()
	}
	if due(s.resting, s.restAt) {
		s.resting = false
		s.wakeKeeper()
	}
}

// wakeKeeper starts the keeper if nothing was asked of the satellite since the
// timer was set, and sets it again if something was. s.mu is held.
func (s *Satellite) wakeKeeper() {
	if s.open || s.lost {
		return
	}
	if s.call.id == s.restID {
		select {
		case <-s.baton:
			s.keeping = true
			s.watchCPU()
			go s.keep()
			return
		default: // the last caller has not put it down yet
		}
	}
	s.rest()
}

// watchCPU begins a window of rest. s.mu is held.
func (s *Satellite) watchCPU() {
	s.rested, _ = s.command.CPU()
	s.lookAt = time.Now().Add(s.idleWindow)
	s.arm(s.lookAt)
}

// judgeCPU ends a satellite that used its rest to work: nobody waits for what it
// does, and it keeps others from the processor. s.mu is held.
func (s *Satellite) judgeCPU() {
	spent, known := s.command.CPU()
	if !known {
		return
	}
	if spent -= s.rested; spent > s.idleCPU {
		idle := minted(wire.CodeGone, "it used "+spent.Round(10*time.Millisecond).String()+" of processor time in "+s.idleWindow.String()+" in which nothing was asked of it, more than "+s.idleCPU.String())
		idle.Bound = BoundIdleCPU
		s.condemn(idle)
		return
	}
	s.watchCPU()
}

func (c *invocation) overdue() *Error {
	if c.cancelled {
		return minted(wire.CodeCancelled, "the caller gave up; the satellite did not answer within "+cancelGrace.String()+" and was destroyed")
	}
	return minted(wire.CodeDeadline, "no answer by the deadline and "+deadlineGrace.String()+" more; the satellite was destroyed")
}

// supervise waits for the process to end, tells an open invocation, and clears
// up.
func (s *Satellite) supervise() {
	<-s.command.Done()
	// What the satellite wrote before it died still counts. A process that
	// escaped with a copy of the socket must not hold this up.
	timer := time.NewTimer(exitGrace)
	taken := false
	select {
	case <-s.baton:
		taken = true
	case <-timer.C:
	}
	timer.Stop()
	s.channel.close()
	if !taken {
		<-s.baton
	}
	s.mu.Lock()
	s.lost, s.ended = true, true
	if s.open {
		s.settle(answer{err: s.epitaph()})
	}
	s.timer.Stop()
	s.mu.Unlock()
	s.baton <- struct{}{} // for a caller that opened just before
	s.running.Wait()
	close(s.done)
}
