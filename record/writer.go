package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// flushBytes is how many bytes of lines wait at most to be written.
	flushBytes = 64 << 10
	// bufferBytes has place for what waits and, of most lines, for the one that is the last straw.
	bufferBytes = flushBytes + 2*InlineMax
	// flushEvery is how long a line waits at most, so that a host that is killed during a long invocation has left what
	// led up to it.
	flushEvery = 100 * time.Millisecond
)

// Writer appends to one record. Its methods, and those of what it gives, may be called from many goroutines.
type Writer struct {
	path   string // absolute
	keep   spill
	failed atomic.Pointer[Error] // the first that was met; nothing is written after it

	mu      sync.Mutex
	file    *os.File    // nil once it is closed
	waiting []waiting   // lines
	bytes   int         // about what they have
	buf     []byte      // lines that were made
	timer   *time.Timer // writes what waits, when it is armed
	armed   bool
	checked time.Time       // when the file was last seen in its place
	open    map[string]bool // the sessions
}

// Open opens a record to append to, and makes it, for the owner alone, where there is none. A file that is there must be a
// record, or empty.
func Open(path string) (*Writer, error) {
	full, err := filepath.Abs(path) // of a process that changes its directory, too
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	path = full
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, &Error{Path: path, Err: unwritable(err)}
	}
	w := &Writer{path: path, keep: blobsOf(path).put, file: file, buf: make([]byte, 0, bufferBytes), open: map[string]bool{}}
	if err := w.resume(); err != nil {
		_ = file.Close()
		return nil, &Error{Path: path, Err: bare(err)}
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
	if w.failed.Load() != nil {
		return
	}
	w.render()
	w.send()
}

// send writes the lines that were made. The lock is held.
func (w *Writer) send() {
	if len(w.buf) == 0 {
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
		w.buf = make([]byte, 0, bufferBytes)
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

// fail ends the writing. The first reason stays.
func (w *Writer) fail(err error) {
	w.failed.CompareAndSwap(nil, &Error{Path: w.path, Err: fmt.Errorf("it cannot be written any further: %w", bare(err))})
}

// Path is the name that the record was opened by.
func (w *Writer) Path() string { return w.path }

// Err is why the record is not written any further, or nil.
func (w *Writer) Err() error {
	if err := w.failed.Load(); err != nil {
		return err
	}
	return nil
}

// Close writes what waits and closes the file. Sessions that are still open are cut off.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	w.flush()
	err := w.Err()
	if closed := w.file.Close(); err == nil && closed != nil {
		err = &Error{Path: w.path, Err: bare(closed)}
	}
	w.file = nil
	w.failed.CompareAndSwap(nil, &Error{Path: w.path, Err: os.ErrClosed})
	w.timer.Stop()
	return err
}

// waiting is a line that is to be written. Where it is short it is made when it is written, with those around it: to make
// one in the middle of an invocation costs three times as much.
type waiting struct {
	kind, session string
	fill          func(*line)
	made          *line // instead, of a line that may have a body of its own
}

// maxWaiting is how many lines wait at most.
const maxWaiting = 256

// add has a line written with those that wait. Size is that of the bodies.
func (w *Writer) add(kind, session string, size int, fill func(*line)) error {
	return w.put(kind, session, size, fill, (*Writer).settle)
}

// write writes a line, after those that wait.
func (w *Writer) write(kind, session string, size int, fill func(*line)) error {
	return w.put(kind, session, size, fill, (*Writer).flush)
}

// put queues a line. One with long bodies is made at once and without the lock, under which others wait.
func (w *Writer) put(kind, session string, size int, fill func(*line), then func(*Writer)) error {
	if err := w.Err(); err != nil {
		return err
	}
	one := waiting{kind: kind, session: session, fill: fill}
	if size > InlineMax {
		one.made = newLine(kind, session, w.keep)
		fill(one.made)
		size = len(one.made.dst)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.made != nil && one.made.err != nil { // it names a body that is not there; what stands before it is good
		w.flush()
		w.fail(one.made.err)
		return w.Err()
	}
	w.waiting = append(w.waiting, one)
	w.bytes += size + lineBytes
	then(w)
	return w.Err()
}

// lineBytes is about what a line has beside its bodies.
const lineBytes = 160

// settle writes what waits where it is much, and sees to it that it is written soon otherwise. The lock is held.
func (w *Writer) settle() {
	if w.bytes >= flushBytes || len(w.waiting) >= maxWaiting {
		w.flush()
	} else if !w.armed {
		w.armed = true
		w.timer.Reset(flushEvery)
	}
}

// flushed writes the lines that wait.
func (w *Writer) flushed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	return w.Err()
}

// render makes the lines that wait. The lock is held.
func (w *Writer) render() {
	for _, one := range w.waiting {
		l := one.made
		if l == nil {
			l = newLine(one.kind, one.session, nil) // it is short
			one.fill(l)
		}
		w.buf = append(append(w.buf, l.dst...), "}\n"...)
		l.free()
	}
	clear(w.waiting)
	w.waiting, w.bytes = w.waiting[:0], 0
}
