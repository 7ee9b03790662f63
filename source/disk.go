package source

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// disk is a directory on disk. Every operation goes through an os.Root of exactly that directory, so a name can lead
// nowhere else, and whatever is opened is compared with what was listed, so a name that is exchanged in between, for a
// link or anything else, is noticed before a byte of it is used.
type disk struct{ root *os.Root }

// listChunk is how many names are read at a time, so that a directory with too many is left early.
const listChunk = 1024

func (d disk) list(max int) ([]entry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var entries []entry
	for {
		chunk, err := f.ReadDir(listChunk)
		for _, e := range chunk {
			entries = append(entries, entry{e.Name(), kindOf(e.Type())})
		}
		if len(entries) > max {
			return nil, errTooMany
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return entries, nil
}

func kindOf(mode fs.FileMode) kind {
	switch {
	case mode.IsRegular():
		return file
	case mode.IsDir():
		return directory
	case mode&fs.ModeSymlink != 0:
		return link
	}
	return special
}

func (d disk) file(name string, max int64) ([]byte, error) {
	listed, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !listed.Mode().IsRegular() {
		return nil, errChanged
	}
	// Were the name a pipe by now, opening it must not wait for a writer.
	f, err := d.root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !opened.Mode().IsRegular() || !os.SameFile(listed, opened) {
		return nil, errChanged
	}
	if opened.Size() > max {
		return nil, &sizeError{opened.Size()}
	}
	data := make([]byte, opened.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errChanged
		}
		return nil, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if after.Size() != opened.Size() || !after.ModTime().Equal(opened.ModTime()) {
		return nil, errChanged
	}
	return data, nil
}

func (d disk) enter(name string) (folder, error) {
	listed, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !listed.IsDir() {
		return nil, errChanged
	}
	sub, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := sub.Stat(".")
	if err == nil && !os.SameFile(listed, opened) {
		err = errChanged
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return disk{sub}, nil
}

func (d disk) close() { d.root.Close() }
