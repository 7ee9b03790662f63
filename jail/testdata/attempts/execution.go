package main

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// imageDescriptor is where a launch keeps the sealed program.
const imageDescriptor = 64

var _ = add(map[string]func() outcome{
	"exec": func() outcome {
		_, err := call(unix.SYS_EXECVE, cstring(text("binary")), words("attempts", "executed", "through=execve"), words())
		return held("execve", err)
	},
	"exec-shell": func() outcome {
		_, err := call(unix.SYS_EXECVE, cstring("/bin/sh"), words("sh", "-c", "echo escaped: a shell >&2; exit "+strconv.Itoa(statusEscaped)), words())
		return held("execve", err)
	},
	"exec-set-user": func() outcome {
		_, err := call(unix.SYS_EXECVE, cstring(text("setuid")), words("attempts", "who"), words())
		return held("execve", err)
	},
	"who": func() outcome { // the program that the one before executes
		if uid, effective := unix.Getuid(), unix.Geteuid(); uid == effective {
			return heldBecause("the set-user-ID bit gave nothing")
		}
		return escaped("became another user by a set-user-ID program")
	},
	"execveat": func() outcome {
		_, err := call(unix.SYS_EXECVEAT, here, cstring(text("binary")), words("attempts", "executed", "through=execveat"), words(), 0)
		return held("execveat", err)
	},
	"exec-again":      func() outcome { return execute(imageDescriptor) },
	"exec-descriptor": executeAny,
	"exec-memory":     executeMemory,
})

// execute runs what an open descriptor holds.
func execute(fd int) outcome {
	_, err := call(unix.SYS_EXECVEAT, uintptr(fd), cstring(""), words("attempts", "executed", "through=descriptor "+strconv.Itoa(fd)), words(), unix.AT_EMPTY_PATH)
	return held("execveat", err)
}

// executeAny moves each descriptor it has to the place that a launch executes from.
func executeAny() outcome {
	last := heldBecause("no descriptor")
	for fd := channel; fd < 1024; fd++ {
		if !opened(fd) {
			continue
		}
		if _, err := call(unix.SYS_DUP3, uintptr(fd), imageDescriptor, 0); err != nil {
			// The other way to copy one, which a runtime may need.
			if _, err = call(unix.SYS_FCNTL, uintptr(fd), unix.F_DUPFD_CLOEXEC, imageDescriptor); err != nil {
				last = held("dup3 and fcntl", err)
				continue
			}
		}
		last = execute(imageDescriptor)
	}
	return last
}

// executeMemory puts a copy of this program into a memory file and runs it.
func executeMemory() outcome {
	fd, err := call(unix.SYS_MEMFD_CREATE, cstring("attempt"), 0)
	if err != nil {
		return held("memfd_create", err)
	}
	if _, err := write(fd, smallProgram()); err != nil {
		return held("write", err)
	}
	return execute(fd)
}
