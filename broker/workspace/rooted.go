package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// rooted is a tree by os.Root, which goes from directory to directory and so costs more for each part of a path. Other
// than by openat2, a mount is known by its device alone: one that shows a part of the same disk goes unnoticed.
type rooted struct {
	root   *os.Root
	device uint64
}

func openRooted(dir string) (tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(top)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &rooted{root, device(info)}, nil
}

func (t *rooted) open(path string) (*os.File, error) {
	if info, err := t.root.Stat(path); err == nil && !info.IsDir() { // else the opening says what is the matter
		if err := regular(info); err != nil {
			return nil, err
		}
	}
	f, err := t.root.OpenFile(path, os.O_RDONLY|patience, 0)
	if err != nil {
		return nil, err
	}
	return within(f, t.device)
}

// within gives the file back where it is on the device.
func within(f *os.File, on uint64) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && device(info) != on {
		err = errOutside
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (t *rooted) list(path string, most int) ([]Entry, error) {
	f, err := t.open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, syscall.ENOTDIR
	}
	found, err := f.ReadDir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	entries := make([]Entry, 0, len(found))
	for _, e := range found {
		entries = append(entries, Entry{Name: e.Name(), IsDir: e.IsDir()})
	}
	return entries, nil
}

func (t *rooted) folder(at place) (folder, error) {
	root, err := t.root.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	var held folder = &rootedFolder{root, t.device}
	for _, part := range at.parts {
		next, err := held.enter(part)
		held.close()
		if err != nil {
			return nil, err
		}
		held = next
	}
	return held, nil
}

func (t *rooted) close() error { return t.root.Close() }

// rootedFolder is a folder by an os.Root of its own.
type rootedFolder struct {
	root   *os.Root
	device uint64
}

func (d *rootedFolder) close() { _ = d.root.Close() }

func (d *rootedFolder) info() (fs.FileInfo, error) { return d.root.Stat(top) }

// enter follows no link: what was opened is what had the name.
func (d *rootedFolder) enter(name string) (folder, error) {
	before, err := d.stat(name)
	switch {
	case err != nil:
		return nil, err
	case before.Mode().Type() == fs.ModeSymlink:
		return nil, errLink
	case !before.IsDir():
		return nil, syscall.ENOTDIR
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := root.Stat(top)
	if err == nil && !os.SameFile(before, after) {
		err = syscall.EAGAIN
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &rootedFolder{root, d.device}, nil
}

func (d *rootedFolder) makeDir(name string) error { return d.root.Mkdir(name, dirPerm) }

func (d *rootedFolder) removeDir(name string) error { return d.root.Remove(name) }

func (d *rootedFolder) stat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	if err == nil && device(info) != d.device {
		return nil, errOutside
	}
	return info, err
}

func (d *rootedFolder) open(name string, way int) (*os.File, error) {
	before, err := d.stat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		if err := regular(before); err != nil {
			return nil, err
		}
	}
	f, err := d.root.OpenFile(name, way|patience, 0)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = syscall.EAGAIN
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (d *rootedFolder) create(name string, perm fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

func (d *rootedFolder) rename(from, to string) error { return d.root.Rename(from, to) }

func (d *rootedFolder) remove(name string) error { return d.root.Remove(name) }
