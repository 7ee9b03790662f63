//go:build amd64 || arm64

package jail

import "golang.org/x/sys/unix"

// toolchainPolicy is for the Go command and what it starts, static or dynamic,
// for the programs of a test and for those of a command. It is wide: files and processes are bounded by
// other walls. It closes what those leave open (sockets, namespaces, other
// processes, what would outlive the run) and the parts of the kernel that an
// ordinary program has no use for. A call it does not know fails as on a
// kernel that does not have it, which is what programs are prepared for.
func toolchainPolicy(profile Profile, goarch string, c filterParams) policy {
	refuse := answer(c.refuse)
	if profile == Proc {
		// Its programs are not the extension's and try what they can do without.
		refuse = fails(unix.EPERM)
	}
	p := policy{goarch: goarch, otherwise: fails(unix.ENOSYS)}
	p.files()
	p.processes()
	p.signals(c)
	p.control(refuse)
	p.sockets(profile)
	p.privileged(refuse)
	p.identities(profile, refuse)
	if profile == Proc {
		p.general()
	}
	if goarch == "amd64" {
		p.oldCalls(refuse)
	}
	return p
}

func (p *policy) files() {
	p.add(allow, "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2",
		"close", "close_range", "lseek", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "faccessat", "faccessat2",
		"readlinkat", "getdents64", "getcwd", "chdir", "fchdir", "umask", "flock", "dup", "dup3", "pipe2",
		"mkdirat", "unlinkat", "renameat", "renameat2", "linkat", "symlinkat", "utimensat",
		"truncate", "ftruncate", "fallocate", "fsync", "fdatasync", "sync_file_range", "fadvise64", "readahead",
		"copy_file_range", "sendfile")
	p.add(allow, "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "eventfd2", "signalfd4", "ppoll", "pselect6",
		"inotify_init1", "inotify_add_watch", "inotify_rm_watch")
	// A file that runs as its owner would outlive the run.
	p.rule("openat", fails(unix.EPERM), opens(2, 3)...)
	p.rule("mknodat", fails(unix.EPERM), makes(2))
	p.rule("fchmod", fails(unix.EPERM), plainMode(1))
	p.rule("fchmodat", fails(unix.EPERM), plainMode(2))
	p.rule("fchmodat2", fails(unix.EPERM), plainMode(2))
	p.add(fails(unix.EPERM), "fchown", "fchownat")
}

// runsAsOwner are the mode bits of a program that runs as its owner or group.
const runsAsOwner = unix.S_ISUID | unix.S_ISGID

// makesFile are the flags with which an open looks at its mode: O_CREAT, and what
// sets O_TMPFILE apart from O_DIRECTORY.
const makesFile = unix.O_CREAT | 0x400000

func plainMode(argument int) when { return on(allow, without(argument, runsAsOwner)) }

func opens(flags, mode int) []when {
	return []when{on(allow, without(flags, makesFile)), plainMode(mode)}
}

// makes is for nodes that are no devices.
func makes(mode int) when {
	return on(allow, bits(mode, unix.S_IFMT, 0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK), without(mode, runsAsOwner))
}

// newWorld are the flags of clone that make a namespace, or a child that is not
// the caller's own.
const newWorld = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_PARENT | unix.CLONE_PTRACE

// The operations of futex but those on locks that lend priority, with or without
// the flags for memory of one process and for the wall clock.
var futexOperations = []uint64{0, 1, 3, 4, 5, 9, 10} // WAIT WAKE REQUEUE CMP_REQUEUE WAKE_OP WAIT_BITSET WAKE_BITSET

const futexFlags = 128 | 256

func (p *policy) processes() {
	p.add(allow, "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "pidfd_open",
		"set_tid_address", "set_robust_list", "rseq", "restart_syscall", "membarrier",
		"getpid", "getppid", "gettid", "getpgid", "getsid", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid",
		"getgroups", "capget", "uname", "sysinfo", "getcpu", "getrandom", "times", "getrusage", "getpriority",
		"sched_yield", "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_get_priority_max", "sched_get_priority_min")
	p.add(allow, "mmap", "munmap", "mprotect", "mremap", "madvise", "mincore", "msync", "brk")
	p.add(allow, "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "getitimer", "setitimer",
		"timer_create", "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete",
		"timerfd_create", "timerfd_settime", "timerfd_gettime")
	p.add(allow, "getrlimit", "setrlimit")
	p.add(fails(unix.EPERM), "setpriority", "sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity", "ioprio_set")
	p.add(fails(unix.EPERM), "unshare", "setns")
	p.rule("clone", fails(unix.EPERM), on(allow, without(0, newWorld))) // clone3 is unknown: its flags are out of sight
	p.rule("prlimit64", fails(unix.EPERM), on(allow, is(0, 0)))
	p.rule("futex", fails(unix.ENOSYS), on(allow, bits(1, ^uint64(futexFlags), futexOperations...)))
}

