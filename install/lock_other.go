//go:build !unix

package install

import (
	"errors"
	"os"
)

// lockKind is how a directory is held.
type lockKind int

const (
	shared lockKind = iota
	exclusive
)

// lockDir refuses: a store needs locks that end with the process that holds them.
func lockDir(string, lockKind) (*os.File, error) {
	return nil, errors.New("a store needs the file locks of a Unix system; use one")
}

func openDir(dir string) (*os.File, error) { return lockDir(dir, shared) }
