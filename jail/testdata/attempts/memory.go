package main

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	private   = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	shared    = unix.MAP_SHARED | unix.MAP_ANONYMOUS
	readWrite = unix.PROT_READ | unix.PROT_WRITE
	page      = 4096
)

var _ = add(map[string]func() outcome{
	"map-executable": func() outcome {
		_, err := mapping(0, page, readWrite|unix.PROT_EXEC, private)
		return done("memory that is written and executed", "mmap", err)
	},
	"map-descriptor": func() outcome {
		_, err := call(unix.SYS_MMAP, 0, page, unix.PROT_READ, unix.MAP_PRIVATE, 0, 0)
		return reached("mmap of a descriptor", err)
	},
	"map-zero": func() outcome {
		_, err := mapping(0, page, readWrite, private|unix.MAP_FIXED)
		return done("memory at address 0", "mmap", err)
	},
	"map-locked": func() outcome {
		_, err := mapping(0, 1<<20, readWrite, private|unix.MAP_LOCKED)
		return done("1 MiB that the system cannot reclaim", "mmap", err)
	},
	"protect-executable": func() outcome {
		return withPage(func(at uintptr) (string, error) {
			_, err := call(unix.SYS_MPROTECT, at, page, unix.PROT_READ|unix.PROT_EXEC)
			return "mprotect", err
		}, "what it wrote can be executed")
	},
	"protect-text": func() outcome {
		at := textAddress() &^ (page - 1)
		_, err := call(unix.SYS_MPROTECT, at, page, readWrite|unix.PROT_EXEC)
		return done("its machine code can be written", "mprotect", err)
	},
	"protect-with-key": func() outcome {
		return withPage(func(at uintptr) (string, error) {
			_, err := call(unix.SYS_PKEY_MPROTECT, at, page, unix.PROT_READ|unix.PROT_EXEC, ^uintptr(0))
			return "pkey_mprotect", err
		}, "what it wrote can be executed")
	},
	"remap": func() outcome {
		return withPage(func(at uintptr) (string, error) {
			_, err := call(unix.SYS_MREMAP, at, page, 2*page, unix.MREMAP_MAYMOVE)
			return "mremap", err
		}, "memory grew by mremap")
	},
	"remap-pages": func() outcome {
		at, err := mapping(0, page, readWrite, shared)
		if err != nil {
			at = wholePage()
		}
		_, err = call(unix.SYS_REMAP_FILE_PAGES, at, page, 0, 0, 0)
		return reached("remap_file_pages", err)
	},
	"personality": func() outcome {
		const readImpliesExecute = 0x0400000
		_, err := call(unix.SYS_PERSONALITY, readImpliesExecute)
		return done("memory that is read can be executed", "personality", err)
	},
	"lock-memory": func() outcome {
		return withPage(func(at uintptr) (string, error) {
			_, err := call(unix.SYS_MLOCK, at, page)
			return "mlock", err
		}, "a page that the system cannot reclaim")
	},
	"lock-all": func() outcome {
		const onFault = 4
		_, err := call(unix.SYS_MLOCKALL, unix.MCL_CURRENT|onFault)
		return done("nothing of it can be reclaimed", "mlockall", err)
	},
	"secret-memory": func() outcome {
		_, err := call(unix.SYS_MEMFD_SECRET, 0)
		return done("memory that the system itself cannot read", "memfd_secret", err)
	},
	"memory-file": func() outcome {
		_, err := call(unix.SYS_MEMFD_CREATE, cstring("attempt"), 0)
		return done("a file in memory", "memfd_create", err)
	},
	"user-faults": func() outcome {
		const userOnly = 1
		_, err := call(unix.SYS_USERFAULTFD, userOnly)
		return done("handles page faults", "userfaultfd", err)
	},
	"memory-policy": func() outcome {
		const preferred = 1
		node := uint64(1)
		_, err := call(unix.SYS_SET_MEMPOLICY, preferred, pointer(&node), 64)
		return done("chose where its memory lies", "set_mempolicy", err)
	},
})

func mapping(at uintptr, size int, protection, flags uintptr) (uintptr, error) {
	r, err := call(unix.SYS_MMAP, at, uintptr(size), protection, flags, ^uintptr(0), 0)
	return uintptr(r), err
}

func withPage(act func(at uintptr) (what string, err error), evidence string) outcome {
	at, err := mapping(0, page, readWrite, private)
	if err != nil {
		return held("mmap", err)
	}
	touch(at)
	what, err := act(at)
	return done(evidence, what, err)
}

// touch writes to a page that is mapped for it, so that it is really there.
func touch(at uintptr) { *(*byte)(memoryAt(at)) = 1 }

// look reads from a page, which costs the tables that lead to it and no more.
func look(at uintptr) { runtime.KeepAlive(*(*byte)(memoryAt(at))) }

// memoryAt makes a pointer of an address that the kernel gave, outside Go's heap.
func memoryAt(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }
