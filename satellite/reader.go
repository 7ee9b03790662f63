package satellite

import (
	"errors"
	"io"
	"strconv"
	"sync/atomic"

	"github.com/loomext/loomext/internal/wire"
)

const (
	// callBytes is what a satellite may write during one invocation: sixteen
	// frames of the largest size.
	callBytes = 16 * wire.MaxFrame
	// idleBytes is what it may write while nothing is asked of it: one frame of
	// the largest size that came late, and a few months of heartbeats.
	idleBytes = wire.MaxFrame + 1<<20
)

var errFlood = errors.New("flood")

// metered is the satellite's end of the stream, cut off when it has written
// more than its budget. It counts what no frame accounts for: the reader drops
// heartbeats and unknown kinds before anyone sees them.
type metered struct {
	from   io.Reader
	budget *atomic.Int64
	total  int64
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.total += int64(n)
	if n > 0 && m.budget.Add(-int64(n)) < 0 {
		return 0, errFlood
	}
	return n, err
}

// read judges the satellite's frames in the order they came, until the channel
// closes or the satellite is destroyed.
func (s *Satellite) read() {
	defer close(s.readerDone)
	m := &metered{from: s.channel.file, budget: &s.budget}
	frames := wire.NewReader(m, wire.Host)
	for {
		before := m.total
		f, err := frames.Read()
		if err != nil {
			s.stopReading(err)
			return
		}
		ok := true
		switch f.Kind {
		case wire.KindHookResult:
			ok = s.answered(f.ID, f.Result)
		case wire.KindCapCall:
			ok = s.asked(f.ID, f.Cap, m.total-before)
		case wire.KindCancel:
			s.calledOff(f.ID)
		}
		if !ok {
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
		s.violated("the satellite wrote more than " + strconv.Itoa(callBytes>>20) + " MiB during a call, or " + strconv.Itoa(idleBytes>>20) + " MiB outside one")
	default: // the end of the stream, wherever it fell
		s.hangUp(false)
	}
}

// answered settles the open invocation with its result. A result for anything
// else is the end of the satellite.
func (s *Satellite) answered(id int64, r wire.Result) bool {
	s.mu.Lock()
	if s.fate != nil {
		s.mu.Unlock()
		return false
	}
	if s.open && id == s.call.id {
		s.settle(answer{result: r})
		s.mu.Unlock()
		return true
	}
	s.mu.Unlock()
	s.violated("hook_result " + strconv.FormatInt(id, 10) + " answers no open hook_call")
	return false
}
