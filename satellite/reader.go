package satellite

import (
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// Reading is done by whoever holds the baton. During an invocation that is the
// goroutine that invokes: handing each answer from a reading goroutine to a
// waiting one costs more than reading it. Between invocations it is the keeper,
// which takes up the baton once the satellite has been left alone for a
// moment, so that calls in close succession do not change hands at all.

// restAfter is how long, or up to twice as long, a satellite is left alone
// before the keeper reads. A timer below a tick of the kernel's clock would
// have to be set in hardware at every wait.
const restAfter = 50 * time.Millisecond

// longAgo is a read deadline that interrupts.
var longAgo = time.Unix(1, 0)

// keep reads while nothing is asked of the satellite, until it is interrupted
// or the reading ends. It is started with the baton and returns it.
func (s *Satellite) keep() {
	s.channel.soon = false // nothing is expected
	s.read()
	s.mu.Lock()
	s.keeping = false
	s.mu.Unlock()
	s.baton <- struct{}{}
}

// takeBaton waits for the keeper to let go.
func (s *Satellite) takeBaton() {
	<-s.baton
	_ = s.channel.file.SetReadDeadline(time.Time{})
	s.mu.Lock()
	s.call.sent = true
	s.mu.Unlock()
}

// read judges the satellite's frames in the order they came. It returns when
// the open invocation is answered, when it is interrupted, and when there is no
// more to read.
func (s *Satellite) read() {
	for {
		f, err := s.frames.Read()
		if err != nil {
			s.stopReading(err)
			return
		}
		more := true
		switch f.Kind {
		case wire.KindHookResult:
			more = s.answered(f.ID, f.Result)
		case wire.KindCapCall:
			more = s.asked(f.ID, f.Cap, int64(s.frames.Size()))
		case wire.KindCancel:
			s.calledOff(f.ID)
		}
		if !more {
			return
		}
	}
}

func (s *Satellite) stopReading(err error) {
	var fault *wire.ProtocolError
	switch {
	case errors.As(err, &fault):
		s.violated(fault.Reason)
	case errors.Is(err, errFlood):
		flood := minted(wire.CodeProtocol, "the satellite wrote more than "+strconv.Itoa(callBytes>>20)+" MiB during a call, or "+strconv.Itoa(idleBytes>>20)+" MiB outside one")
		flood.Bound = BoundFrames
		s.destroy(flood)
	case errors.Is(err, os.ErrDeadlineExceeded): // the keeper was interrupted
	default: // the end of the stream, wherever it fell
		s.hangUp(false)
	}
}

// answered settles the open invocation with its result, after which there is
// nothing more to read. A result for anything else is the end of the satellite.
func (s *Satellite) answered(id int64, r wire.Result) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fate != nil {
		return false
	}
	if s.open && s.call.sent && id == s.call.id {
		s.settle(answer{result: r})
		return false
	}
	s.condemn(minted(wire.CodeProtocol, "hook_result "+strconv.FormatInt(id, 10)+" answers no open hook_call"))
	return false
}
