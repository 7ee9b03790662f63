//go:build unix

package satlog

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of an open file, without waiting. The lock ends with unlock, or when
// the file is closed, by whatever means.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
