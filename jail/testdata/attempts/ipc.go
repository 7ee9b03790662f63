package main

import (
	"strconv"

	"golang.org/x/sys/unix"
)

const ipcPrivate, ipcRemove = 0, 0

var _ = add(map[string]func() outcome{
	"shared-memory": func() outcome {
		id, err := call(unix.SYS_SHMGET, ipcPrivate, mib, 0o600)
		if err == nil {
			_, err = call(unix.SYS_SHMCTL, uintptr(id), ipcRemove, 0)
		}
		return done("shared memory that would outlive it", "shmget", err)
	},
	"shared-memory-of-host": func() outcome {
		const readOnly = 0o10000
		at, err := call(unix.SYS_SHMAT, uintptr(number("segment")), 0, readOnly)
		if err != nil {
			return held("shmat", err)
		}
		return escaped("read %q from shared memory of the host", *(*[4]byte)(memoryAt(uintptr(at))))
	},
	"message-queue": func() outcome {
		id, err := call(unix.SYS_MSGGET, ipcPrivate, 0o600)
		if err == nil {
			_, err = call(unix.SYS_MSGCTL, uintptr(id), ipcRemove, 0)
		}
		return done("a message queue that would outlive it", "msgget", err)
	},
	"semaphores": func() outcome {
		id, err := call(unix.SYS_SEMGET, ipcPrivate, 1, 0o600)
		if err == nil {
			_, err = call(unix.SYS_SEMCTL, uintptr(id), 0, ipcRemove, 0)
		}
		return done("semaphores that would outlive it", "semget", err)
	},
	"posix-queue": func() outcome {
		name := "attempt-" + strconv.Itoa(unix.Getpid())
		size := &[8]int64{0, 4, 64}
		_, err := call(unix.SYS_MQ_OPEN, cstring(name), unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, 0o600, pointer(size))
		if err == nil {
			_, err = call(unix.SYS_MQ_UNLINK, cstring(name))
		}
		return done("a message queue that would outlive it", "mq_open", err)
	},
})
