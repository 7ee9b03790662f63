package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

const (
	// flushBytes is how many bytes of lines wait at most to be written.
	flushBytes = 64 << 10
	// flushEvery is how long a line waits at most, so that a host that is killed during a long invocation has left what
	// led up to it.
	flushEvery = 100 * time.Millisecond
)

// Writer appends to one record. Its methods, and those of what it gives, may be called from many goroutines.
type Writer struct {
	path string // absolute

	mu      sync.Mutex
	file    *os.File    // nil once it is closed
	buf     []byte      // whole lines
	next    line        // that is being written; used again
	err     error       // the first that was met; nothing is written after it
	timer   *time.Timer // writes what waits, when it is armed
	armed   bool
	checked time.Time       // when the file was last seen in its place
	open    map[string]bool // the sessions
}

// Error is a record that cannot be written or read.
type Error struct {
	Path string
	Line int // of the record, from 1; 0 where it is about the whole
	Err  error
}

// Error has the place, the cause and, in the cause, what to do.
func (e *Error) Error() string {
	at := e.Path
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	return "record: " + at + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Open opens a record to append to, and makes it, for the owner alone, where there is none. A file that is there must be a
// record, or empty.
func Open(path string) (*Writer, error) {
	path, err := filepath.Abs(path) // of a process that changes its directory, too
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	w := &Writer{path: path, file: file, open: map[string]bool{}}
	w.next.keep = blobsOf(path).put
	if err := w.resume(); err != nil {
		_ = file.Close()
		return nil, &Error{Path: path, Err: err}
	}
	w.armed = true
	w.timer = time.AfterFunc(flushEvery, w.tick)
	return w, nil
}

// resume looks at what is there, and ends a line that was cut off.
func (w *Writer) resume() error {
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file; name another")
	}
	if info.Size() == 0 {
		return nil
	}
	var first [64]byte
	n, err := w.file.ReadAt(first[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	if !isRecord(first[:n]) {
		return errors.New("the file is there and is no record; name another, or one that loomext wrote")
	}
	var last [1]byte
	if _, err := w.file.ReadAt(last[:], info.Size()-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		w.buf = append(w.buf, '\n')
	}
	return nil
}

// tick writes what has waited long enough.
func (w *Writer) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	w.flush()
}

// flush writes the lines that wait. The lock is held.
func (w *Writer) flush() {
	if w.err != nil || len(w.buf) == 0 {
		return
	}
	if now := time.Now(); now.Sub(w.checked) > flushEvery {
		w.checked = now
		if err := w.inPlace(); err != nil {
			w.fail(err)
			return
		}
	}
	if _, err := w.file.Write(w.buf); err != nil {
		w.fail(err)
	}
	w.buf = w.buf[:0]
	if cap(w.buf) > 4*flushBytes {
		w.buf = nil
	}
}

// inPlace says that the file is still the one of its name: what is written to one that was removed is lost, and one that was
// moved away has lost the directory of its bodies.
func (w *Writer) inPlace() error {
	own, err := w.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(w.path)
	if err != nil {
		return err
	}
	if !os.SameFile(own, there) {
		return errors.New("another file has its name now")
	}
	return nil
}

func (w *Writer) fail(err error) {
	w.err = &Error{Path: w.path, Err: fmt.Errorf("it cannot be written any further: %w", err)}
}

// Path is the name that the record was opened by.
func (w *Writer) Path() string { return w.path }

// Err is why the record is not written any further, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close writes what waits and closes the file. Sessions that are still open are cut off.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.file == nil {
		w.mu.Unlock()
		return nil
	}
	w.flush()
	err := w.err
	if closed := w.file.Close(); err == nil && closed != nil {
		err = &Error{Path: w.path, Err: closed}
	}
	w.file = nil
	if w.err == nil {
		w.err = &Error{Path: w.path, Err: os.ErrClosed}
	}
	w.timer.Stop()
	w.mu.Unlock()
	return err
}

// begin takes the lock and begins a line, unless nothing is written any more. end has to follow where the error is nil.
func (w *Writer) begin(kind, session string) (*line, error) {
	w.mu.Lock()
	if w.err != nil {
		defer w.mu.Unlock()
		return nil, w.err
	}
	l := &w.next
	l.dst, l.err = w.buf, nil
	l.dst = append(l.dst, `{"t":"`...)
	l.dst = append(l.dst, kind...)
	l.dst = append(l.dst, '"')
	l.str("session", session)
	return l, nil
}

// end ends the line, to be written now or with those that wait.
func (w *Writer) end(l *line, when writing) error {
	defer w.mu.Unlock()
	l.dst = append(l.dst, "}\n"...)
	if l.err != nil { // the line names a body that is not there; what stands before it is good
		w.flush()
		if w.err == nil {
			w.fail(l.err)
		}
		return w.err
	}
	w.buf = l.dst
	if when == atOnce || len(w.buf) >= flushBytes {
		w.flush()
	} else if !w.armed {
		w.armed = true
		w.timer.Reset(flushEvery)
	}
	return w.err
}

// writing is when a line is written.
type writing int

const (
	soon writing = iota // within flushEvery
	atOnce
)

