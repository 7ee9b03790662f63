//go:build unix

package install

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lockKind is how a directory is held.
type lockKind int

const (
	shared    lockKind = syscall.LOCK_SH
	exclusive lockKind = syscall.LOCK_EX
)

// lockDir opens a directory and takes an advisory lock on it, without waiting. The lock ends
// when the file is closed, by whatever means. A directory that was removed in between is not locked.
func lockDir(dir string, how lockKind) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), int(how)|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s is in use: %w", dir, err)
	}
	opened, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Lstat(dir); err == nil && !os.SameFile(opened, there) {
			err = fmt.Errorf("%s was replaced: %w", dir, fs.ErrNotExist)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// openDir opens a directory, and no link to one.
func openDir(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}
