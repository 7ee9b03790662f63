//go:build amd64 || arm64

package jail

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seccompAllThreads installs a filter on every thread of this process.
func seccompAllThreads(code []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return errno
	}
	return nil
}