// signals: in a process namespace there is nobody else to send one to, and no
// group or session to leave that would not end with it.
func (p *policy) signals(c filterParams) {
	p.add(allow, "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "rt_sigsuspend", "sigaltstack")
	others := []string{"kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "setpgid", "setsid"}
	if c.tgid > 0 {
		p.add(allow, others...)
		p.add(allow, "tgkill")
		return
	}
	p.add(fails(unix.EPERM), others...)
	p.rule("tgkill", fails(unix.EPERM), on(allow, is(2, uint64(unix.SIGURG)))) // see satelliteSignals
}

// Commands that neither reach another process nor what is behind a terminal.
var (
	fcntlCommands = []uint64{unix.F_DUPFD, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW,
		unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_DUPFD_CLOEXEC, unix.F_GETPIPE_SZ, unix.F_SETPIPE_SZ}
	ioctlCommands = []uint64{unix.TCGETS, unix.TIOCGWINSZ, unix.TIOCINQ, fionBIO, fioCLEX, fioNCLEX}
	prctlCommands = []uint64{unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_GET_DUMPABLE, unix.PR_GET_PDEATHSIG, unix.PR_SET_NO_NEW_PRIVS,
		unix.PR_GET_NO_NEW_PRIVS, unix.PR_GET_SECCOMP, unix.PR_CAPBSET_READ, unix.PR_GET_TIMERSLACK, unix.PR_SET_TIMERSLACK,
		unix.PR_GET_THP_DISABLE, unix.PR_SET_THP_DISABLE}
)

const (
	fioNCLEX = 0x5450
	fioCLEX  = 0x5451
	fionBIO  = 0x5421

	queryPersonality = 0xffffffff
)

func (p *policy) control(refuse answer) {
	p.rule("fcntl", fails(unix.EINVAL), on(allow, is(1, fcntlCommands...)))
	// Typing into the terminal, or asking the console, is an attack; the kernel
	// looks at the low half of the command alone.
	p.rule("ioctl", fails(unix.ENOTTY), on(allow, is(1, ioctlCommands...)), on(refuse, lowIs(1, unix.TIOCSTI, unix.TIOCLINUX)))
	p.rule("prctl", fails(unix.EINVAL), on(allow, is(0, prctlCommands...)), on(refuse, lowIs(0, unix.PR_SET_SECCOMP)))
	p.rule("personality", refuse, on(allow, lowIs(0, queryPersonality)))
}

var generalCalls = []string{"getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr", "sched_getattr"}

// general is what the programs of a system call beside: they copy and list files with their attributes.
func (p *policy) general() {
	p.add(allow, generalCalls...)
}

// sockets: none of any family, but for a test and a command the connected pair. A pair of another
// type than a stream can be connected anew, to somebody else.
func (p *policy) sockets(profile Profile) {
	p.add(fails(unix.EAFNOSUPPORT), "socket")
	if profile != Test && profile != Proc {
		p.add(fails(unix.EAFNOSUPPORT), "socketpair")
		return
	}
	p.rule("socketpair", fails(unix.EAFNOSUPPORT),
		on(allow, is(0, unix.AF_UNIX), bits(1, ^uint64(unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK), unix.SOCK_STREAM)))
	p.add(allow, "sendto", "recvfrom", "sendmsg", "recvmsg", "shutdown", "getsockname", "getpeername", "getsockopt")
	p.add(fails(unix.EPERM), "bind", "connect", "listen", "accept", "accept4", "setsockopt")
}

// privileged are the calls whose use says what somebody is up to.
func (p *policy) privileged(refuse answer) {
	p.add(refuse, "mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount",
		"fspick", "mount_setattr", "swapon", "swapoff", "quotactl", "quotactl_fd", "acct",
		"open_by_handle_at", "fanotify_init", "fanotify_mark")
	p.add(refuse, "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_getfd", "kcmp")
	p.add(refuse, "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "seccomp",
		"add_key", "request_key", "keyctl")
	p.add(refuse, "reboot", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
		"sethostname", "setdomainname", "settimeofday", "clock_settime", "vhangup")
	p.add(refuse, "setfsuid", "setfsgid", "setgroups", "capset")
	p.add(fails(unix.EPERM), "adjtimex", "clock_adjtime", "syslog")
}

// sameUser and noChange are what a program gives that stays who it is: the number that stands for a user without one, and -1.
const (
	sameUser = 65534
	noChange = 1<<32 - 1
)

// identities: nobody becomes another. What starts programs for others says who they are to be even where that is who they are,
// and to a command it is told that they are.
func (p *policy) identities(profile Profile, refuse answer) {
	for i, calls := range [][]string{{"setuid", "setgid"}, {"setreuid", "setregid"}, {"setresuid", "setresgid"}} {
		if profile != Proc {
			p.add(refuse, calls...)
			continue
		}
		same := []condition{lowIs(0, sameUser)}
		if i > 0 {
			same[0] = lowIs(0, sameUser, noChange)
		}
		for n := 1; n <= i; n++ {
			same = append(same, lowIs(n, sameUser, noChange))
		}
		for _, call := range calls {
			p.rule(call, refuse, on(fails(0), same...))
		}
	}
}

// oldCalls are those that amd64 has beside the ones that replaced them.
func (p *policy) oldCalls(refuse answer) {
	p.add(allow, "stat", "lstat", "access", "readlink", "getdents", "mkdir", "rmdir", "unlink", "rename", "link", "symlink",
		"dup2", "pipe", "utime", "utimes", "futimesat", "poll", "select", "epoll_create", "epoll_wait", "eventfd", "signalfd", "inotify_init",
		"fork", "vfork", "getpgrp", "time", "alarm", "pause")
	p.rule("open", fails(unix.EPERM), opens(1, 2)...)
	p.rule("creat", fails(unix.EPERM), plainMode(1))
	p.rule("mknod", fails(unix.EPERM), makes(1))
	p.rule("chmod", fails(unix.EPERM), plainMode(1))
	p.add(fails(unix.EPERM), "chown", "lchown")
	p.rule("arch_prctl", fails(unix.EINVAL), on(allow, is(0, archSetFS, archGetFS)))
	p.add(refuse, "iopl", "ioperm", "modify_ldt", "uselib")
}
