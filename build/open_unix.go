//go:build unix

package build

import "syscall"

// openStranger opens a name that somebody else made: a symbolic link is an error, and a named pipe does not wait for its
// other end.
const openStranger = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
