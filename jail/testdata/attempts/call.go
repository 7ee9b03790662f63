package main

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call makes one raw system call, so that nothing of the standard library goes
// another way when it is refused.
//
//go:uintptrescapes
func call(trap uintptr, args ...uintptr) (int, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(trap, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

const here = ^uintptr(99) // AT_FDCWD as an argument: -100

// cstring is a path or a name as the kernel reads it.
func cstring(s string) uintptr {
	b := append([]byte(s), 0)
	keep = append(keep, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// words is an argument list as the kernel reads it.
func words(list ...string) uintptr {
	pointers := make([]*byte, 0, len(list)+1)
	for _, s := range list {
		pointers = append(pointers, &append([]byte(s), 0)[0])
	}
	pointers = append(pointers, nil)
	keep = append(keep, pointers)
	return uintptr(unsafe.Pointer(&pointers[0]))
}

// keep holds what the kernel was given an address of. One attempt is short, and
// ends with the process.
var keep []any

func pointer[T any](p *T) uintptr {
	keep = append(keep, p)
	return uintptr(unsafe.Pointer(p))
}

func address(b []byte) uintptr {
	keep = append(keep, b)
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

func open(path string, flags int, mode uint32) (int, error) {
	return call(unix.SYS_OPENAT, here, cstring(path), uintptr(flags), uintptr(mode))
}

func read(fd int, b []byte) (int, error) {
	return call(unix.SYS_READ, uintptr(fd), address(b), uintptr(len(b)))
}

func write(fd int, b []byte) (int, error) {
	return call(unix.SYS_WRITE, uintptr(fd), address(b), uintptr(len(b)))
}

// opened says whether a descriptor is open, by a call that every jail allows.
func opened(fd int) bool {
	_, err := call(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL)
	return err == nil
}

// fork runs act in a child process and waits for it. act must not allocate: the
// child has one thread and no scheduler. Its result is the child's exit status.
func fork(flags uintptr, act func() uintptr) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, act(), 0, 0)
	}
	return collect(int(pid))
}

// collect is the exit status of a child.
func collect(pid int) (int, error) {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &status, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, err
		}
		return status.ExitStatus(), nil
	}
}

// nothing is the child that ends at once.
func nothing() uintptr { return 0 }
