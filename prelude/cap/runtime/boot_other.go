//go:build !unix

package runtime

import (
	"errors"
	"io"
	"runtime"
)

var errPlatform = errors.New("a satellite needs Unix sockets; " + runtime.GOOS + " is not supported")

func inherit(int) (io.ReadWriteCloser, error) { return nil, errPlatform }

func dial(string) (io.ReadWriteCloser, error) { return nil, errPlatform }

func hungUp(error) bool { return false }
