package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownerOf is the user a file belongs to.
func ownerOf(info fs.FileInfo) (user int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// freeBytes is what this user may still write where a directory is.
func freeBytes(dir string) (n int64, known bool) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, false
	}
	return int64(stat.Bavail) * stat.Bsize, true
}

// tryWrite writes a file without a name, which is gone when it is closed, whatever happens.
// Where the file system has none of these, the permissions have to do.
func tryWrite(dir string) error {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENOENT) {
		return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), dir)
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close())
}
