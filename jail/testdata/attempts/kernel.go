package main

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]func() outcome{
	"io-uring": func() outcome {
		params := &[30]uint32{}
		_, err := call(unix.SYS_IO_URING_SETUP, 4, pointer(params))
		return done("has a ring that does system calls unseen", "io_uring_setup", err)
	},
	"bpf": func() outcome {
		const createMap, array = 0, 2
		attr := &[32]uint32{array, 4, 4, 1}
		_, err := call(unix.SYS_BPF, createMap, pointer(attr), unsafe.Sizeof(*attr))
		return done("has a map for BPF programs", "bpf", err)
	},
	"performance-events": func() outcome {
		attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
		attr.Size = uint32(unsafe.Sizeof(*attr))
		_, err := call(unix.SYS_PERF_EVENT_OPEN, pointer(attr), 0, ^uintptr(0), ^uintptr(0), 0)
		return done("measures the processor", "perf_event_open", err)
	},
	"add-key": func() outcome {
		const processKeyring = ^uintptr(1) // -2
		_, err := call(unix.SYS_ADD_KEY, cstring("user"), cstring("attempt"), address([]byte("x")), 1, processKeyring)
		return done("keeps a key in the kernel", "add_key", err)
	},
	"request-key": func() outcome {
		_, err := call(unix.SYS_REQUEST_KEY, cstring("user"), cstring("no such key"), 0, 0)
		return reached("request_key", err)
	},
	"keyring": func() outcome {
		const getID, session = 0, ^uintptr(2) // -3
		_, err := call(unix.SYS_KEYCTL, getID, session, 0)
		return reached("keyctl", err)
	},
	"kernel-log": func() outcome {
		const readAll = 3
		b := make([]byte, 4096)
		n, err := call(unix.SYS_SYSLOG, readAll, address(b), uintptr(len(b)))
		return done("read "+strconv.Itoa(n)+" bytes of the kernel's log", "syslog", err)
	},
	"machine": func() outcome {
		var info unix.Sysinfo_t
		_, err := call(unix.SYS_SYSINFO, pointer(&info))
		return done("the machine runs "+strconv.Itoa(int(info.Procs))+" threads", "sysinfo", err)
	},
	"name": func() outcome {
		var name unix.Utsname
		_, err := call(unix.SYS_UNAME, pointer(&name))
		if err == nil && given["hostname"] != unix.ByteSliceToString(name.Nodename[:]) {
			return heldBecause("another host's name")
		}
		return done("knows the host's name", "uname", err)
	},
	"set-name": func() outcome { // to what it is
		same := text("hostname")
		_, err := call(unix.SYS_SETHOSTNAME, cstring(same), uintptr(len(same)))
		return done("may name its host", "sethostname", err)
	},
	"set-clock": func() outcome { // the time zone, which the kernel only keeps
		zone := &[2]int32{}
		_, err := call(unix.SYS_SETTIMEOFDAY, 0, pointer(zone))
		return done("may set the clock", "settimeofday", err)
	},
	"adjust-clock": func() outcome { // to the rate it has
		var state unix.Timex
		if _, err := call(unix.SYS_ADJTIMEX, pointer(&state)); err != nil {
			return held("adjtimex", err)
		}
		state.Modes = unix.ADJ_TICK
		_, err := call(unix.SYS_ADJTIMEX, pointer(&state))
		return done("may change how fast the clock runs", "adjtimex", err)
	},
	"reboot": func() outcome { // with numbers that no reboot has
		_, err := call(unix.SYS_REBOOT, 1, 2, 3)
		return allowed("reboot", err, unix.EINVAL)
	},
	"module": func() outcome { // that holds nothing
		_, err := call(unix.SYS_INIT_MODULE, pointer(&scratch), 0, cstring(""))
		return allowed("init_module", err, unix.ENOEXEC)
	},
	"kernel-image": func() outcome {
		_, err := call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 1<<15)
		return allowed("kexec_load", err, unix.EINVAL)
	},
	"quota": func() outcome { // which only syncs
		const sync = 0x800001 << 8
		_, err := call(unix.SYS_QUOTACTL, sync, 0, 0, 0)
		return reached("quotactl", err)
	},
	"accounting": func() outcome { // into a file that is not there
		_, err := call(unix.SYS_ACCT, cstring("/no such directory/file"))
		return allowed("acct", err, unix.ENOENT)
	},
	"swap": func() outcome { // to a file that is not there
		_, err := call(unix.SYS_SWAPON, cstring("/no such directory/file"), 0)
		return allowed("swapon", err, unix.ENOENT)
	},
	"realtime": func() outcome {
		const fifo = 1
		priority := int32(1)
		_, err := call(unix.SYS_SCHED_SETSCHEDULER, 0, fifo, pointer(&priority))
		if err == nil {
			priority = 0
			_, _ = call(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_NORMAL, pointer(&priority))
		}
		return done("may keep every other program from running", "sched_setscheduler", err)
	},
	"processors": func() outcome {
		set := everyProcessor()
		_, err := call(unix.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(*set), pointer(set))
		return done("chose its processors", "sched_setaffinity", err)
	},
	"priority": func() outcome {
		_, err := call(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, ^uintptr(0))
		return done("runs before others", "setpriority", err)
	},
	"timer": func() outcome {
		id := int32(0)
		_, err := call(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, pointer(&id))
		return done("has a timer in the kernel", "timer_create", err)
	},
})
