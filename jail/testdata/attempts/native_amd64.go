package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const x32 = 0x40000000 // the bit that marks a call of the x32 interface

// interrupt80 makes a call of the 32-bit interface, which numbers them otherwise.
func interrupt80(number, a, b, c uint32) int32

var _ = add(map[string]func() outcome{
	"passwd-open": func() outcome {
		fd, err := call(unix.SYS_OPEN, cstring(passwords), unix.O_RDONLY, 0)
		if err != nil {
			return held("open", err)
		}
		return readBytes(fd, passwords)
	},
	"fork-old": func() outcome {
		pid, _, errno := unix.RawSyscall(unix.SYS_FORK, 0, 0, 0)
		if errno != 0 {
			return held("fork", errno)
		}
		if pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		_, err := collect(int(pid))
		return done("had a child", "wait4", err)
	},
	"x32": func() outcome {
		pid, err := call(unix.SYS_GETPID | x32)
		if err != nil {
			return held("getpid", err)
		}
		return escaped("the x32 interface says that this is process %d", pid)
	},
	"int-0x80": func() outcome {
		const getpid = 20
		if r := interrupt80(getpid, 0, 0, 0); r != int32(os.Getpid()) {
			return heldBecause("the 32-bit interface does not know its process number")
		}
		return escaped("the 32-bit interface answers")
	},
	"int-0x80-open": func() outcome {
		const open = 5
		fd := interrupt80(open, uint32(uintptr(unsafe.Pointer(&lowPath))), unix.O_RDONLY, 0)
		if fd < 0 {
			return held("open of the 32-bit interface", unix.Errno(-fd))
		}
		return readBytes(int(fd), passwords)
	},
	"segments": func() outcome {
		entry := struct{ number, base, limit, flags uint32 }{flags: 0x51} // one data segment of a page
		_, err := call(unix.SYS_MODIFY_LDT, 1, pointer(&entry), unsafe.Sizeof(entry))
		return done("made a segment of its own", "modify_ldt", err)
	},
	"port-access": func() outcome {
		if _, err := call(unix.SYS_IOPERM, 0x80, 1, 1); err == nil {
			return escaped("may use an input and output port")
		}
		_, err := call(unix.SYS_IOPL, 3)
		return done("may use every input and output port", "iopl", err)
	},
	"segment-base": func() outcome {
		const setGS = 0x1001
		_, err := call(unix.SYS_ARCH_PRCTL, setGS, 0)
		return done("set the other segment base", "arch_prctl", err)
	},
	"obsolete": func() outcome {
		for _, trap := range []uintptr{unix.SYS_USELIB, unix.SYS_NFSSERVCTL, unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE, unix.SYS_SYSFS} {
			if _, err := call(trap, 3); err != unix.ENOSYS {
				return reached("a call that no program needs", err)
			}
		}
		return held("every obsolete call", unix.ENOSYS)
	},
})

// lowPath lies in the program's data, where a 32-bit pointer reaches it.
var lowPath = [16]byte{'/', 'e', 't', 'c', '/', 'p', 'a', 's', 's', 'w', 'd'}
