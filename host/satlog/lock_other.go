//go:build !unix

package satlog

import (
	"errors"
	"os"
)

// tryLock refuses: without a lock that ends with its process nothing is rotated, and a log ends
// at its bound.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlock(*os.File) {}
