//go:build amd64 || arm64

package jail

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// step is one wall of a launch. It adds to the program what the child does for
// it, in the order of the list, and may prepare something in the host. Where the
// wall cannot stand it says why, and the launch is refused or goes on without it,
// as the operator chose; an error always refuses.
type step struct {
	name string
	add  func(*launch, *program) (missing *Error, err error)
}

// steps is the launch in order, and the order of the report.
var steps = []step{
	{layerSealed, sealedExecutable},
	{layerCgroup, walled(controlGroup)},
	{layerNamespaces, walled(joinNamespaces)},
	{layerUser, walled(dropUser)},
	{layerRoot, walled(rootFilesystem)},
	{layerTree, ownTree},
	{layerGroup, ownGroup},
	{layerDescriptors, onlyNamedDescriptors},
	{layerOutput, nothingToDo}, // the pipe is part of every launch
	{BoundCPU, bound(unix.RLIMIT_CPU, cpuSeconds)},
	{BoundMemory, bound(unix.RLIMIT_DATA, func(l Limits) int64 { return l.DataBytes })},
	{layerAddress, bound(unix.RLIMIT_AS, func(l Limits) int64 { return l.AddressBytes })},
	{BoundFileSize, bound(unix.RLIMIT_FSIZE, func(l Limits) int64 { return l.FileBytes })},
	{layerProcesses, boundProcesses},
	{layerDescriptorLimit, bound(unix.RLIMIT_NOFILE, func(l Limits) int64 { return int64(l.Descriptors) })},
	{layerCore, bound(unix.RLIMIT_CORE, none)},
	{layerLocked, bound(unix.RLIMIT_MEMLOCK, none)},
	{layerQueues, bound(unix.RLIMIT_MSGQUEUE, none)},
	{layerCapabilities, walled(dropCapabilities)},
	{layerPrivileges, noNewPrivileges},
	{layerDeath, dieWithHost},
	{layerLandlock, walled(restrictFiles)},
	{layerEnvironment, clearHeritage}, // exec gets the Spec's variables and no other
	{layerFilter, walled(filterCalls)},
}

// Where the program's descriptors and those of the launch itself stand. The
// latter are above every number the program may use once its descriptor limit is
// set, close at exec, and are the same in every launch, as the filter names one.
const (
	imageAt    = satelliteDescriptors + iota // the sealed program
	rulesetAt                                // the Landlock rules
	listenerAt                               // the way to tell the host of the filter's listener
	shelf                                    // the first number that is free to move descriptors over
)

// walled is a step that a plain program, being the system's own, does without.
func walled(add func(*launch, *program) (*Error, error)) func(*launch, *program) (*Error, error) {
	return func(l *launch, p *program) (*Error, error) {
		if l.spec.Profile == Plain {
			return skip("a program of the system itself"), nil
		}
		return add(l, p)
	}
}

func nothingToDo(*launch, *program) (*Error, error) { return nil, nil }

// sealedExecutable takes the program from memory. A program that is named by a
// path is the system's own.
func sealedExecutable(l *launch, _ *program) (*Error, error) {
	if l.spec.Image == nil {
		return skip("the program is a file of the system"), nil
	}
	return nil, nil
}

// controlGroup makes a group and has the child enter it before anything else.
func controlGroup(l *launch, p *program) (*Error, error) {
	home := groups()
	if home.err != nil {
		return home.err.(*Error), nil
	}
	g, err := home.make(&l.spec)
	if err != nil {
		return err.(*Error), nil
	}
	l.group = g
	p.add(unix.SYS_WRITE, uintptr(g.procs), p.text("0"), 1)
	return nil, nil
}

// joinNamespaces enters the namespaces that this host's launches share. A build
// does not enter the empty root: it copies the host's mounts, opens those it may
// see while it is still who may open them, and makes a root of them later.
func joinNamespaces(l *launch, p *program) (*Error, error) {
	n, err := sharedNamespaces()
	if err != nil && l.spec.Profile == Proc {
		return nil, err
	}
	if err != nil {
		return err.(*Error), nil
	}
	l.ns = n
	if l.spec.Profile == Proc {
		return nil, l.joinForCommand(p)
	}
	n.join(p)
	switch {
	case l.without(layerRoot):
		return nil, nil
	case l.spec.Profile == Satellite:
		p.add(unix.SYS_SETNS, uintptr(n.mount), unix.CLONE_NEWNS)
		p.add(unix.SYS_CHDIR, p.text("/"))
		return nil, nil
	}
	p.add(unix.SYS_UNSHARE, unix.CLONE_NEWNS)
	p.add(unix.SYS_MOUNT, 0, p.text("/"), 0, unix.MS_REC|unix.MS_PRIVATE, 0)
	for _, m := range l.mounts() {
		m.open = p.add(unix.SYS_OPEN_TREE, atFDCWD, p.text(m.path), unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.O_CLOEXEC)
		l.trees = append(l.trees, m)
	}
	return nil, nil
}

const atFDCWD = ^uintptr(99) // AT_FDCWD, -100

