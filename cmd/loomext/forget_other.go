//go:build !linux

package main

import "os"

// forgetTyped does nothing here: what was typed before a question answers it.
func forgetTyped(*os.File) {}
