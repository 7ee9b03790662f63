//go:build unix

package vendorize

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the advisory lock of an open file or directory, without waiting. It ends when the file is closed, by
// whatever means.
func tryLock(f *os.File) (held bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
