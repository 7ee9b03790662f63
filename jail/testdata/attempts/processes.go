package main

import (
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// harmless is a signal that every program ignores unless it says otherwise.
const harmless = unix.SIGURG

var _ = add(map[string]func() outcome{
	"ptrace": func() outcome {
		const seize = 0x4206
		_, err := call(unix.SYS_PTRACE, seize, uintptr(number("target")), 0, 0)
		return done("traces a process of the host", "ptrace", err)
	},
	"ptrace-me": func() outcome {
		_, err := call(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0)
		return done("is traced by its parent", "ptrace", err)
	},
	"read-memory":  func() outcome { return otherMemory(unix.SYS_PROCESS_VM_READV, "read") },
	"write-memory": func() outcome { return otherMemory(unix.SYS_PROCESS_VM_WRITEV, "wrote") },
	"pidfd": func() outcome {
		_, err := call(unix.SYS_PIDFD_OPEN, uintptr(number("target")), 0)
		return done("holds a process of the host", "pidfd_open", err)
	},
	"pidfd-descriptor": func() outcome {
		return withProcess(unix.SYS_PIDFD_GETFD, "took descriptor 0 of a process of the host", "pidfd_getfd", 0, 0)
	},
	"pidfd-signal": func() outcome {
		return withProcess(unix.SYS_PIDFD_SEND_SIGNAL, "signaled a process of the host", "pidfd_send_signal", uintptr(harmless), 0, 0)
	},
	"kill": func() outcome {
		_, err := call(unix.SYS_KILL, uintptr(number("target")), uintptr(harmless))
		return done("signaled a process of the host", "kill", err)
	},
	"kill-all": func() outcome {
		_, err := call(unix.SYS_KILL, ^uintptr(0), 0)
		return done("may signal processes other than itself", "kill", err)
	},
	"tkill": func() outcome {
		_, err := call(unix.SYS_TKILL, uintptr(number("target")), uintptr(harmless))
		return done("signaled a thread of the host", "tkill", err)
	},
	"tgkill": func() outcome {
		pid := uintptr(number("target"))
		_, err := call(unix.SYS_TGKILL, pid, pid, uintptr(harmless))
		return done("signaled a thread of the host", "tgkill", err)
	},
	"queue-signal": func() outcome {
		_, err := call(unix.SYS_RT_SIGQUEUEINFO, uintptr(number("target")), uintptr(harmless), queued())
		return done("queued a signal for a process of the host", "rt_sigqueueinfo", err)
	},
	"queue-thread-signal": func() outcome {
		pid := uintptr(number("target"))
		_, err := call(unix.SYS_RT_TGSIGQUEUEINFO, pid, pid, uintptr(harmless), queued())
		return done("queued a signal for a thread of the host", "rt_tgsigqueueinfo", err)
	},
	"priority-of-host": func() outcome {
		_, err := call(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, uintptr(number("target")), 1)
		return done("slowed a process of the host down", "setpriority", err)
	},
	"pin-host": func() outcome {
		set := everyProcessor()
		_, err := call(unix.SYS_SCHED_SETAFFINITY, uintptr(number("target")), unsafe.Sizeof(*set), pointer(set))
		return done("chose the processors of a process of the host", "sched_setaffinity", err)
	},
	"limit-of-host": func() outcome {
		var old unix.Rlimit
		_, err := call(unix.SYS_PRLIMIT64, uintptr(number("target")), unix.RLIMIT_NOFILE, 0, pointer(&old))
		return done("read a limit of a process of the host", "prlimit64", err)
	},
	"processors-of-host": func() outcome {
		var set unix.CPUSet
		_, err := call(unix.SYS_SCHED_GETAFFINITY, uintptr(number("target")), unsafe.Sizeof(set), pointer(&set))
		return done("a process of the host has number "+given["target"], "sched_getaffinity", err)
	},
	"clock-of-host": func() outcome {
		var spent unix.Timespec
		clock := ^uintptr(number("target"))<<3 | 2 // the processor time of that process
		_, err := call(unix.SYS_CLOCK_GETTIME, clock, pointer(&spent))
		return done("a process of the host has used "+strconv.FormatInt(spent.Nano(), 10)+" ns", "clock_gettime", err)
	},
	"wait-on-clock-of-host": func() outcome {
		now := unix.Timespec{Nsec: 1}
		clock := ^uintptr(number("target"))<<3 | 2
		_, err := call(unix.SYS_CLOCK_NANOSLEEP, clock, unix.TIMER_ABSTIME, pointer(&now))
		return done("waited for a process of the host to work", "clock_nanosleep", err)
	},
	"robust-list-of-host": func() outcome {
		var head, size uintptr
		_, err := call(unix.SYS_GET_ROBUST_LIST, uintptr(number("target")), pointer(&head), pointer(&size))
		return done("knows an address in a process of the host", "get_robust_list", err)
	},
	"compare-host": func() outcome {
		const files = 2 // KCMP_FILES
		_, err := call(unix.SYS_KCMP, uintptr(number("target")), uintptr(os.Getpid()), files, 0, 0)
		return done("compared itself to a process of the host", "kcmp", err)
	},
	"advise-host": func() outcome {
		part := unix.Iovec{Base: (*byte)(memoryAt(wholePage())), Len: page}
		return withProcess(unix.SYS_PROCESS_MADVISE, "advised on the memory of a process of the host", "process_madvise", pointer(&part), 1, unix.MADV_COLD, 0)
	},
	"migrate-host": func() outcome {
		from, to := uint64(1), uint64(1)
		_, err := call(unix.SYS_MIGRATE_PAGES, uintptr(number("target")), 64, pointer(&from), pointer(&to))
		return done("may move the memory of a process of the host", "migrate_pages", err)
	},
	"fork": func() outcome {
		_, err := fork(0, nothing)
		return done("had a child", "clone", err)
	},
	"vfork": func() outcome {
		pid := vfork()
		if pid < 0 {
			return held("vfork", unix.Errno(-pid))
		}
		_, err := collect(pid)
		return done("had a child", "wait4", err)
	},
	"clone3":           clone3,
	"clone-namespaces": func() outcome { return newNamespace(unix.CLONE_NEWUSER) },
	"unshare":          unshare,
	"thread-unusual":   unusualThread,
	"subreaper": func() outcome {
		_, err := call(unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1)
		return done("adopts orphans", "prctl", err)
	},
})

// scratch is at the same address in every process of this program.
var scratch [8192]byte

// wholePage is the address of a page that lies in scratch.
func wholePage() uintptr { return (uintptr(unsafe.Pointer(&scratch)) + page - 1) &^ (page - 1) }

// beTarget ignores what it is sent, until the outside ends it.
func beTarget() {
	ignore(harmless)
	for {
		_, _ = call(unix.SYS_PPOLL, 0, 0, 0, 0)
	}
}

// ignore asks the kernel rather than os/signal, which starts more threads.
func ignore(signal unix.Signal) {
	action := struct{ handler, flags, restorer, mask uintptr }{handler: 1}
	_, _ = call(unix.SYS_RT_SIGACTION, uintptr(signal), pointer(&action), 0, 8)
}

func everyProcessor() *unix.CPUSet {
	var set unix.CPUSet
	_, _ = call(unix.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set), pointer(&set))
	return &set
}

