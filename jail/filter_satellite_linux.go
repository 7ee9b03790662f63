//go:build amd64 || arm64

package jail

import (
	"slices"

	"golang.org/x/sys/unix"
)

// What the Go runtime passes where it makes a thread: CLONE_VM, FS, FILES,
// SIGHAND, THREAD and SYSVSEM, on amd64 with SETTLS.
const (
	cloneThread    = 0x50f00
	cloneThreadTLS = cloneThread | unix.CLONE_SETTLS
)

const (
	readWrite = unix.PROT_READ | unix.PROT_WRITE
	ownMemory = unix.MAP_PRIVATE | unix.MAP_ANON

	futexWaitPrivate = 128
	futexWakePrivate = 129

	realTimeSignals = 32 // and above

	archSetFS = 0x1002 // of arch_prctl
	archGetFS = 0x1003
)

// satellitePolicy is what a static Go program needs that has its one descriptor
// from its host and no files. The list is closed: what the Go runtime itself may try
// beyond it fails in a way that the runtime goes on from, and all else is refused.
func satellitePolicy(goarch string, c filterParams) policy {
	refuse := answer(c.refuse)
	p := policy{goarch: goarch, otherwise: refuse}

	p.add(allow, "read", "pread64", "write", "writev", "close", "fstat", "shutdown",
		"epoll_create1", "epoll_ctl", "epoll_pwait", "eventfd2")
	p.add(allow, "nanosleep", "restart_syscall", "sched_yield", "getrandom")
	p.add(allow, "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack")
	p.add(allow, "getpid", "gettid", "exit", "exit_group", "munmap")

	// The runtime looks for the size of a large page and for the limits of its
	// control group, and does without.
	p.add(fails(unix.ENOENT), "openat")
	p.add(fails(unix.ENOTTY), "ioctl")
	p.add(fails(unix.ENOSYS), "clone3")

	// Numbers above are the processor clocks of processes, anybody's.
	p.rule("clock_nanosleep", refuse, on(allow, below(0, unix.CLOCK_TAI+1)))
	p.rule("clock_gettime", refuse, on(allow, below(0, unix.CLOCK_TAI+1)))
	p.rule("clone", refuse, on(allow, is(0, cloneThread, cloneThreadTLS)))
	p.rule("futex", refuse, on(allow, is(1, futexWaitPrivate, futexWakePrivate)))
	p.rule("sched_getaffinity", refuse, on(allow, is(0, 0)))
	p.rule("fcntl", refuse, on(allow, is(1, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL)))
	if goarch == "amd64" {
		p.rule("arch_prctl", refuse, on(allow, is(0, archSetFS)))
	}
	// The name of a mapping. EINVAL is what a kernel without such names answers,
	// and the runtime asks no more.
	p.rule("prctl", refuse, on(fails(unix.EINVAL), is(0, unix.PR_SET_VMA)))

	p.satelliteMemory(c)
	p.satelliteSignals(c)

	// Its own limits, to read. The runtime would raise a soft limit on
	// descriptors, and goes on where it cannot.
	p.rule("prlimit64", refuse,
		on(allow, is(0, 0), is(2, 0)),
		on(fails(unix.EPERM), is(0, 0), is(1, unix.RLIMIT_NOFILE)))

	// The host's own last call before the program runs. Afterwards the descriptor
	// is closed and the limit on descriptors keeps its number out of reach.
	if c.image > 2 {
		enter := []condition{is(0, uint64(c.image)), is(4, unix.AT_EMPTY_PATH)}
		if c.empty > 0 {
			enter = append(enter, is(1, c.empty))
		}
		p.rule("execveat", refuse, on(allow, enter...))
	}
	return p
}

// satelliteMemory keeps memory private, without a file behind it, never
// executable, and writable from the first to the last, so that the limit on data counts all of it.
// A page that was written and then made unwritable would stay and be counted no
// more, and one that may only be read costs two page tables and was never counted.
func (p *policy) satelliteMemory(c filterParams) {
	refuse := answer(c.refuse)
	private := []condition{is(2, unix.PROT_NONE, readWrite), bits(3, ^uint64(unix.MAP_FIXED|unix.MAP_NORESERVE), ownMemory)}
	cases := []when{on(allow, private...)}
	if c.empty > 0 {
		// What lies at the address of the empty path would begin at or below it.
		// The runtime asks for such an address once in many thousand starts, where
		// it shuffles its heap, and tries another.
		cases = []when{
			on(allow, append(slices.Clone(private), is(0, 0))...),
			on(fails(unix.ENOMEM), append(slices.Clone(private), below(0, c.empty+1))...),
			cases[0],
		}
	}
	// The state of the vDSO's random numbers. Without it they come from getrandom.
	cases = append(cases, on(fails(unix.EINVAL), is(2, readWrite), is(3, unix.MAP_DROPPABLE|unix.MAP_ANON)))
	p.rule("mmap", refuse, cases...)
	p.rule("mprotect", refuse, on(allow, is(2, readWrite)))
	// Advice it is, so a program goes on without. Large pages and shared equal
	// pages are not for a satellite to ask for.
	p.rule("madvise", fails(unix.EINVAL), on(allow, is(2, unix.MADV_DONTNEED, unix.MADV_FREE, unix.MADV_NOHUGEPAGE)))
}

// satelliteSignals lets the runtime interrupt its own threads, and end the process
// by a signal; real-time signals would queue, on the account of the host's user.
// Among the host's processes no filter can tell its own threads from another's, so
// it sends none there: goroutines are then interrupted only where they call
// something, and the runtime exits with a status where it would have died of a signal.
func (p *policy) satelliteSignals(c filterParams) {
	refuse := answer(c.refuse)
	if c.tgid > 0 {
		p.rule("tgkill", refuse, on(allow, is(0, uint64(c.tgid)), below(2, realTimeSignals)))
		return
	}
	p.rule("tgkill", refuse,
		on(fails(unix.EPERM), is(2, uint64(unix.SIGURG), uint64(unix.SIGHUP), uint64(unix.SIGINT), uint64(unix.SIGQUIT),
			uint64(unix.SIGABRT), uint64(unix.SIGPIPE), uint64(unix.SIGTERM))))
}
