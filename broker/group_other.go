//go:build !unix

package broker

import "os/exec"

// ownGroup does nothing: without process groups the command alone is killed.
func ownGroup(*exec.Cmd) {}

func endGroup(*exec.Cmd) error { return nil }
