package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// takeStdout gives what standard output was, and makes descriptor 1 another name of standard
// error: for this process, for what it starts, and for the runtime.
func takeStdout() (*os.File, error) {
	const above = 3 // the descriptors that have a meaning of their own
	own, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, above)
	if err == nil {
		err = unix.Dup3(2, 1, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("standard output could not be kept apart: %w", err)
	}
	return os.NewFile(uintptr(own), "stdout"), nil
}
