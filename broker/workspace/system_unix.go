//go:build unix

package workspace

import (
	"io/fs"
	"syscall"
)

// patience opens without waiting, and takes no terminal.
const patience = syscall.O_NONBLOCK | syscall.O_NOCTTY

// device is the disk that a file is on.
func device(info fs.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Dev)
}

// groupOf is the group that a file belongs to.
func groupOf(info fs.FileInfo) int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Gid)
}
