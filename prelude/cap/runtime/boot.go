package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// The environment a host starts a satellite with.
const (
	// EnvSock says where the channel is: "fd:N" for an inherited socket, else the path
	// of one to connect to.
	EnvSock = "LOOM_CAP_SOCK"
	// EnvTokenFile, where set, is the path of a file with bootTokenLen raw bytes. They
	// prove that the satellite can read what its host wrote, and authorize nothing.
	EnvTokenFile = "LOOM_CAP_TOKEN_FILE"
)

const (
	bootTokenLen = 32
	// firstFD is the lowest descriptor a channel can have: those below are the standard
	// streams, which are never the protocol.
	firstFD = 3
	// maxLine bounds the line a failed satellite leaves on stderr.
	maxLine = 512
)

// Exit statuses of a satellite.
const (
	exitFine  = 0
	exitFault = 1
)

// Serve finds the channel the host left in the environment, serves it, and ends the
// process: with 0 when the host is done with it, with 1 and one line on stderr after a
// failed boot or a fault of the channel. It does not return.
func Serve(answer func(Asked) Answer) {
	os.Exit(serve(os.LookupEnv, os.Stderr, answer))
}

// Refuse ends the process as a failed boot does.
func Refuse(err error) {
	complain(os.Stderr, "boot", err)
	os.Exit(exitFault)
}

func serve(lookup func(string) (string, bool), stderr io.Writer, answer func(Asked) Answer) int {
	transport, err := boot(lookup)
	if err != nil {
		complain(stderr, "boot", err)
		return exitFault
	}
	if err := Loop(context.Background(), transport, answer); err != nil {
		complain(stderr, "channel", err)
		return exitFault
	}
	return exitFine
}

// Boot opens the channel the environment names.
func Boot() (io.ReadWriteCloser, error) { return boot(os.LookupEnv) }

func boot(lookup func(string) (string, bool)) (io.ReadWriteCloser, error) {
	where, _ := lookup(EnvSock)
	if where == "" {
		return nil, errors.New(EnvSock + " is not set; a satellite is started by its host, not by hand")
	}
	if path, set := lookup(EnvTokenFile); set {
		if err := checkTokenFile(path); err != nil {
			return nil, err
		}
	}
	fd, inherited := strings.CutPrefix(where, "fd:")
	if !inherited {
		transport, err := dial(where)
		if err != nil {
			return nil, fmt.Errorf("%s: connect to %q: %w", EnvSock, where, err)
		}
		return transport, nil
	}
	n, err := strconv.ParseUint(fd, 10, 31)
	if err != nil || fd != strconv.FormatUint(n, 10) {
		return nil, fmt.Errorf("%s: %q is not a descriptor; want fd:N", EnvSock, where)
	}
	if n < firstFD {
		return nil, fmt.Errorf("%s: descriptor %d is a standard stream, never the channel", EnvSock, n)
	}
	transport, err := inherit(int(n))
	if err != nil {
		return nil, fmt.Errorf("%s: descriptor %d: %w", EnvSock, n, err)
	}
	return transport, nil
}

// checkTokenFile reads the boot token, all of it and no more.
func checkTokenFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", EnvTokenFile, err)
	}
	defer f.Close()
	var token [bootTokenLen + 1]byte
	n, err := io.ReadFull(f, token[:])
	switch {
	case err == nil:
		return fmt.Errorf("%s: %s holds more than %d bytes", EnvTokenFile, path, bootTokenLen)
	case !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF):
		return fmt.Errorf("%s: %w", EnvTokenFile, err)
	case n != bootTokenLen:
		return fmt.Errorf("%s: %s holds %d bytes; want %d", EnvTokenFile, path, n, bootTokenLen)
	}
	return nil
}

// complain writes the one line a satellite says about its own end. What came from
// elsewhere cannot break the line or move a terminal's cursor.
func complain(stderr io.Writer, place string, err error) {
	line := strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '�'
		}
		return r
	}, err.Error())
	fmt.Fprintf(stderr, "satellite: %s: %s\n", place, clip(line, maxLine))
}
