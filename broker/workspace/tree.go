package workspace

import (
	"errors"
	"io/fs"
	"os"
)

// tree is a directory that is held, and what lies beneath it. Paths are those of a [place]. What is opened, by whichever
// method, lies beneath at that moment and is on the same mount.
type tree interface {
	// open opens for reading, without waiting, whatever a path leads to. Links that stay beneath are followed.
	open(path string) (*os.File, error)
	// list gives the first entries of a directory, a few more than most where there are as many.
	list(path string, most int) ([]Entry, error)
	// folder holds a directory. No link is followed.
	folder(at place) (folder, error)
	close() error
}

// folder is a directory that is held, for changing what is in it. Its methods take names and follow no link.
type folder interface {
	info() (fs.FileInfo, error)
	enter(name string) (folder, error)
	makeDir(name string) error
	removeDir(name string) error
	// stat tells of what has the name, be it a link.
	stat(name string) (fs.FileInfo, error)
	// open opens for reading or for writing, without waiting. It changes nothing.
	open(name string, way int) (*os.File, error)
	// create makes a file that was not there.
	create(name string, perm fs.FileMode) (*os.File, error)
	rename(from, to string) error
	remove(name string) error
	close()
}

var (
	errLink    = errors.New("a link where none is followed")
	errOutside = errors.New("beyond the workspace")
)
