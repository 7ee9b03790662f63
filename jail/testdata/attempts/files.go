package main

import (
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const passwords = "/etc/passwd"

var _ = add(map[string]func() outcome{
	"passwd":                    func() outcome { return readFile(passwords) },
	"passwd-openat2":            openat2,
	"passwd-through-descriptor": throughDescriptor,
	"passwd-stat":               statPasswords,
	"passwd-statx":              statxPasswords,
	"passwd-access":             accessPasswords,
	"directory":                 listRoot,
	"chdir":                     changeDirectory,
	"readlink":                  readOwnLink,
	"proc-environ":              func() outcome { return readFile("/proc/self/environ") },
	"proc-host":                 func() outcome { return readFile("/proc/" + strconv.Itoa(number("target")) + "/status") },
	"proc-first":                func() outcome { return readFile("/proc/1/status") },
	"proc-memory":               writeOwnText,
	"device-null":               func() outcome { return openFirst(unix.O_RDWR, "/dev/null", "/dev/zero") },
	"device-raw": func() outcome {
		return openFirst(unix.O_RDONLY|unix.O_NONBLOCK, "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/kvm", "/dev/tty0")
	},
	"device-made":  makeDevice,
	"file-created": createFile,
	"file-made-unnamed": func() outcome {
		return openFirst(unix.O_RDWR|unix.O_TMPFILE, text("dir"), "/")
	},
	"directory-made": func() outcome {
		_, err := call(unix.SYS_MKDIRAT, here, cstring(inDirectory("made")), 0o700)
		return done("made a directory", "mkdirat", err)
	},
	"symlink": func() outcome {
		_, err := call(unix.SYS_SYMLINKAT, cstring(passwords), here, cstring(inDirectory("symlink")))
		return done("made a symbolic link", "symlinkat", err)
	},
	"hard-link": func() outcome {
		_, err := call(unix.SYS_LINKAT, here, cstring(text("victim")), here, cstring(inDirectory("link")), 0)
		return done("gave the host's file a second name", "linkat", err)
	},
	"rename": func() outcome {
		_, err := call(unix.SYS_RENAMEAT2, here, cstring(text("victim")), here, cstring(inDirectory("renamed")), 0)
		return done("renamed the host's file", "renameat2", err)
	},
	"unlink": func() outcome {
		_, err := call(unix.SYS_UNLINKAT, here, cstring(text("victim")), 0)
		return done("removed the host's file", "unlinkat", err)
	},
	"chmod": func() outcome {
		_, err := call(unix.SYS_FCHMODAT, here, cstring(text("victim")), 0o777)
		return done("changed the mode of the host's file", "fchmodat", err)
	},
	"truncate": func() outcome {
		_, err := call(unix.SYS_TRUNCATE, cstring(text("victim")), 0)
		return done("emptied the host's file", "truncate", err)
	},
	"set-attribute": func() outcome {
		value := []byte("1")
		_, err := call(unix.SYS_SETXATTR, cstring(text("victim")), cstring("user.attempt"), address(value), 1, 0)
		return done("gave the host's file an attribute", "setxattr", err)
	},
	"large-file":     largeFile,
	"handle":         nameToHandle,
	"open-by-handle": openByHandle,
	"watch":          watch,
	"watch-all":      watchAll,
	"write-binary":   writeBinary,
	"chroot": func() outcome {
		_, err := call(unix.SYS_CHROOT, cstring("/"))
		return done("changed the root directory", "chroot", err)
	},
})

// inDirectory is a path in the directory the outside gave.
func inDirectory(name string) string { return text("dir") + "/" + name }

// done is an attempt that one call makes or breaks.
func done(evidence, what string, err error) outcome {
	if err != nil {
		return held(what, err)
	}
	return escaped("%s", evidence)
}

func readFile(path string) outcome {
	fd, err := open(path, unix.O_RDONLY, 0)
	if err != nil {
		return held("openat", err)
	}
	return readBytes(fd, path)
}

func readBytes(fd int, path string) outcome {
	n, err := read(fd, make([]byte, 4096))
	if err != nil {
		return held("read", err)
	}
	return escaped("read %d bytes of %s", n, path)
}

func openFirst(flags int, paths ...string) outcome {
	last := error(unix.ENOENT)
	for _, path := range paths {
		if _, err := open(path, flags, 0o600); err == nil {
			return escaped("opened %s", path)
		} else if last == unix.ENOENT {
			last = err
		}
	}
	return held("openat", last)
}

func openat2() outcome {
	how := unix.OpenHow{Flags: unix.O_RDONLY}
	fd, err := call(unix.SYS_OPENAT2, here, cstring(passwords), pointer(&how), unsafe.Sizeof(how))
	if err != nil {
		return held("openat2", err)
	}
	return readBytes(fd, passwords)
}

// throughDescriptor looks for a directory that the outside left open.
func throughDescriptor() outcome {
	last := error(unix.EBADF)
	for fd := range 1024 {
		if !opened(fd) {
			continue
		}
		for _, path := range []string{"passwd", "etc/passwd"} {
			file, err := call(unix.SYS_OPENAT, uintptr(fd), cstring(path), unix.O_RDONLY, 0)
			if err == nil {
				return readBytes(file, path+" through descriptor "+strconv.Itoa(fd))
			}
			last = err
		}
	}
	return held("openat", last)
}

func statPasswords() outcome {
	var st unix.Stat_t
	_, err := call(unix.SYS_NEWFSTATAT, here, cstring(passwords), pointer(&st), 0)
	return done(passwords+" has "+strconv.FormatInt(st.Size, 10)+" bytes", "newfstatat", err)
}

func statxPasswords() outcome {
	var st unix.Statx_t
	_, err := call(unix.SYS_STATX, here, cstring(passwords), 0, unix.STATX_BASIC_STATS, pointer(&st))
	return done(passwords+" has "+strconv.FormatUint(st.Size, 10)+" bytes", "statx", err)
}

func accessPasswords() outcome {
	_, err := call(unix.SYS_FACCESSAT, here, cstring(passwords), unix.R_OK)
	return done(passwords+" is there", "faccessat", err)
}

// listRoot finds names in the root directory. An empty one holds nothing back.
func listRoot() outcome {
	fd, err := open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return held("openat", err)
	}
	b := make([]byte, 8192)
	n, err := call(unix.SYS_GETDENTS64, uintptr(fd), address(b), uintptr(len(b)))
	if err != nil {
		return held("getdents64", err)
	}
	if names := namesIn(b[:n]); names > 0 {
		return escaped("the root directory has %d names", names)
	}
	return heldBecause("the root directory is empty")
}

