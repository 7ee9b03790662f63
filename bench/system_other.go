//go:build !linux

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// The program refuses to start on other systems before it gets to any of these.
var errSystem = errors.New("only Linux is measured")

func closeInherited() error { return errSystem }

func socketPair() (ours, theirs *os.File, err error) { return nil, nil, errSystem }

func pinned(context.Context, int, string, ...string) ([]byte, error) { return nil, errSystem }

func children(*exec.Cmd) ([][]string, error) { return nil, errSystem }

type watched struct{}

func watch([]int) (watched, error) { return watched{}, errSystem }

func (watched) alive() int { return 0 }

func (watched) close() {}
