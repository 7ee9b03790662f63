//go:build unix

package hookbus

import (
	"os"
	"syscall"
)

// hold locks a file for as long as it is open. The kernel lets go of it when the process
// ends, however it does; a number of a process may be another's by then, or be counted in
// another container. Where locks do not work, a session is seen to end when it says so.
func hold(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// heldElsewhere says whether somebody holds a file. Readers do not take each other for
// one.
func heldElsewhere(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}
