package satlog

import (
	"bytes"
	"sync"
	"time"
)

// Writer takes the output of one satellite. It is an io.WriteCloser whose errors are those of
// its Log; see [Log.Err].
type Writer struct {
	mu      sync.Mutex
	log     *Log
	session string
	held    []byte // of a line that has no end yet, at most lineBytes
	pace    pace
	tap     func(line string) // nil: nobody listens
}

// Writer takes the output of a satellite in one session. The log holds the first 64 bytes of
// the session's name.
func (l *Log) Writer(session string) *Writer { return &Writer{log: l, session: session} }

// Tap has every line that is written from now on told to somebody as well: without its end,
// in pieces of at most 8 KiB, and the bytes as they came. It is told while the Write goes on,
// so whoever listens must not block.
func (w *Writer) Tap(tap func(line string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tap = tap
}

// Write cuts p into lines and appends those that have an end. What is left is held back up to
// 8 KiB, and then written as a line. It always takes all of p and never fails. It waits for the
// disk, for other writers 5 seconds at most, and where output is a flood for 20 milliseconds more,
// so that the satellite waits as well.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.batch()
	rest := p
	for {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		if !ended {
			break
		}
		if len(w.held) > 0 {
			line = append(w.held, line...)
			w.held = nil
		}
		b.add(line)
		rest = after
	}
	w.held = append(w.held, rest...)
	for len(w.held) > lineBytes {
		n := pieceOf(w.held)
		b.line(w.held[:n])
		w.held = append([]byte(nil), w.held[n:]...)
	}
	b.flush()
	if wait := w.pace.after(time.Now(), b.written); wait > 0 {
		time.Sleep(wait)
	}
	return len(p), nil
}

// Close writes what is held back as a line.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 {
		b := w.batch()
		b.line(w.held)
		b.flush()
		w.held = nil
	}
	return nil
}

// batch is lines of one session that are appended together.
type batch struct {
	log    *Log
	header []byte // of every line
	text   []byte
	lines  int
	tap    func(line string)

	written int // bytes so far
}

func (l *Log) batch(session string, mark byte) *batch {
	return &batch{log: l, header: appendHeader(nil, time.Now(), session, mark)}
}

func (w *Writer) batch() *batch {
	b := w.log.batch(w.session, markOutput)
	b.tap = w.tap
	return b
}

// add adds a line, in pieces where it is too long.
func (b *batch) add(line []byte) {
	for len(line) > lineBytes {
		n := pieceOf(line)
		b.line(line[:n])
		line = line[n:]
	}
	b.line(line)
}

// line adds a line of at most lineBytes.
func (b *batch) line(line []byte) {
	if len(b.text)+len(b.header)+escapeLen*len(line)+1 > batchBytes {
		b.flush()
	}
	b.text = append(b.text, b.header...)
	b.text = appendText(b.text, line)
	b.text = append(b.text, '\n')
	b.lines++
	if b.tap != nil {
		b.tap(string(line))
	}
}

func (b *batch) flush() {
	if b.lines > 0 {
		b.log.write(b.text, b.lines)
		b.written += len(b.text)
	}
	b.text, b.lines = b.text[:0], 0
}