// namesIn counts directory entries but for "." and "..".
func namesIn(b []byte) int {
	_, count, _ := unix.ParseDirent(b, -1, nil)
	return count
}

func changeDirectory() outcome {
	_, err := call(unix.SYS_CHDIR, cstring("/etc"))
	return done("stands in /etc", "chdir", err)
}

func readOwnLink() outcome {
	name, err := ownLink()
	return done("its program is "+name, "readlinkat", err)
}

// ownLink is the path of the program that runs.
func ownLink() (string, error) {
	b := make([]byte, 256)
	n, err := call(unix.SYS_READLINKAT, here, cstring("/proc/self/exe"), address(b), uintptr(len(b)))
	return string(b[:max(n, 0)]), err
}

// writeOwnText writes where no mapping is writable: /proc/self/mem goes around
// the protection of a page.
func writeOwnText() outcome {
	fd, err := open("/proc/self/mem", unix.O_RDWR, 0)
	if err != nil {
		return held("openat", err)
	}
	at, same := textAddress(), make([]byte, 1)
	same[0] = *(*byte)(memoryAt(at))
	_, err = call(unix.SYS_PWRITE64, uintptr(fd), address(same), 1, at)
	return done("wrote to its own machine code", "pwrite64", err)
}

func makeDevice() outcome {
	const zero = 1<<8 | 5 // /dev/zero
	path := inDirectory("zero")
	if _, err := call(unix.SYS_MKNODAT, here, cstring(path), unix.S_IFCHR|0o600, zero); err != nil {
		return held("mknodat", err)
	}
	return openFirst(unix.O_RDONLY, path)
}