// line is a line that is being written: keys after the first.
type line struct{ encoder }

func (l *line) key(key string) {
	l.dst = append(l.dst, `,"`...)
	l.dst = append(l.dst, key...)
	l.dst = append(l.dst, `":`...)
}

func (l *line) str(key, value string) {
	l.key(key)
	l.dst = appendText(l.dst, value)
}

func (l *line) int(key string, n int64) {
	l.key(key)
	l.dst = strconv.AppendInt(l.dst, n, 10)
}

func (l *line) bool(key string, b bool) {
	l.key(key)
	l.dst = strconv.AppendBool(l.dst, b)
}

func (l *line) now(key string) {
	l.key(key)
	l.dst = append(l.dst, '"')
	l.dst = time.Now().UTC().AppendFormat(l.dst, time.RFC3339Nano)
	l.dst = append(l.dst, '"')
}

// body writes a value and how much it holds.
func (l *line) body(key, size string, v Value) {
	l.key(key)
	l.bytes = 0
	l.value(v.wire)
	l.int(size, l.bytes)
}

func (l *line) fault(f wire.Fault) {
	l.str("code", f.Code)
	l.str("msg", f.Msg)
}

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
	l, err := w.begin(lineSession, id)
	if err != nil {
		return nil, err
	}
	l.int("format", Format)
	l.now("at")
	l.str("loomext", version)
	return &Session{writer: w, id: id}, w.end(l, atOnce)
}

// End ends the session.
func (s *Session) End() error {
	s.writer.mu.Lock()
	delete(s.writer.open, s.id)
	s.writer.mu.Unlock()
	l, err := s.writer.begin(lineEnd, s.id)
	if err != nil {
		return err
	}
	l.now("at")
	return s.writer.end(l, atOnce)
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
	l, err := s.writer.begin(lineExtension, s.id)
	if err != nil {
		return err
	}
	l.key("extension")
	l.dst = append(l.dst, text...)
	if err = s.writer.end(l, soon); err == nil {
		s.known = append(s.known, x)
	}
	return err
}

// Call is an invocation that is open in a record.
type Call struct {
	session *Session
	n       int64
	began   time.Time

	mu       sync.Mutex
	effects  int64
	pending  []*Pending
	answered writing // when its answer is written
	ended    bool
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
	l, err := s.writer.begin(lineCall, s.id)
	if err != nil {
		return nil, err
	}
	l.int("call", c.n)
	l.now("at")
	l.str("extension", i.Extension)
	l.str("kind", i.Kind)
	l.str("name", i.Name)
	l.int("start", i.Start)
	l.int("deadline_ms", i.Deadline.Milliseconds())
	l.body("args", "bytes", i.Args)
	return c, s.writer.end(l, soon)
}

// Err is why nothing is recorded any further, or nil.
func (c *Call) Err() error { return c.session.writer.Err() }

// Reach says that an effect of the invocation is about to reach out of the session. What led up to it is in the file when
// Reach returns, and the rest will be when the invocation has ended. Its error says that the effect must not be performed.
func (c *Call) Reach() error {
	c.mu.Lock()
	c.answered = atOnce
	c.mu.Unlock()
	w := c.session.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	return w.err
}

// Pending is an effect that has begun.
type Pending struct {
	call  *Call
	cap   string
	args  Value
	began time.Duration
}

// Effect notes that an effect begins, by its wire name. The arguments must stay as they are until it has ended, or the
// invocation has.
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.pending = slices.DeleteFunc(c.pending, func(other *Pending) bool { return other == p })
	c.effect(p, r)
}

// unended is what an effect was answered that had no answer when its invocation ended.
var unended = wire.Result{Fault: wire.Fault{Code: wire.CodeCancelled, Msg: "the invocation ended before the effect did; it may have been had"}}

// effect writes the line of an effect. The lock is held.
func (c *Call) effect(p *Pending, r wire.Result) {
	c.effects++
	l, err := c.session.writer.begin(lineEffect, c.session.id)
	if err != nil {
		return
	}
	l.int("call", c.n)
	l.int("effect", c.effects)
	l.str("cap", p.cap)
	l.int("began_ns", int64(p.began))
	l.int("took_ns", int64(time.Since(c.began)-p.began))
	l.body("args", "bytes", p.args)
	l.bool("ok", r.OK)
	if r.OK {
		l.body("value", "value_bytes", Of(r.Value))
	} else {
		l.fault(r.Fault)
	}
	_ = c.session.writer.end(l, soon)
}

// End notes the answer. When it returns, the lines of an invocation that reached out of its session are in the file, or the
// error says why not; those of others follow.
func (c *Call) End(a Answer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	c.ended = true
	for _, p := range c.pending {
		c.effect(p, unended)
	}
	c.pending = nil
	l, err := c.session.writer.begin(lineAnswer, c.session.id)
	if err != nil {
		return err
	}
	l.int("call", c.n)
	l.int("took_ns", int64(time.Since(c.began)))
	l.bool("ok", a.OK)
	if a.OK {
		l.body("value", "bytes", a.Value)
	} else {
		l.str("failed", a.Failed)
		l.fault(a.Fault)
	}
	return c.session.writer.end(l, c.answered)
}
