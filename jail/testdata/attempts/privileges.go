package main

import (
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]func() outcome{
	"set-user": func() outcome {
		_, err := call(unix.SYS_SETUID, 0)
		return done("is root", "setuid", err)
	},
	"set-group": func() outcome {
		_, err := call(unix.SYS_SETGID, 0)
		return done("is in root's group", "setgid", err)
	},
	"set-groups": func() outcome {
		group := uint32(0)
		_, err := call(unix.SYS_SETGROUPS, 1, pointer(&group))
		return done("chose its groups", "setgroups", err)
	},
	"capabilities": raiseCapabilities,
	"ambient-capability": func() outcome {
		const raise, netRaw = 2, 13
		if _, err := call(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, raise, netRaw); err == nil {
			return escaped("keeps a capability over exec")
		}
		_, _ = withCapability(netRaw)
		_, err := call(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, raise, netRaw)
		return done("keeps a capability over exec", "prctl", err)
	},
	"secure-bits": func() outcome {
		_, err := call(unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, 0)
		return done("decides what root's number means", "prctl", err)
	},
	"raise-limit": raiseLimit,
	"death-signal": func() outcome {
		if _, err := call(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0); err != nil {
			return held("prctl", err)
		}
		return escaped("does not die with the host")
	},
	"dumpable": func() outcome {
		_, err := call(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1)
		return done("leaves a core and can be traced", "prctl", err)
	},
	"tracer": func() outcome {
		_, err := call(unix.SYS_PRCTL, unix.PR_SET_PTRACER, unix.PR_SET_PTRACER_ANY)
		return reached("prctl", err)
	},
	"new-privileges": func() outcome {
		is, err := call(unix.SYS_PRCTL, unix.PR_GET_NO_NEW_PRIVS)
		if err != nil {
			return held("prctl", err)
		}
		if is == 1 {
			return heldBecause("no new privileges can be had")
		}
		return escaped("a set-user-ID program would give it privileges")
	},
	"filter": func() outcome {
		return anotherFilter(func(program uintptr) (string, error) {
			_, err := call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, program)
			return "seccomp", err
		})
	},
	"filter-by-prctl": func() outcome {
		return anotherFilter(func(program uintptr) (string, error) {
			_, err := call(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, program)
			return "prctl", err
		})
	},
	"listener": func() outcome {
		return anotherFilter(func(program uintptr) (string, error) {
			_, err := call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, program)
			return "seccomp", err
		})
	},
	"ruleset": func() outcome {
		const askVersion = 1
		version, err := call(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, askVersion)
		return done("Landlock "+strconv.Itoa(version)+" answers", "landlock_create_ruleset", err)
	},
	"core": dumpCore,
})

// capabilitySets are the sets of a thread, as capget fills them: two words each.
type capabilitySets [2]struct{ effective, permitted, inheritable uint32 }

func capabilities() (*[2]uint32, *capabilitySets) {
	return &[2]uint32{unix.LINUX_CAPABILITY_VERSION_3, 0}, &capabilitySets{}
}

// raiseCapabilities makes every permitted capability effective, after asking for
// all of them.
func raiseCapabilities() outcome {
	head, sets := capabilities()
	sets[0].permitted, sets[0].effective = ^uint32(0), ^uint32(0)
	if _, err := call(unix.SYS_CAPSET, pointer(head), pointer(sets)); err != nil && err != unix.EPERM {
		return held("capset", err)
	}
	_, sets = capabilities()
	if _, err := call(unix.SYS_CAPGET, pointer(head), pointer(sets)); err != nil {
		return held("capget", err)
	}
	if sets[0].permitted == 0 {
		return held("capset, and no capability is permitted", unix.EPERM)
	}
	sets[0].effective, sets[1].effective = sets[0].permitted, sets[1].permitted
	_, err := call(unix.SYS_CAPSET, pointer(head), pointer(sets))
	return done("has capabilities "+strconv.FormatUint(uint64(sets[0].permitted), 16), "capset", err)
}

// withCapability makes a permitted capability inheritable.
func withCapability(number uint) (int, error) {
	head, sets := capabilities()
	if n, err := call(unix.SYS_CAPGET, pointer(head), pointer(sets)); err != nil {
		return n, err
	}
	sets[number/32].inheritable |= 1 << (number % 32)
	return call(unix.SYS_CAPSET, pointer(head), pointer(sets))
}

// raiseLimit looks for a limit that can be had higher than it is.
func raiseLimit() outcome {
	last := heldBecause("no limit is lower than it can be")
	for resource := range uintptr(16) {
		var limit unix.Rlimit
		if _, err := call(unix.SYS_PRLIMIT64, 0, resource, 0, pointer(&limit)); err != nil {
			return held("prlimit64", err)
		}
		if limit.Cur == unix.RLIM_INFINITY {
			continue
		}
		higher := limit
		if higher.Cur++; higher.Max < higher.Cur {
			higher.Max = higher.Cur
		}
		if _, err := call(unix.SYS_PRLIMIT64, 0, resource, pointer(&higher), 0); err != nil {
			last = held("prlimit64", err)
			continue
		}
		return escaped("raised limit %d from %d", resource, limit.Cur)
	}
	return last
}

// anotherFilter installs a filter that allows everything, on this thread alone.
func anotherFilter(install func(program uintptr) (string, error)) outcome {
	runtime.LockOSThread()
	const allow = 0x7fff0000
	code := &unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: allow}
	program := pointer(&unix.SockFprog{Len: 1, Filter: code})
	what, err := install(program)
	if err == unix.EACCES {
		if _, err := call(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
			return held("prctl", err)
		}
		what, err = install(program)
	}
	return done("a system call filter of its own", what, err)
}

// dumpCore raises the limit of the file that its memory would be dumped into.
func dumpCore() outcome {
	var limit unix.Rlimit
	if _, err := call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, 0, pointer(&limit)); err != nil {
		return held("prlimit64", err)
	}
	limit.Cur = limit.Max
	if limit.Max == 0 {
		limit.Cur, limit.Max = 1<<20, 1<<20
	}
	if _, err := call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, pointer(&limit), 0); err != nil {
		return held("prlimit64", err)
	}
	return escaped("a core of up to %d bytes may be left", limit.Cur)
}