// dropUser makes the child nobody in particular, where the host is root.
func dropUser(l *launch, p *program) (*Error, error) {
	switch {
	case hostIDs().own:
		if why := hostIDs().why; why != "" {
			return &Error{Place: layerUser, What: why, Fix: "map 65,536 user numbers where the host runs"}, nil
		}
		return nil, nil // the host is an ordinary user, and so is the program
	case l.ns == nil && l.spec.Image == nil:
		return skip("the program's files are the host's own, and without namespaces only root may reach them"), nil
	}
	if l.tenant != nil {
		l.uid = l.tenant.outside
		become(p, uintptr(l.tenant.inside))
		return nil, nil
	}
	outside, inside, ok := hostIDs().take()
	if !ok {
		return nil, &Error{Place: layerUser, What: "all " + strconv.Itoa(idBlock-2) + " users of this host are in use", Fix: "end some satellites"}
	}
	l.uid = outside
	id := uintptr(inside)
	if l.ns == nil {
		id = uintptr(outside)
	}
	become(p, id)
	return nil, nil
}

// become adds the calls that change user and group, the groups of the host left behind.
func become(p *program, id uintptr) {
	p.add(unix.SYS_SETGROUPS, 0, 0)
	p.add(unix.SYS_SETRESGID, id, id, id)
	p.add(unix.SYS_SETRESUID, id, id, id)
}

// ownProcess are the flags of the clone that makes the program's process: a
// child of the host's, like the one that makes it, in the same memory and with the same
// descriptors until it executes, which the other waits for.
const ownProcess = unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_FILES | unix.CLONE_PARENT | unix.CLONE_PARENT_SETTID | uintptr(unix.SIGCHLD)

// ownTree clones once more, into a process namespace: the kernel ends everything
// in it together with its first process. The new process is a child of the host
// like the one that makes it, and goes on with the list; the other waits and
// goes. It gets a user namespace of its own as well, without any user in it, for
// the number of its processes is counted there.
func ownTree(l *launch, p *program) (*Error, error) {
	if l.spec.Profile == Plain {
		return skip("only the process group is killed, and the host's own sudden death ends only its leader"), nil
	}
	if l.spec.Profile == Proc { // it is in the process of its own already
		p.add(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
		return nil, nil
	}
	flags := ownProcess
	if l.ns != nil {
		flags |= unix.CLONE_NEWPID | unix.CLONE_NEWUSER
	}
	l.inner = p.add(unix.SYS_CLONE, flags, 0, p.child())
	if l.ns == nil {
		return skip("there is no process namespace; only the process group is killed"), nil
	}
	return nil, nil
}

// ownGroup puts the program into a process group of its own, out of reach of
// the terminal's signals, and into a session of its own where there is a
// terminal to keep it from. Elsewhere a session protects nothing and is dear:
// where the kernel schedules by session (autogroup), a program in another
// session costs a quarter more for every message exchanged with it.
func ownGroup(l *launch, p *program) (*Error, error) {
	tty, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == unix.ENXIO {
		p.add(unix.SYS_SETPGID, 0, 0)
		return nil, nil
	}
	if err == nil {
		_ = unix.Close(tty)
	}
	p.add(unix.SYS_SETSID) // its leader leads a group as well
	return nil, nil
}

// onlyNamedDescriptors moves the descriptors of the Spec to their places and
// closes everything else the host has.
func onlyNamedDescriptors(l *launch, p *program) (*Error, error) {
	type move struct{ from, to int }
	var moves []move
	for i, fd := range l.files {
		moves = append(moves, move{int(fd), i})
	}
	for at, fd := range map[int]int{imageAt: l.image, rulesetAt: l.ruleset, listenerAt: l.listener} {
		if fd >= 0 {
			moves = append(moves, move{fd, at})
		}
	}
	// First up, where they are in nobody's way, then down.
	base := shelf
	for i := 0; i < len(moves); i++ {
		if from := moves[i].from; from >= base && from < base+len(moves) {
			base, i = from+1, -1
		}
	}
	for i, m := range moves {
		p.add(unix.SYS_DUP3, uintptr(m.from), uintptr(base+i), unix.O_CLOEXEC)
	}
	held := map[int]bool{}
	for i, m := range moves {
		flags := uintptr(0)
		if m.to >= satelliteDescriptors {
			flags = unix.O_CLOEXEC
		}
		p.add(unix.SYS_DUP3, uintptr(base+i), uintptr(m.to), flags)
		held[m.to] = true
	}
	from := len(l.files)
	for at := imageAt; at < shelf; at++ {
		if !held[at] {
			continue
		}
		if at > from {
			p.add(unix.SYS_CLOSE_RANGE, uintptr(from), uintptr(at-1), 0)
		}
		from = at + 1
	}
	p.add(unix.SYS_CLOSE_RANGE, uintptr(from), 1<<31-1, 0)
	return nil, nil
}

// cpuSeconds rounds up: the kernel counts whole seconds.
func cpuSeconds(l Limits) int64 {
	if l.CPU <= 0 {
		return int64(l.CPU) // unset, or Nothing
	}
	return int64((l.CPU + time.Second - 1) / time.Second)
}

func none(Limits) int64 { return Nothing }

// bound sets one limit, soft and hard alike: the Go runtime ignores the signals
// of the soft ones. A hard limit the host has itself is never raised.
func bound(resource int, of func(Limits) int64) func(*launch, *program) (*Error, error) {
	return func(l *launch, p *program) (*Error, error) {
		want := of(l.spec.Limits)
		if want == 0 {
			return skip(notAsked), nil
		}
		value := uint64(max(want, 0))
		var have unix.Rlimit
		if err := unix.Getrlimit(resource, &have); err != nil {
			return nil, &Error{Place: "limits", What: "resource limit " + strconv.Itoa(resource) + " could not be read", Err: err}
		}
		value = min(value, have.Max)
		p.add(unix.SYS_PRLIMIT64, 0, uintptr(resource), keep(p, &unix.Rlimit{Cur: value, Max: value}), 0)
		return nil, nil
	}
}

// boundProcesses holds the program to its number of threads and processes where
// they are counted by themselves: in a user namespace, or under a user of its own.
func boundProcesses(l *launch, p *program) (*Error, error) {
	switch {
	case l.spec.Limits.Processes == 0:
		return skip(notAsked), nil
	case l.uid == 0 && os.Geteuid() == 0:
		return skip("the kernel does not hold user 0 to it"), nil
	case l.ns == nil && l.uid == 0:
		// There the user's other threads count as well: it may have so many more.
		others := threadsOf(os.Getuid())
		l.note = "counts the user's other processes: " + strconv.Itoa(spareProcesses) + " beyond them"
		return bound(unix.RLIMIT_NPROC, func(Limits) int64 { return int64(others + spareProcesses) })(l, p)
	}
	return bound(unix.RLIMIT_NPROC, func(l Limits) int64 { return int64(l.Processes) })(l, p)
}

// dropCapabilities leaves the program no privilege, in its namespaces as outside.
func dropCapabilities(l *launch, p *program) (*Error, error) {
	header := keep(p, &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3})
	p.add(unix.SYS_CAPSET, header, keep(p, &[2]unix.CapUserData{}))
	return nil, nil
}

