//go:build unix

package runtime

import (
	"errors"
	"io"
	"syscall"
)

// inherit takes over a connected socket the host left open.
func inherit(fd int) (io.ReadWriteCloser, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return nil, errors.New("is not a socket")
	}
	return open(fd)
}

// dial connects to a socket by its path, without the net package: linking it would
// cost a satellite half a megabyte.
func dial(path string) (io.ReadWriteCloser, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil && err != syscall.EISCONN {
		syscall.Close(fd)
		return nil, err
	}
	return open(fd)
}

// open makes the descriptor one whose reads and writes block, whatever the host left
// it as.
func open(fd int) (io.ReadWriteCloser, error) {
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, false); err != nil {
		return nil, err
	}
	return &socket{fd: fd}, nil
}

// hungUp reports whether an error of the stream only says that the host is gone. A
// socket whose peer left before reading everything says so with a reset.
func hungUp(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
