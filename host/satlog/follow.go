package satlog

import (
	"context"
	"errors"
	"os"
	"time"
)

// followPoll is how often a followed log is looked at: a stat and a read, and a person waits no
// longer for a line.
const followPoll = 100 * time.Millisecond

// missing is what stands where lines were rotated out before they were read, or removed.
const missing = "lines may be missing here: the log was rotated or removed faster than it was read"

// Follow emits the last entries as Read has them, and then every one as it comes, across
// rotation, until ctx ends, whose cause it returns, or emit fails, whose error it returns. A log
// that is not there yet is waited for. Where lines can have been missed there is a note without
// a session. emit is called on the calling goroutine; while it takes its time nothing is read,
// and the files keep what they keep.
func Follow(ctx context.Context, dir, extension string, last int, emit func(Entry) error, where ...func(Entry) bool) error {
	p, err := newPlace(dir, extension)
	if err != nil {
		return err
	}
	return p.follow(ctx, last, emit, where)
}

func (p place) follow(ctx context.Context, last int, emit func(Entry) error, where []func(Entry) bool) error {
	f := &follower{place: p}
	defer func() { f.turn(nil) }()
	f.emit = func(e Entry) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return emit(e)
	}
	begin := recent{max: last}
	if err := f.start(filtered(where, begin.add)); err != nil {
		return err
	}
	for _, e := range begin.list() {
		if err := f.emit(e); err != nil {
			return err
		}
	}
	begin = recent{}
	live := filtered(where, f.emit)
	ticker := time.NewTicker(followPoll)
	defer ticker.Stop()
	for {
		if err := f.catchUp(live); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// follower reads a log from one file into the next.
type follower struct {
	place place
	emit  func(Entry) error // without the conditions
	now   *tail             // what is read; nil where there was no file yet
}

// turn goes over to another file.
func (f *follower) turn(to *tail) {
	if f.now != nil {
		_ = f.now.file.Close()
	}
	f.now = to
}

// start reads all there is.
func (f *follower) start(emit func(Entry) error) error {
	files, err := f.place.open()
	if errors.Is(err, errMoving) {
		return nil // the first look at it takes it all
	}
	if err != nil {
		return f.place.fault(err, "make it readable")
	}
	return f.take(files, emit)
}

// catchUp reads up to the end of the newest file.
func (f *follower) catchUp(emit func(Entry) error) error {
	for {
		if f.now != nil {
			if err := f.now.scan(emit); err != nil {
				return err
			}
			at, err := os.Lstat(f.place.path(0))
			if err == nil && os.SameFile(at, f.now.info) {
				if f.now.rewind(); at.Size() < f.now.at {
					f.now.at = 0 // somebody emptied it
				}
				return nil
			}
		}
		moved, err := f.next(emit)
		if err != nil || !moved {
			return err
		}
	}
}

// next goes over to the files that came after the one that is read, which is no longer the one
// that is written to. It reports whether there are any.
func (f *follower) next(emit func(Entry) error) (moved bool, err error) {
	files, err := f.place.open()
	if errors.Is(err, errMoving) {
		return false, nil // the next look will have them
	}
	if err != nil {
		return false, f.place.fault(err, "make it readable")
	}
	if f.now != nil {
		at := files.has(f.now.info)
		if at == len(files)-1 {
			files.close() // nothing came after it yet
			return false, nil
		}
		if err := f.end(emit); err != nil {
			files.close()
			return false, err
		}
		if at < 0 {
			if err := f.emit(Entry{Time: time.Now().UTC().Truncate(time.Millisecond), Note: true, Text: missing}); err != nil {
				files.close()
				return false, err
			}
		}
		files[:at+1].close()
		files = files[at+1:]
	}
	if len(files) == 0 {
		return false, nil
	}
	return true, f.take(files, emit)
}

// end reads what was appended to a file before it was rotated.
func (f *follower) end(emit func(Entry) error) error {
	if err := f.now.scan(emit); err != nil {
		return err
	}
	return f.now.finish(emit)
}

// take reads files, and keeps the newest.
func (f *follower) take(files chain, emit func(Entry) error) error {
	if len(files) == 0 {
		return nil
	}
	newest := len(files) - 1
	defer files[:newest].close()
	f.turn(files[newest])
	return files.scan(emit)
}
