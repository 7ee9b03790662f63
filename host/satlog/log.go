package satlog

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// lockPatience is how long the file may stand still under somebody else's lock before that
	// process counts as stopped: a lock is held for the microseconds of a few system calls.
	lockPatience = time.Second
	// lockLimit is the longest wait while the file does grow, under a flood of others.
	lockLimit = 5 * time.Second
	// lockPoll is the first wait for a lock, and lockPollMax the longest.
	lockPoll    = 50 * time.Microsecond
	lockPollMax = time.Millisecond
	// takeAttempts bounds how often the file may be rotated away between its opening and its
	// lock; each time somebody else has filled a whole one.
	takeAttempts = 100
)

var (
	errClosed  = errors.New("the log is closed")
	errStopped = errors.New("another process holds its lock and does nothing")
)

// Log is the log of one extension. Its methods may be called from several goroutines, and any
// number of Logs, in any number of processes, may stand for the same files.
type Log struct {
	mu     sync.Mutex
	place  place
	file   *os.File    // nil until the first line, and after a failure
	opened os.FileInfo // of file
	end    int64       // where the last line of ours ends; nobody wrote since where it is the file's size

	unlocked error // why the lock could not be had last, or nil
	bad      error // the name is none
	closed   bool
	lost     int   // lines that could not be written since Err was asked
	cause    error // of the first of them
}

// Open names the log of one extension below a directory. It touches nothing until the first
// line, which makes the directory where there is none. With a name that is no extension's every
// line is lost, and Err says so.
//
// A Log holds one descriptor from its first line to its Close: a process with many sessions
// has one Log for an extension, and a Writer for each session.
func Open(dir, extension string) *Log {
	p, err := newPlace(dir, extension)
	return &Log{place: p, bad: err}
}

// Note writes a line of the host's own, such as "started, pid 12, level no-cgroup". It is the
// host's words alone, and one line: of a text of more than 8 KiB the rest is left out.
func (l *Log) Note(session, text string) {
	line := []byte(text)
	if len(line) > lineBytes {
		line = line[:pieceOf(line)]
	}
	b := l.batch(session, markNote)
	b.line(line)
	b.flush()
}

// Err says how many lines were lost since it was asked last, and why the first of them was;
// nil is none. The log goes on: each line is tried.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == 0 {
		return nil
	}
	lost, cause := l.lost, l.cause
	l.lost, l.cause = 0, nil
	if l.bad != nil {
		return fmt.Errorf("%w; lines not written: %d", l.bad, lost)
	}
	return l.place.fault(fmt.Errorf("lines not written: %d: %w", lost, cause), "make room in "+l.place.dir+", or make it writable")
}

// Close gives the file up and returns what Err would. Lines that come later are lost; the
// Writers are to be closed first.
func (l *Log) Close() error {
	err := l.Err()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.release()
	return err
}

// write appends whole lines in one write.
func (l *Log) write(text []byte, lines int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	switch {
	case l.bad != nil:
		err = l.bad
	case l.closed:
		err = errClosed
	default:
		err = l.append(text)
	}
	if err == nil {
		return
	}
	l.release()
	l.lost += lines
	if l.cause == nil {
		l.cause = err
	}
}

func (l *Log) append(text []byte) error {
	size, locked, err := l.takeRoom(int64(len(text)))
	if locked {
		defer unlock(l.file)
	}
	if err != nil {
		return err
	}
	if size > 0 && size != l.end && !l.ended(size) {
		text = append([]byte{'\n'}, text...)
	}
	if _, err := l.file.Write(text); err != nil {
		if locked {
			_ = l.file.Truncate(size) // what was written of a line would be a torn one
		}
		return err
	}
	l.end = size + int64(len(text))
	return nil
}

// takeRoom takes the file that is to be written to, and rotates it first where it has no room
// for that many bytes. Where that cannot be done the file grows, up to a bound of its own.
func (l *Log) takeRoom(need int64) (size int64, locked bool, err error) {
	var hindrance error
	for range takeAttempts {
		size, locked, err = l.take()
		if err != nil || size == 0 || size+need <= l.place.file {
			return size, locked, err
		}
		if !locked {
			hindrance = l.unlocked
			break
		}
		if hindrance = l.place.rotate(); hindrance != nil {
			break
		}
		l.release()
	}
	if hindrance == nil {
		return 0, false, l.replaced()
	}
	if size+need > stretch*l.place.file {
		err = fmt.Errorf("%s is full and cannot be rotated: %w", l.place.path(0), hindrance)
	}
	return size, locked, err
}

// ended reports whether the file, of that size, ends with a whole line.
func (l *Log) ended(size int64) bool {
	var last [1]byte
	_, err := l.file.ReadAt(last[:], size-1)
	return err != nil || last[0] == '\n'
}

// take opens the file that is to be written to, where it is another than before, and takes its
// lock if that can be had. Without an error the file is open and at its path.
func (l *Log) take() (size int64, locked bool, err error) {
	for range takeAttempts {
		if l.file == nil {
			if err := l.open(); err != nil {
				return 0, false, err
			}
		}
		locked = l.lock()
		if at, err := look(l.place.path(0)); err == nil && os.SameFile(l.opened, at) {
			return at.Size(), locked, nil
		}
		l.release()
	}
	return 0, false, l.replaced()
}

func (l *Log) replaced() error {
	return fmt.Errorf("%s is replaced again and again", l.place.path(0))
}

func (l *Log) open() error {
	path := l.place.path(0)
	if err := os.MkdirAll(l.place.dir, dirMode); err != nil {
		return err
	}
	if _, err := look(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
	}
	l.file, l.opened, l.end = f, info, 0
	return nil
}

// release gives the file and its lock up.
func (l *Log) release() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

// lock waits for the lock as long as whoever has it is at work. Once one was found stopped,
// nobody waits for it again.
func (l *Log) lock() bool {
	var (
		began  = time.Now()
		still  = began // since when the file stands as it is
		before int64   // its size
		wait   = lockPoll
	)
	for {
		ok, err := tryLock(l.file)
		if ok || err != nil {
			l.unlocked = err
		}
		if ok || l.unlocked != nil {
			return ok
		}
		at, err := os.Lstat(l.place.path(0))
		if err != nil || !os.SameFile(at, l.opened) {
			return false // rotated away: another is to be locked
		}
		now := time.Now()
		if at.Size() != before {
			before, still = at.Size(), now
		}
		if now.Sub(still) > lockPatience || now.Sub(began) > lockLimit {
			l.unlocked = errStopped
			return false
		}
		time.Sleep(wait)
		wait = min(2*wait, lockPollMax)
	}
}
