package main

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// terminal is the descriptor of a terminal, where the outside gives one.
const terminal = 4

var _ = add(map[string]func() outcome{
	"inherited-descriptors": inheritedDescriptors,
	"environment":           environment,
	"arguments":             arguments,
	"owner-of-channel": func() outcome {
		_, err := call(unix.SYS_FCNTL, channel, unix.F_SETOWN, uintptr(number("target")))
		return done("has the kernel signal a process of the host", "fcntl", err)
	},
	"pipe-size":     growPipe,
	"write-image":   writeImage,
	"standard-mode": standardMode,
	"terminal-input": func() outcome {
		_, _ = call(unix.SYS_IOCTL, terminal, unix.TIOCSCTTY, 0)
		key := byte('x')
		_, err := call(unix.SYS_IOCTL, terminal, unix.TIOCSTI, pointer(&key))
		return done("typed into a terminal", "ioctl", err)
	},
	"console-selection": func() outcome {
		const shiftState = 6
		ask := byte(shiftState)
		_, err := call(unix.SYS_IOCTL, terminal, unix.TIOCLINUX, pointer(&ask))
		return done("commands the console", "ioctl", err)
	},
	"device-control": func() outcome {
		var waiting int32
		_, err := call(unix.SYS_IOCTL, 2, unix.TIOCINQ, pointer(&waiting))
		return done("asked what a descriptor holds", "ioctl", err)
	},
})

// inheritedDescriptors finds what the outside did not mean to give.
func inheritedDescriptors() outcome {
	var found []string
	for fd := channel + 1; fd < 1024; fd++ {
		if opened(fd) {
			found = append(found, strconv.Itoa(fd))
		}
	}
	if len(found) == 0 {
		return heldBecause("EBADF for every descriptor above the channel")
	}
	return escaped("inherited descriptors %s", strings.Join(found, " "))
}

// environment finds a variable of the host.
func environment() outcome {
	if names := os.Environ(); len(names) > 0 {
		return escaped("%d variables of the host, the first of them %.40q", len(names), names[0])
	}
	return heldBecause("no variable is set")
}

// arguments finds one more than the outside counted.
func arguments() outcome {
	if extra := len(os.Args) - number("arguments"); extra != 0 {
		return escaped("%d arguments it was not given", extra)
	}
	return heldBecause("every argument was given")
}

func growPipe() outcome {
	const size = 1 << 20
	got, err := call(unix.SYS_FCNTL, 2, unix.F_SETPIPE_SZ, size)
	return done("a pipe of the host holds "+strconv.Itoa(got)+" bytes more", "fcntl", err)
}

// writeImage writes into the program that a launch executes.
func writeImage() outcome {
	last := error(unix.EBADF)
	for fd := channel + 1; fd < 1024; fd++ {
		if !opened(fd) {
			continue
		}
		_, err := call(unix.SYS_PWRITE64, uintptr(fd), address([]byte{0x7f}), 1, 0)
		if err == nil {
			return escaped("wrote to descriptor %d, which the host executes", fd)
		}
		last = err
	}
	if _, err := call(unix.SYS_FTRUNCATE, imageDescriptor, 0); err != nil {
		return held("pwrite64 and ftruncate", last)
	}
	return escaped("emptied what the host executes")
}

// standardMode changes the mode of the file behind descriptor 0 to what it is.
func standardMode() outcome {
	var st unix.Stat_t
	if _, err := call(unix.SYS_FSTAT, 0, pointer(&st)); err != nil {
		return held("fstat", err)
	}
	_, err := call(unix.SYS_FCHMOD, 0, uintptr(st.Mode&0o7777))
	return done("may change the host's null device", "fchmod", err)
}
