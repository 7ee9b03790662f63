package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// Session is one session in a record.
type Session struct {
	writer *Writer
	id     string

	mu    sync.Mutex
	known []Extension
	calls int64
}

// Session begins one. The id is the session's, and names no other that is open in this writer; version is that of the
// loomext that writes.
func (w *Writer) Session(id, version string) (*Session, error) {
	w.mu.Lock()
	taken := w.open[id]
	w.open[id] = true
	w.mu.Unlock()
	if taken {
		return nil, &Error{Path: w.path, Err: fmt.Errorf("a session %q is being recorded already; give each session a name of its own", id)}
	}
	now := time.Now()
	return &Session{writer: w, id: id}, w.write(lineSession, id, 0, func(l *line) {
		l.int("format", Format)
		l.at(now)
		l.str("loomext", version)
	})
}

// End ends the session.
func (s *Session) End() error {
	s.writer.mu.Lock()
	delete(s.writer.open, s.id)
	s.writer.mu.Unlock()
	now := time.Now()
	return s.writer.write(lineEnd, s.id, 0, func(l *line) { l.at(now) })
}

// extension writes what an extension is, once for each that it was.
func (s *Session) extension(x Extension) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.known, func(k Extension) bool {
		return k.Name == x.Name && k.ArtifactDigest == x.ArtifactDigest && k.Fingerprint == x.Fingerprint
	}) {
		return nil
	}
	text, err := json.Marshal(x)
	if err != nil {
		return err
	}
	err = s.writer.add(lineExtension, s.id, len(text), func(l *line) {
		l.key("extension")
		l.dst = append(l.dst, text...)
	})
	if err == nil {
		s.known = append(s.known, x)
	}
	return err
}

// Call is an invocation that is open in a record.
type Call struct {
	session *Session
	n       int64
	began   time.Time
	writing sync.WaitGroup // lines of effects

	mu      sync.Mutex
	effects int64
	pending []*Pending
	reached bool // out of the session
	ended   bool
}

// Begin begins an invocation. Its error says that it must not be made.
func (s *Session) Begin(x Extension, i Invocation) (*Call, error) {
	if err := s.extension(x); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.calls++
	c := &Call{session: s, n: s.calls, began: time.Now()}
	s.mu.Unlock()
	args, size := copied(i.Args.wire) // they are the caller's
	return c, s.writer.add(lineCall, s.id, size, func(l *line) {
		l.int("call", c.n)
		l.at(c.began)
		l.str("extension", i.Extension)
		l.str("kind", i.Kind)
		l.str("name", i.Name)
		l.int("start", i.Start)
		l.int("deadline_ms", i.Deadline.Milliseconds())
		l.body("args", "bytes", args)
	})
}

// Err is why nothing is recorded any further, or nil.
func (c *Call) Err() error { return c.session.writer.Err() }

// Reach says that an effect of the invocation is about to reach out of the session. What led up to it is in the file when
// Reach returns, and the rest will be when the invocation has ended. Its error says that the effect must not be performed.
func (c *Call) Reach() error {
	c.mu.Lock()
	c.reached = true
	c.mu.Unlock()
	return c.session.writer.flushed()
}

// Pending is an effect that has begun.
type Pending struct {
	call  *Call
	cap   string
	args  Value
	began time.Duration
}

// Effect notes that an effect begins, by its wire name. The arguments, and the value that it is answered, must stay as they
// are: their line is made later.
func (c *Call) Effect(capability string, args Value) *Pending {
	p := &Pending{call: c, cap: capability, args: args, began: time.Since(c.began)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.pending = append(c.pending, p)
	}
	return p
}

// End notes what the effect was answered, and does nothing once its invocation has ended: that has noted it. A result that
// cannot be noted is told to those who come after, for the effect has been had.
func (p *Pending) End(r wire.Result) {
	c := p.call
	took := time.Since(c.began) - p.began
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	c.pending = slices.DeleteFunc(c.pending, func(other *Pending) bool { return other == p })
	c.effects++
	n := c.effects
	c.writing.Add(1) // for which the end of the invocation waits: others go on while the line is made
	c.mu.Unlock()
	defer c.writing.Done()
	c.effect(n, p, took, r)
}

// unended is what an effect was answered that had no answer when its invocation ended.
var unended = wire.Result{Fault: wire.Fault{Code: wire.CodeCancelled, Msg: "the invocation ended before the effect did; it may have been had"}}

// effect writes the line of an effect. Arguments and result are nobody's to change.
func (c *Call) effect(n int64, p *Pending, took time.Duration, r wire.Result) {
	_ = c.session.writer.add(lineEffect, c.session.id, size(p.args.wire)+size(r.Value), func(l *line) {
		l.int("call", c.n)
		l.int("effect", n)
		l.str("cap", p.cap)
		l.int("began_ns", int64(p.began))
		l.int("took_ns", int64(took))
		l.body("args", "bytes", p.args.wire)
		l.bool("ok", r.OK)
		if r.OK {
			l.body("value", "value_bytes", r.Value)
		} else {
			l.fault(r.Fault)
		}
	})
}

// End notes the answer. When it returns, the lines of an invocation that reached out of its session are in the file, or the
// error says why not; those of others follow.
func (c *Call) End(a Answer) error {
	took := time.Since(c.began)
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil
	}
	c.ended = true
	open, n := c.pending, c.effects
	c.pending = nil
	c.mu.Unlock()
	c.writing.Wait()
	for _, p := range open {
		n++
		c.effect(n, p, took-p.began, unended)
	}
	answer, size := copied(a.Value.wire) // it is the caller's from now on
	fill := func(l *line) {
		l.int("call", c.n)
		l.int("took_ns", int64(took))
		l.bool("ok", a.OK)
		if a.OK {
			l.body("value", "bytes", answer)
		} else {
			l.str("failed", a.Failed)
			l.fault(a.Fault)
		}
	}
	c.mu.Lock()
	reached := c.reached
	c.mu.Unlock()
	if reached {
		return c.session.writer.write(lineAnswer, c.session.id, size, fill)
	}
	return c.session.writer.add(lineAnswer, c.session.id, size, fill)
}
