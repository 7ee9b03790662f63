//go:build !unix

package vet

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
