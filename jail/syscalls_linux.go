//go:build amd64 || arm64

package jail

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

//go:generate go run syscalls_generate.go -o syscalls_table_linux.go

// convention is how programs of one architecture call the kernel.
type convention struct {
	audit uint32   // what the kernel calls the architecture
	other uint32   // call numbers from here on belong to another convention; 0 if none do
	names []string // of the calls, by number; empty where there is none
}

// x32 marks the calls of 32-bit programs in 64-bit mode. They come with the
// architecture of 64-bit ones and other numbers.
const x32 = 0x40000000

// conventionOf is that of an architecture a filter can be made for, whichever this
// program runs on.
func conventionOf(goarch string) (convention, bool) {
	switch goarch {
	case "amd64":
		return convention{audit: unix.AUDIT_ARCH_X86_64, other: x32, names: callsAMD64[:]}, true
	case "arm64":
		return convention{audit: unix.AUDIT_ARCH_AARCH64, names: callsARM64[:]}, true
	}
	return convention{}, false
}

// callName is the name of a system call, for a person to read: a number that has
// none is named by it.
func callName(goarch string, nr int) string {
	c, _ := conventionOf(goarch)
	if nr >= 0 && nr < len(c.names) && c.names[nr] != "" {
		return c.names[nr]
	}
	return "system call " + strconv.Itoa(nr)
}

// number is that of a named call.
func (c convention) number(name string) (uint32, bool) {
	nr := slices.Index(c.names, name)
	return uint32(nr), nr >= 0 && name != ""
}
