//go:build !linux

package vendorize

import (
	"errors"
	"os"
)

// exchange is of Linux alone.
func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }
