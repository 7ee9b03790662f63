package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped drops what a terminal holds that nobody has read.
func forgetTyped(terminal *os.File) {
	_ = unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
