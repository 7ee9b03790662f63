//go:build !unix

package vendorize

import (
	"errors"
	"os"
)

// tryLock is of Unix alone.
func tryLock(*os.File) (held bool, err error) { return false, errors.ErrUnsupported }
