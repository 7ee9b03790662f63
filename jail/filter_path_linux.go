//go:build amd64 || arm64

package jail

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// emptyPathFrom is above all of a program's file, which the limit on address
	// space bounds, and far below the memory that the kernel hands out unasked.
	emptyPathFrom = 16 << 30
	// emptyPathTries are further addresses, should something lie there.
	emptyPathTries = 16
)

// emptyPath is the address of an empty path for [filterParams], on a page that is
// for this alone and stays for the life of the process. It is 0 where there is
// none to be had.
var emptyPath = sync.OnceValue(func() uint64 {
	size := uint64(os.Getpagesize())
	for i := range uint64(emptyPathTries) {
		want := emptyPathFrom + i*size
		at, _, errno := unix.Syscall6(unix.SYS_MMAP, uintptr(want), uintptr(size), unix.PROT_READ,
			unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE, ^uintptr(0), 0)
		switch {
		case errno != 0:
		case uint64(at) == want:
			return want
		default: // before Linux 4.17 the address is a wish
			_, _, _ = unix.Syscall(unix.SYS_MUNMAP, at, uintptr(size), 0)
		}
	}
	return 0
})
