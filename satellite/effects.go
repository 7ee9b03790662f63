package satellite

import (
	"context"
	"crypto/subtle"
	"strconv"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

const (
	// maxEffects is how many effects may be open at once: more than any honest
	// fan-out over one socket gains from.
	maxEffects = 64
	// maxEffectMemory is what the frames of the open effects may hold: one of
	// the largest frame with as many values as fit it, and room for others.
	maxEffectMemory = 64 << 20
	// maxResultMemory is what results may hold that the satellite has not taken yet:
	// twice as much, since one that reads slowly is honest.
	maxResultMemory = 128 << 20
	// valueMemory is what one decoded value costs beside its bytes.
	valueMemory = 128

	capReport = "report.emit"
)

// CapCall is one effect that the satellite asks for, authorized and in time.
type CapCall struct {
	Invocation int64 // which of the satellite's invocations asks, from 1
	Cap        string
	Args       wire.Value // a map; it aliases the frame it came in
	DeadlineMS int64      // what is left of the call, in milliseconds
}

// Effects performs an effect and returns its result. It is called from many
// goroutines at once. Its context ends when the satellite calls the effect off,
// when the invocation is answered, cancelled or out of time, and when the
// satellite ends; it must then return soon, for the satellite is not done
// before it has. A result nobody waits for any longer is not sent. One that
// panics has failed with unavailable.
//
// report.emit, and what [Invocation.Prompt] names, is called on the goroutine that
// reads the satellite's frames: reports keep their order and come before the answer
// that follows them. It must not block for long.
type Effects func(ctx context.Context, call CapCall) wire.Result

// Failed is a result that is a failure.
func Failed(code, msg string) wire.Result {
	return wire.Result{Fault: wire.Fault{Code: code, Msg: msg}}
}

func noEffects(_ context.Context, call CapCall) wire.Result {
	return Failed(wire.CodeUnavailable, call.Cap+" is not served by this host")
}

// effect is one open cap_call.
type effect struct {
	id, invocation int64
	serve          Effects
	cancel         context.CancelFunc
	calledOff      bool
	charge         int64
}

// asked judges a cap_call. False is the end of the satellite.
func (s *Satellite) asked(id int64, c wire.CapCall, size int64) bool {
	below, _ := extent(c.Args) // the frame's size has their bytes
	charge := size + valueMemory*(below-1)
	left := wire.Left(c.DeadlineMS)
	s.mu.Lock()
	if s.fate != nil {
		s.mu.Unlock()
		return false
	}
	if _, twice := s.effects[id]; twice {
		s.mu.Unlock()
		s.violated("cap_call " + strconv.FormatInt(id, 10) + " is open already")
		return false
	}
	now := time.Now()
	var refusal wire.Result
	switch {
	case !s.authorizes(c.Token, now):
		refusal = Failed(wire.CodeUnauthorized, "no invocation is open for this call; make it before the answer, with the context that the extension was given")
	case len(s.effects) >= maxEffects:
		refusal = Failed(wire.CodePolicy, "more than "+strconv.Itoa(maxEffects)+" effects at once")
	case s.unread.count >= maxEffects:
		refusal = Failed(wire.CodePolicy, "more than "+strconv.Itoa(maxEffects)+" answers were not read yet")
	case s.charged+charge > maxEffectMemory:
		refusal = Failed(wire.CodePolicy, "the effects that are open hold more than "+strconv.Itoa(maxEffectMemory>>20)+" MiB")
	case left == 0:
		refusal = Failed(wire.CodeDeadline, "no time was left for "+strconv.QuoteToASCII(c.Cap))
	}
	if refusal.Fault.Code != "" {
		s.mu.Unlock()
		s.reply(id, refusal)
		return true
	}
	if s.call.effects == nil {
		s.call.effects, s.call.end = context.WithDeadline(s.call.caller, s.call.deadline)
	}
	left = min(left, s.call.deadline.Sub(now))
	e := &effect{id: id, invocation: s.call.id, serve: s.call.serve}
	call := CapCall{Invocation: e.invocation, Cap: c.Cap, Args: c.Args, DeadlineMS: left.Milliseconds()}
	if c.Cap == capReport || s.call.prompt != nil && s.call.prompt(c.Cap) {
		// Nothing can call it off meanwhile: what would is read after it.
		ctx := s.call.effects
		s.mu.Unlock()
		s.deliver(e, e.result(ctx, call))
		return true
	}
	var ctx context.Context
	ctx, e.cancel = context.WithTimeout(s.call.effects, left)
	e.charge = charge
	s.effects[id] = e
	s.charged += charge
	s.running.Add(1)
	s.mu.Unlock()
	s.channel.soon = false // the effect takes its time, and wants this thread
	go s.perform(ctx, e, call)
	return true
}

// authorizes compares in constant time. s.mu is held.
func (s *Satellite) authorizes(token []byte, now time.Time) bool {
	return s.open && now.Before(s.call.deadline) && subtle.ConstantTimeCompare(token, s.call.token[:]) == 1
}

// perform runs an effect on a goroutine of its own and delivers the result. A
// satellite that does not read must not gather results here, so they are counted until
// it has taken them.
func (s *Satellite) perform(ctx context.Context, e *effect, call CapCall) {
	defer s.running.Done()
	result := e.result(ctx, call)
	e.cancel()
	count, size := extent(result.Value)
	size += valueMemory * count
	s.mu.Lock()
	delete(s.effects, e.id)
	s.charged -= e.charge
	if s.unread.bytes+size > maxResultMemory {
		result, size = Failed(wire.CodePolicy, "the answers that were not read yet hold more than "+strconv.Itoa(maxResultMemory>>20)+" MiB; read them"), 0
	}
	s.unread.count++
	s.unread.bytes += size
	s.mu.Unlock()
	s.deliver(e, result)
	s.mu.Lock()
	s.unread.count--
	s.unread.bytes -= size
	s.mu.Unlock()
}

// deliver sends the result of an effect if somebody still waits for it.
func (s *Satellite) deliver(e *effect, result wire.Result) {
	s.mu.Lock()
	wanted := s.open && s.call.id == e.invocation && !e.calledOff && s.fate == nil
	s.mu.Unlock()
	if wanted {
		s.reply(e.id, result)
	}
}

// result is the effect's, or a failure where it panicked: what the satellite
// asks for must not be able to take the host down. The panic's text is the
// host's and none of the satellite's business.
func (e *effect) result(ctx context.Context, call CapCall) (r wire.Result) {
	defer func() {
		if recover() != nil {
			r = Failed(wire.CodeUnavailable, "the host failed to serve "+strconv.QuoteToASCII(call.Cap))
		}
	}()
	return e.serve(ctx, call)
}

// reply writes a cap_result. A satellite that does not read it holds up the
// writer until it is destroyed or closed.
func (s *Satellite) reply(id int64, r wire.Result) {
	c := s.channel
	c.mu.Lock()
	frame, err := wire.AppendResult(c.buf[:0], wire.KindCapResult, id, r)
	if err != nil {
		frame, err = wire.AppendResult(c.buf[:0], wire.KindCapResult, id, Failed(wire.CodeTooLarge, err.Error()))
	}
	if err == nil {
		_, err = c.write(frame)
		c.keep(frame)
	}
	c.mu.Unlock()
	if err != nil {
		s.hangUp(false)
	}
}

// calledOff ends an effect that the satellite no longer wants.
func (s *Satellite) calledOff(id int64) {
	s.mu.Lock()
	e := s.effects[id]
	if e != nil {
		e.calledOff = true
	}
	s.mu.Unlock()
	if e != nil {
		e.cancel()
	}
}

// extent counts a value with all that is in it, and the bytes of its texts, keys and
// data.
func extent(v wire.Value) (values, bytes int64) {
	text, _ := v.AsText()
	data, _ := v.AsBin()
	values, bytes = 1, int64(len(text)+len(data))
	add := func(inner wire.Value) {
		n, size := extent(inner)
		values, bytes = values+n, bytes+size
	}
	list, _ := v.AsList()
	for i := range list {
		add(list[i])
	}
	fields, _ := v.AsMap()
	for i := range fields {
		bytes += int64(len(fields[i].Key))
		add(fields[i].Value)
	}
	return values, bytes
}
