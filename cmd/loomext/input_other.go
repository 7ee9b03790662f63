//go:build !unix

package main

import (
	"context"
	"os"
)

// input reads a file. Where a wait for input cannot be interrupted, the end of the context is
// noticed with the next input.
type input struct {
	ctx context.Context
	f   *os.File
}

func newInput(ctx context.Context, f *os.File) (*input, error) { return &input{ctx: ctx, f: f}, nil }

func (i *input) Close() {}

func (i *input) Read(p []byte) (int, error) {
	n, err := i.f.Read(p)
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	return n, err
}

func openInput(path string) (*os.File, error) { return os.Open(path) }
