//go:build !linux

package proc

import (
	"context"
	"os"
)

// On another system nothing is run: the jail refuses.

func input([]byte) (*os.File, error) { return nil, nil }

type guard struct{ paths []string }

func (*Runner) guard(context.Context) (*guard, error) { return &guard{}, nil }

func (*guard) release() {}
