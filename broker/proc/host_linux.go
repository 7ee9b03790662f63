package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// number is a file's descriptor, without making it blocking as Fd would.
func number(f *os.File) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	err = raw.Control(func(n uintptr) { fd = int(n) })
	return fd, err
}

// input is what a command reads: a file in memory, so that nobody waits for a command that does not read. It is nil where
// there is nothing to read.
func input(text []byte) (*os.File, error) {
	if len(text) == 0 {
		return nil, nil
	}
	refused := &Error{Unavailable, "the command's standard input could not be made"}
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, refused
	}
	f := os.NewFile(uintptr(fd), "stdin")
	if _, err := f.Write(text); err == nil {
		if _, err = f.Seek(0, 0); err == nil {
			return f, nil
		}
	}
	_ = f.Close()
	return nil, refused
}
