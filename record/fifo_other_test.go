//go:build !unix

package record

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