func noNewPrivileges(_ *launch, p *program) (*Error, error) {
	p.add(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	return nil, nil
}

// dieWithHost has the kernel kill the program when the host's forking thread
// ends. See lookForHost for a host that has died before.
func dieWithHost(_ *launch, p *program) (*Error, error) {
	p.add(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	lookForHost(p)
	return nil, nil
}

// lookForHost ends the child where the host is gone: its end of the output pipe is
// closed then. The pipe is closed by the last of the host's threads to go, and the death
// signal follows the forking one, so there is a moment in which neither tells; hence
// a launch looks twice, the second time when all else is done.
func lookForHost(p *program) {
	p.zero(p.add(unix.SYS_PPOLL, keep(p, &unix.PollFd{Fd: 2}), 1, keep(p, &unix.Timespec{}), 0, 0))
}

// restrictFiles holds the program to the paths of its Spec, or to none.
func restrictFiles(l *launch, p *program) (*Error, error) {
	if err := landlocked().err; err != nil {
		return err.(*Error), nil
	}
	if l.spec.Profile == Proc {
		allowInside(p)
	}
	p.add(unix.SYS_LANDLOCK_RESTRICT_SELF, rulesetAt, 0)
	p.add(unix.SYS_CLOSE, rulesetAt)
	l.note = landlocked().detail()
	return nil, nil
}

// clearHeritage enters the working directory, gives every signal its default
// again and blocks none: exec would keep what the host ignores and blocks.
func clearHeritage(l *launch, p *program) (*Error, error) {
	l.enter = p.add(unix.SYS_CHDIR, p.text(l.spec.Dir))
	p.tolerate(p.add(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_NORMAL, keep(p, new(int32)))) // no real-time class of the host's
	byDefault, nothing := keep(p, &[4]uint64{}), keep(p, &unix.Sigset_t{})                    // a struct sigaction of the kernel's, all zero
	for signal := uintptr(1); signal <= signals; signal++ {
		if signal != uintptr(unix.SIGKILL) && signal != uintptr(unix.SIGSTOP) {
			p.add(unix.SYS_RT_SIGACTION, signal, byDefault, 0, signalBytes)
		}
	}
	p.add(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, nothing, 0, signalBytes)
	lookForHost(p)
	return nil, nil
}

const (
	signals     = 64
	signalBytes = signals / 8
)

// spareProcesses is how far the threads of the host's user may grow, the program's
// and all others, before the program can start no more.
const spareProcesses = 1024

// threadsOf counts the threads of a user's processes.
func threadsOf(uid int) int {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	count := 0
	for _, dir := range processes {
		var st unix.Stat_t
		if unix.Stat(dir, &st) != nil || int(st.Uid) != uid || unix.Stat(dir+"/task", &st) != nil {
			continue
		}
		count += int(st.Nlink) - 2
	}
	return count
}
