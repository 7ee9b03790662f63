package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	// accessList is the attribute that is a file's access list.
	accessList = "system.posix_acl_access"
	// maxList is the size of one in bytes: the kernel's bound for any attribute.
	maxList = 64 << 10
)

// listOf is the access list of a file, nil where it has none.
func listOf(f *os.File) (list []byte, err error) {
	err = withDescriptor(f, func(fd int) error {
		if size, err := unix.Fgetxattr(fd, accessList, nil); err != nil || size == 0 {
			return err
		}
		list = make([]byte, maxList)
		size, err := unix.Fgetxattr(fd, accessList, list)
		list = list[:max(size, 0)]
		return err
	})
	if noList(err) {
		return nil, nil
	}
	return list, err
}

// setList gives a file an access list, and takes away what it has for one if that is nil or cannot be.
func setList(f *os.File, list []byte) (set bool, err error) {
	err = withDescriptor(f, func(fd int) error {
		if list != nil && unix.Fsetxattr(fd, accessList, list, 0) == nil {
			set = true
			return nil
		}
		return unix.Fremovexattr(fd, accessList)
	})
	if noList(err) {
		err = nil
	}
	return set, err
}

// noList says that a file has no access list, or cannot have one.
func noList(err error) bool {
	return err == unix.ENODATA || err == unix.EOPNOTSUPP || err == unix.ENOSYS
}

// withDescriptor uses a file's descriptor, without making it blocking as Fd would.
func withDescriptor(f *os.File, use func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if failed := raw.Control(func(fd uintptr) { err = use(int(fd)) }); failed != nil {
		return failed
	}
	return err
}
