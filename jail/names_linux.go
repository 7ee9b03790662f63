//go:build amd64 || arm64

package jail

// CallName is the name of a system call of this machine by its number, for
// whoever reads one from a program's own trace.
func CallName(nr int) string { return callName(arch, nr) }
