package vendorize

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchange gives two names each other's file, at once. Not every file system can.
func exchange(root *os.Root, a, b string) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return unix.Renameat2(int(dir.Fd()), a, int(dir.Fd()), b, unix.RENAME_EXCHANGE)
}
