package hookbus

import (
	"errors"
	"io"
	"os"
)

// errReplaced is a file that was replaced while it was looked at. What is in its place is
// younger, so looking again comes to an end.
var errReplaced = errors.New("hookbus: the file was replaced")

// lookOnce reads a file and tries its lock. A file whose lock is free was left by a
// process that is gone, unless it has just been replaced.
func lookOnce(path string) (text []byte, alive bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if text, err = io.ReadAll(io.LimitReader(f, maxSnapshot)); err != nil {
		return nil, false, err
	}
	if heldElsewhere(f) {
		return text, true, nil
	}
	own, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	now, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, false, err
	case !os.SameFile(own, now):
		return nil, false, errReplaced
	}
	return text, false, nil
}
