package broker

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"time"
)

// commandGrace is how long what a command printed is waited for once it has ended or been killed.
const commandGrace = time.Second

// fromCommand is what a command prints, at most maxSource bytes. It runs directly, without a shell, with the host's
// environment, no input, and a standard error that goes nowhere. It and what it started in its process group are killed
// when ctx ends.
func fromCommand(ctx context.Context, argv []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	said := &bounded{full: cancel}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout = said
	cmd.WaitDelay = commandGrace
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errors.Join(errNotStarted, err)
	}
	err := cmd.Wait()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case said.over:
		return nil, errTooLong
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrWaitDelay):
		_ = endGroup(cmd) // whoever holds the output is in it, or has left it on purpose
		return nil, errNotEnded
	case failed && exit.Exited():
		return nil, exitError{"ended with exit status " + strconv.Itoa(exit.ExitCode())}
	case failed:
		return nil, exitError{"was ended by a signal"}
	case err != nil:
		return nil, err
	}
	return said.text.Bytes(), nil
}

// bounded keeps what is written to it up to the bound, and ends the writer past it.
type bounded struct {
	text bytes.Buffer
	over bool
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxSource {
		b.over = true
		b.full()
		return 0, errTooLong
	}
	return b.text.Write(p)
}
