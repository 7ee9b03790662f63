package satlog

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

const (
	// chainAttempts bounds how often the files are opened anew because one was rotated
	// meanwhile. Opening them takes less than filling one.
	chainAttempts = 64
	// chunkBytes is how much of a file is read at once.
	chunkBytes = 64 << 10
	// foreignBytes is the longest line that is read as one. None of ours is as long.
	foreignBytes = batchBytes
	// spare is how many entries beside those that are asked for are held, so that few are moved.
	spare = 1 << 10
)

// errMoving is files that were rotated whenever they were looked at.
var errMoving = errors.New("its files are rotated faster than they can be opened")

// Read returns the last max entries of an extension's log, oldest first, across its rotated
// files; a negative max is all of them. With conditions it is the last of those that all of them
// keep. An extension without a log has none. A line that is being written is not there yet.
func Read(dir, extension string, max int, where ...func(Entry) bool) ([]Entry, error) {
	p, err := newPlace(dir, extension)
	if err != nil {
		return nil, err
	}
	return p.read(max, where)
}

func (p place) read(max int, where []func(Entry) bool) ([]Entry, error) {
	files, err := p.open()
	if err != nil {
		return nil, p.fault(err, "make it readable, or try again")
	}
	defer files.close()
	last := recent{max: max}
	if err := files.scan(filtered(where, last.add)); err != nil {
		return nil, p.fault(err, "make it readable")
	}
	return last.list(), nil
}

// filtered passes on what every condition keeps.
func filtered(where []func(Entry) bool, emit func(Entry) error) func(Entry) error {
	return func(e Entry) error {
		for _, keeps := range where {
			if !keeps(e) {
				return nil
			}
		}
		return emit(e)
	}
}

// recent holds the last max entries, or all.
type recent struct {
	max  int
	held []Entry
}

func (r *recent) add(e Entry) error {
	r.held = append(r.held, e)
	if r.max >= 0 && len(r.held) >= 2*r.max+spare {
		r.held = append(r.held[:0], r.list()...)
	}
	return nil
}

func (r *recent) list() []Entry {
	if r.max < 0 {
		return r.held
	}
	return r.held[len(r.held)-min(r.max, len(r.held)):]
}

// tail is a file that is read from some place on.
type tail struct {
	file *os.File
	info os.FileInfo
	at   int64  // how far it was read
	part []byte // of a line without an end yet
	skip bool   // the reading began within a line, which is passed over
}

// chain is the files of a log as they were at one moment, oldest first.
type chain []*tail

func (c chain) close() {
	for _, t := range c {
		if t != nil {
			_ = t.file.Close()
		}
	}
}

// has is the place of a file in the chain, or -1.
func (c chain) has(info os.FileInfo) int {
	return slices.IndexFunc(c, func(t *tail) bool { return os.SameFile(t.info, info) })
}

// scan reads all files. Nobody appends any more to any but the last.
func (c chain) scan(emit func(Entry) error) error {
	for i, t := range c {
		if err := t.scan(emit); err != nil {
			return err
		}
		if i < len(c)-1 {
			if err := t.finish(emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// open opens the files that there are. Files only ever move to a higher number, so where each
// path is afterwards what it was when it was opened, there was a moment when all were so.
func (p place) open() (chain, error) {
	for range chainAttempts {
		files, err := p.openOnce()
		if err != nil {
			return nil, err
		}
		if p.stands(files) {
			slices.Reverse(files)
			return slices.DeleteFunc(files, func(t *tail) bool { return t == nil }), nil
		}
		files.close()
	}
	return nil, errMoving
}

// openOnce opens each path; one that is not there is nil.
func (p place) openOnce() (chain, error) {
	files := make(chain, p.older+1)
	for age := range files {
		t, err := p.tail(p.path(age))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			files.close()
			return nil, err
		}
		files[age] = t
	}
	return files, nil
}

// stands reports whether the paths are still what was opened.
func (p place) stands(files chain) bool {
	for age, t := range files {
		info, err := os.Lstat(p.path(age))
		if (err == nil) != (t != nil) || t != nil && !os.SameFile(info, t.info) {
			return false
		}
	}
	return true
}

func (p place) tail(path string) (*tail, error) {
	if _, err := look(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	t := &tail{file: f, info: info}
	if most := stretch * p.file; info.Size() > most {
		t.at, t.skip = info.Size()-most, true // somebody else has written to it
	}
	return t, nil
}

// rewind goes back to the beginning of a line without an end: what follows it may be another,
// where a write that failed was taken back.
func (t *tail) rewind() {
	t.at -= int64(len(t.part))
	t.part = nil
}

// scan emits the whole lines up to the end that the file has.
func (t *tail) scan(emit func(Entry) error) error {
	t.rewind()
	chunk := make([]byte, chunkBytes)
	for {
		n, err := t.file.ReadAt(chunk, t.at)
		t.at += int64(n)
		if cut := t.cut(chunk[:n], emit); cut != nil {
			return cut
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// cut emits the lines that end in a chunk.
func (t *tail) cut(chunk []byte, emit func(Entry) error) error {
	for {
		line, rest, ended := bytes.Cut(chunk, []byte{'\n'})
		if !ended {
			break
		}
		if len(t.part) > 0 {
			line = append(t.part, line...)
			t.part = nil
		}
		if t.skip {
			t.skip = false
		} else if err := emit(parse(line)); err != nil {
			return err
		}
		chunk = rest
	}
	t.part = append(t.part, chunk...)
	if len(t.part) >= foreignBytes {
		return t.finish(emit)
	}
	return nil
}

// finish emits what is left of a line that will have no end.
func (t *tail) finish(emit func(Entry) error) error {
	line := t.part
	t.part = nil
	if len(line) == 0 || t.skip {
		return nil
	}
	return emit(parse(line))
}
