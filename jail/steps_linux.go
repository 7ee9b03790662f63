package jail

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// step is one wall of a launch. before acts in the host ahead of the clone, on
// the forking thread; stopped acts from outside while the program stands before
// its first instruction. Either may return why the layer does not stand, and an
// error refuses the launch. A step that has neither does not stand, for the
// reason it gives.
type step struct {
	name    string
	before  func(*launch) (skipped string, err error)
	stopped func(*launch) (skipped string, err error)
	reason  string
}

// steps is the launch in order, and the order of the report.
var steps = []step{
	{name: "sealed executable", reason: notBuilt},
	{name: "namespaces", reason: notBuilt},
	{name: "root filesystem", reason: notBuilt},
	{name: "unprivileged user", reason: notBuilt},
	{name: "cgroup", reason: notBuilt},
	{name: "process group", before: ownGroup},
	{name: "descriptors", before: closeOnExec, stopped: onlyNamedDescriptors},
	{name: "output cap", before: nothingToDo}, // the pipe is part of every launch
	{name: BoundCPU, stopped: bound(unix.RLIMIT_CPU, cpuSeconds)},
	{name: BoundMemory, stopped: bound(unix.RLIMIT_DATA, func(l Limits) int64 { return l.DataBytes })},
	{name: "address space limit", stopped: bound(unix.RLIMIT_AS, func(l Limits) int64 { return l.AddressBytes })},
	{name: BoundFileSize, stopped: bound(unix.RLIMIT_FSIZE, func(l Limits) int64 { return l.FileBytes })},
	{name: "process limit", before: processesUnbound},
	{name: "descriptor limit", stopped: bound(unix.RLIMIT_NOFILE, func(l Limits) int64 { return int64(l.Descriptors) })},
	{name: "core limit", stopped: bound(unix.RLIMIT_CORE, none)},
	{name: "locked memory limit", stopped: bound(unix.RLIMIT_MEMLOCK, none)},
	{name: "message queue limit", stopped: bound(unix.RLIMIT_MSGQUEUE, none)},
	{name: "no new privileges", before: noNewPrivileges},
	{name: "death signal", before: dieWithHost, stopped: dieWithTracer},
	{name: "process tree", before: ownTree},
	{name: "landlock", reason: notBuilt},
	{name: "system call filter", reason: notBuilt},
	{name: "environment", before: nothingToDo}, // exec gets the Spec's list and no other
}

func nothingToDo(*launch) (string, error) { return "", nil }

// ownGroup puts the program into a process group of its own, out of reach of
// the terminal's signals, and into a session of its own where there is a
// terminal to keep it from. Elsewhere a session protects nothing and is dear:
// where the kernel schedules by session (autogroup), a program in another
// session costs a quarter more for every message exchanged with it.
func ownGroup(l *launch) (string, error) {
	tty, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == unix.ENXIO {
		l.sys.Setpgid = true
		return "", nil
	}
	if err == nil {
		_ = unix.Close(tty)
	}
	l.sys.Setsid = true // its leader leads a group as well
	return "", nil
}

// ownTree makes a build the first process of a process namespace, so that the
// kernel ends whatever it has started together with it, also when the host dies.
// An ordinary user needs a user namespace for that, in which it is itself. A
// satellite is one process by its nature and does not pay for it.
func ownTree(l *launch) (string, error) {
	if l.spec.Profile != Build {
		return "only the process group is killed, and the host's own sudden death ends only its leader", nil
	}
	if l.noTree != nil {
		return "no process namespace: " + l.noTree.Error() + "; only the process group is killed", nil
	}
	l.sys.Cloneflags |= unix.CLONE_NEWPID
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		l.sys.Cloneflags |= unix.CLONE_NEWUSER
		l.sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		l.sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	return "", nil
}

// closeOnExec closes the door for descriptors the host opened, or was given,
// without close-on-exec. It marks them rather than closing them: they are the
// host's.
func closeOnExec(*launch) (string, error) {
	if err := unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return "", &Error{Place: "descriptors", What: "the host's descriptors could not be marked close-on-exec", Fix: "Linux 5.11 or later is needed", Err: err}
	}
	return "", nil
}

// onlyNamedDescriptors looks at what the stopped program really holds: a
// library in the host may have opened one between the marking and the clone.
// Where /proc cannot tell, or the program runs already and opens its own, the
// marking alone has to do.
func onlyNamedDescriptors(l *launch) (string, error) {
	if !l.tracing {
		return "", nil
	}
	dir := "/proc/" + strconv.Itoa(l.pid) + "/fd"
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return "", nil
	}
	open := int(st.Size) // Linux 6.2 and later: the number of open descriptors
	if open == 0 {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", nil
		}
		open = len(entries)
	}
	if open != len(l.attr.Files) {
		return "", errStrayDescriptor
	}
	return "", nil
}

// cpuSeconds rounds up: the kernel counts whole seconds.
func cpuSeconds(l Limits) int64 {
	if l.CPU <= 0 {
		return int64(l.CPU) // unset, or Nothing
	}
	return int64((l.CPU + time.Second - 1) / time.Second)
}

func none(Limits) int64 { return Nothing }

// bound sets one limit of the stopped program from outside, soft and hard
// alike: the Go runtime ignores the signals of the soft ones. A hard limit the
// host has itself is never raised.
func bound(resource int, of func(Limits) int64) func(*launch) (string, error) {
	return func(l *launch) (string, error) {
		want := of(l.spec.Limits)
		if want == 0 {
			return notAsked, nil
		}
		value := uint64(max(want, 0))
		var have unix.Rlimit
		err := unix.Prlimit(l.pid, resource, &unix.Rlimit{Cur: value, Max: value}, &have)
		if err == unix.EPERM && unix.Prlimit(l.pid, resource, nil, &have) == nil && have.Max < value {
			err = nil // it was refused because it would have raised the limit
		}
		if err == nil && have.Max < value {
			err = unix.Prlimit(l.pid, resource, &unix.Rlimit{Cur: have.Max, Max: have.Max}, nil)
		}
		if err != nil {
			return "", &Error{Place: "limits", What: "resource limit " + strconv.Itoa(resource) + " could not be set", Fix: "allow prlimit64 where the host runs", Err: err}
		}
		return "", nil
	}
}

// processesUnbound says why there is no bound on processes before there is a
// user namespace to count them in.
func processesUnbound(*launch) (string, error) {
	if os.Getuid() == 0 {
		return "the kernel does not hold user 0 to it", nil
	}
	return "without a user namespace it counts the user's other processes", nil
}

// noNewPrivileges marks the forking thread, from which every child inherits it.
func noNewPrivileges(*launch) (string, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "", &Error{Place: "no new privileges", What: "refused", Err: err}
	}
	return "", nil
}

// dieWithHost is in force from before exec, when the host may already die.
func dieWithHost(l *launch) (string, error) {
	l.sys.Pdeathsig = syscall.SIGKILL
	return "", nil
}

// dieWithTracer covers the moment between the stop and the letting go: a tracer
// that dies would otherwise let the program run on without its limits.
func dieWithTracer(l *launch) (string, error) {
	if !l.tracing {
		return "", nil
	}
	if err := unix.PtraceSetOptions(l.pid, unix.PTRACE_O_EXITKILL); err != nil {
		return "", &Error{Place: "death signal", What: "the stopped program could not be tied to the host", Err: err}
	}
	return "", nil
}