// queued is a siginfo_t whose code says that a program sent it.
func queued() uintptr {
	info := &[32]int32{int32(harmless), 0, -1}
	return pointer(info)
}

func otherMemory(trap uintptr, did string) outcome {
	mine := unix.Iovec{Base: &scratch[4096], Len: 8}
	theirs := unix.RemoteIovec{Base: uintptr(unsafe.Pointer(&scratch[0])), Len: 8}
	n, err := call(trap, uintptr(number("target")), pointer(&mine), 1, pointer(&theirs), 1, 0)
	return done(did+" "+strconv.Itoa(n)+" bytes of a process of the host", "process_vm_"+did, err)
}

// withProcess makes a call that takes a process descriptor: bare first, so that
// whoever refuses the call itself is seen, then with one.
func withProcess(trap uintptr, evidence, what string, args ...uintptr) outcome {
	_, _ = call(trap, append([]uintptr{channel}, args...)...)
	fd, err := call(unix.SYS_PIDFD_OPEN, uintptr(number("target")), 0)
	if err != nil {
		return held("pidfd_open", err)
	}
	_, err = call(trap, append([]uintptr{uintptr(fd)}, args...)...)
	return done(evidence, what, err)
}

// clone3 asks with arguments that the kernel, had it looked, calls invalid.
func clone3() outcome {
	args := &[11]uint64{}
	args[4] = 1 << 40 // no such signal
	_, err := call(unix.SYS_CLONE3, pointer(args), 88)
	return reached("clone3", err)
}

// newNamespace has a child in a namespace of its own, where it is root.
func newNamespace(flags uintptr) outcome {
	_, err := fork(flags, nothing)
	return done("had a child in a namespace of its own", "clone", err)
}

// unshare asks for something small first and then, in a child, because a program
// of many threads may not, for a user namespace.
func unshare() outcome {
	if _, err := call(unix.SYS_UNSHARE, unix.CLONE_FILES); err != nil {
		return held("unshare", err)
	}
	status, err := fork(0, func() uintptr {
		_, _, errno := unix.RawSyscall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0)
		return uintptr(errno)
	})
	if err != nil {
		return held("clone", err)
	}
	if status != 0 {
		return held("unshare", unix.Errno(status))
	}
	return escaped("made a user namespace")
}

// threadFlags are what the Go runtime starts a thread with.
const threadFlags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD

// startThread starts a thread that only sleeps and touches no stack.
func startThread(flags uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	every, old := ^uint64(0), uint64(0)
	_, _ = call(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, pointer(&every), pointer(&old), 8)
	r := sleeper(flags, &longSleep)
	_, _ = call(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, pointer(&old), 0, 8)
	if r < 0 {
		return unix.Errno(-r)
	}
	return nil
}

// unusualThread starts a thread with descriptors of its own.
func unusualThread() outcome {
	err := startThread(threadFlags &^ (unix.CLONE_FILES | unix.CLONE_FS))
	return done("a thread that shares no descriptors", "clone", err)
}