func createFile() outcome {
	last := error(nil)
	for _, path := range []string{inDirectory("created"), "/created"} {
		fd, err := open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
		if err == nil {
			_, err = call(unix.SYS_UNLINKAT, here, cstring(path), 0)
			return escaped("created %s as descriptor %d, removed: %v", path, fd, err == nil)
		}
		if last == nil {
			last = err
		}
	}
	return held("openat", last)
}

// largeFile makes a file of so many MiB, all of it a hole.
func largeFile() outcome {
	fd, err := open(text("dir"), unix.O_RDWR|unix.O_TMPFILE, 0o600)
	if err != nil {
		return held("openat", err)
	}
	ignore(unix.SIGXFSZ)
	size := int64(number("mib")) << 20
	if _, err = call(unix.SYS_PWRITE64, uintptr(fd), address([]byte{1}), 1, uintptr(size-1)); err != nil {
		return held("pwrite64", err)
	}
	return escaped("a file of %d MiB", size>>20)
}

type fileHandle struct {
	bytes uint32
	kind  int32
	_     [128]byte
}

func handleOfRoot() (*fileHandle, error) {
	h := &fileHandle{bytes: 128}
	var mount int32
	_, err := call(unix.SYS_NAME_TO_HANDLE_AT, here, cstring("/"), pointer(h), pointer(&mount), 0)
	return h, err
}

func nameToHandle() outcome {
	h, err := handleOfRoot()
	return done("a handle of "+strconv.Itoa(int(h.bytes))+" bytes for the root directory", "name_to_handle_at", err)
}

func openByHandle() outcome {
	// The bare call first: a filter that lets the first half pass must hold the second.
	_, err := call(unix.SYS_OPEN_BY_HANDLE_AT, here, pointer(&fileHandle{bytes: 8, kind: 1}), unix.O_RDONLY)
	if err == unix.EPERM {
		return held("open_by_handle_at", err)
	}
	h, err := handleOfRoot()
	if err != nil {
		return held("name_to_handle_at", err)
	}
	fd, err := call(unix.SYS_OPEN_BY_HANDLE_AT, here, pointer(h), unix.O_RDONLY)
	return done("opened the root directory by its handle as descriptor "+strconv.Itoa(fd), "open_by_handle_at", err)
}

func watch() outcome {
	fd, err := call(unix.SYS_INOTIFY_INIT1, 0)
	if err != nil {
		return held("inotify_init1", err)
	}
	_, err = call(unix.SYS_INOTIFY_ADD_WATCH, uintptr(fd), cstring("/etc"), unix.IN_ACCESS)
	return done("watches /etc", "inotify_add_watch", err)
}

func watchAll() outcome {
	_, err := call(unix.SYS_FANOTIFY_INIT, unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, unix.O_RDONLY)
	return done("may watch files with fanotify", "fanotify_init", err)
}

// writeBinary changes the program, in place or by putting another at its path.
func writeBinary() outcome {
	path := text("binary")
	last := error(nil)
	for _, name := range []string{"/proc/self/exe", path} {
		fd, err := open(name, unix.O_WRONLY, 0)
		if err == nil {
			_, err = call(unix.SYS_PWRITE64, uintptr(fd), address([]byte{0x7f}), 1, 0)
		}
		if err == nil {
			return escaped("wrote to %s", name)
		}
		last = err
	}
	if _, err := call(unix.SYS_RENAMEAT2, here, cstring(text("victim")), here, cstring(path), 0); err != nil {
		return held("openat and renameat2", last)
	}
	if name, err := ownLink(); err == nil && !strings.HasPrefix(name, path) {
		return heldBecause("what runs is not what is at the path, but " + name)
	}
	return escaped("put another file where the program was")
}
