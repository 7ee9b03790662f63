//go:build amd64 || arm64

package jail

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Two causes pass by themselves: a program file that a fork elsewhere in the host
// still holds open for writing (ETXTBSY), which the pause gives the time to reach
// its exec, and a listener that this machine turns out not to allow.
const (
	launchAttempts = 6
	launchPause    = 4 * time.Millisecond
)

// launch is one attempt to start a program. It lives on the forking thread.
type launch struct {
	spec    Spec
	options Options
	files   []uintptr // the program's descriptors, from 0 up
	layers  []Layer

	ns                       *namespaces // nil: the program is in the host's own
	group                    *group
	trees                    []*mount
	workspace                *mount // a command's, where the child opens it
	guards                   []guard
	uid                      int          // the user the program was made, 0 if none
	tenant                   *tenant      // whose user that is, where it is a workspace's owner
	tree                     int          // the workspace, opened by the host, -1 if the child does
	procfs                   int          // the call that mounts /proc, or -1
	note                     string       // for the report, of the step at hand
	image, ruleset, listener int          // descriptors for the child, -1 if none
	listens                  bool         // a refused call is to be told
	board                    *switchboard // where the listener then arrives
	inner                    int          // the call that makes the program's own process, or -1
	install                  int          // the call that sets the filter
	enter, exec              int          // the last two: the working directory and the program

	program    *program
	pid, pidfd int
	listenFD   int
}

// mount is one path of a build's root.
type mount struct {
	path       string
	attributes uint64
	file       bool
	open       int // the call that opened it
}

// skip is why a wall does not stand although nothing is the matter.
func skip(why string) *Error { return &Error{What: why} }

func (l *launch) without(layer string) bool { return slices.Contains(l.options.without, layer) }

// run starts the program behind every wall of the list. After an error there is
// no child.
func (l *launch) run() (err error) {
	defer func() {
		if err != nil {
			l.discard()
		}
		if l.program != nil { // nothing works through it any longer
			l.program.done()
			l.program = nil
		}
	}()
	l.layers = make([]Layer, 0, len(steps))
	l.image, l.ruleset, l.listener, l.pidfd, l.listenFD = -1, -1, -1, -1, -1
	l.ns, l.group, l.trees, l.uid, l.inner, l.enter = nil, nil, nil, 0, -1, -1
	l.tenant, l.tree, l.procfs, l.workspace, l.guards = nil, -1, -1, nil, nil
	if l.spec.Image == nil {
		return l.try()
	}
	return l.spec.Image.hold(func(fd int) error {
		l.image = fd
		return l.try()
	})
}

func (l *launch) try() error {
	wideTable()
	l.listens = l.spec.Profile != Plain && l.spec.Profile != Proc && !l.options.Trace && listening().Load() && !l.without(layerFilter)
	if l.spec.Profile == Satellite && l.without(layerSealed) {
		l.listens = false // its exec by a path is refused, and nobody could be told of it yet
	}
	if l.listens {
		b, err := board()
		if err != nil {
			return &Error{Place: layerFilter, What: "no way to be told of a refused call", Err: err}
		}
		l.board, l.listener = b, b.theirs
	}
	if l.spec.Profile != Plain && !l.without(layerLandlock) && landlocked().err == nil {
		fd, isShared, err := landlocked().ruleset(&l.spec)
		if err != nil {
			return err
		}
		if l.ruleset = fd; !isShared {
			defer unix.Close(fd)
		}
	}
	if l.spec.Profile == Proc {
		if err := l.lendWorkspace(); err != nil {
			return err
		}
		if l.tree >= 0 {
			defer unix.Close(l.tree)
		}
	}
	p, err := l.compose()
	if err != nil {
		return err
	}
	l.program = p
	if err := l.give(); err != nil {
		return err
	}
	if err := l.execute(p); err != nil {
		return err
	}
	l.noteProcfs(p)
	return nil
}

// leave gives back the user that the program was made.
func (l *launch) leave() {
	if l.tenant != nil {
		l.tenant.leave()
		return
	}
	hostIDs().give(l.uid)
}

// wideTable sees to it that a copy of this process's descriptor table has room
// for all that a launch moves. The two processes of a launch share their table, and
// to let a shared one grow the kernel waits for all processors: some 10 ms.
var wideTable = sync.OnceFunc(func() {
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return // the launch will say so
	}
	_, _ = unix.FcntlInt(uintptr(null), unix.F_DUPFD_CLOEXEC, tableRoom-1) // stays open: the width follows the highest number
	_ = unix.Close(null)
})

// tableRoom is above the shelf with everything on it, in a host that has some
// descriptors among those numbers itself.
const tableRoom = 256

// lastCalls is more than what follows the exec in a program.
const lastCalls = 8

// compose makes the program of a launch and its report.
func (l *launch) compose() (*program, error) {
	p := newProgram()
	for i, s := range steps {
		p.step = i
		l.note = ""
		layer := Layer{Name: s.name, State: Enforced}
		missing, err := skip(leftOut), error(nil)
		if !l.without(s.name) {
			missing, err = s.add(l, p)
		}
		if err != nil {
			return nil, err
		}
		if missing != nil {
			layer.State, layer.Reason, layer.Remedy = Skipped, missing.What, missing.Fix
			if missing.Err != nil {
				layer.Errno = errnoName(missing.Err)
			}
			if missing.Place == "" {
				missing.Place = s.name
			}
			if demanded(s.name) && l.spec.Profile != Plain && !l.options.BestEffort {
				return nil, missing
			}
		} else {
			layer.Reason = l.note
		}
		l.layers = append(l.layers, layer)
	}
	p.step = len(steps)
	argv, env := p.texts(append([]string{l.spec.Path}, l.spec.Args...)), p.texts(l.spec.Env)
	if l.image >= 0 && !l.without(layerSealed) {
		path := uintptr(emptyPath())
		if path == 0 {
			return nil, &Error{Place: layerFilter, What: "no address for the path of the program is free in the host's memory"}
		}
		l.exec = p.add(unix.SYS_EXECVEAT, imageAt, path, argv, env, unix.AT_EMPTY_PATH)
	} else {
		l.exec = p.add(unix.SYS_EXECVE, p.text(l.spec.Path), argv, env)
	}
	if p.full || len(p.calls)+lastCalls > programRoom {
		return nil, &Error{Place: "program", What: "a launch of more than " + strconv.Itoa(programRoom) + " system calls", Fix: "name fewer paths, or shorter ones"}
	}
	if l.listens && l.install+1 != l.exec {
		// A refused call would wait for an answer from a host that waits for the exec.
		return nil, &Error{Place: layerFilter, What: "something stands between the filter and the program"}
	}
	if l.inner >= 0 {
		p.die()
		p.onValue(l.inner)
		if l.listens {
			l.hand(p)
		}
		p.add(unix.SYS_EXIT_GROUP, 0)
	}
	return p, nil
}

// execute runs the program and gathers what it made.
func (l *launch) execute(p *program) error {
	// A descriptor that another goroutine is about to mark close-on-exec, or a
	// file it writes to be executed, must not be copied here for longer than this.
	syscall.ForkLock.Lock()
	pid, err := p.run(unix.CLONE_VFORK)
	syscall.ForkLock.Unlock()
	if err != nil {
		return &Error{Place: "start", What: "the kernel made no process", Err: err}
	}
	l.pid = pid
	var waited unix.WaitStatus
	if l.inner >= 0 {
		waited = reap(pid) // the one that stayed behind
		if l.pid = int(p.made); l.listens {
			l.listenFD = l.board.take()
		}
	}
	if i := p.failed(); i >= 0 {
		return l.refused(p, i)
	}
	if l.inner >= 0 && waited != 0 {
		return &Error{Place: "start", What: "the process that makes the program's was ended by somebody else", Err: unix.ECHILD}
	}
	if l.listens && l.listenFD < 0 {
		return &Error{Place: layerFilter, What: errNoListener.Error()}
	}
	if l.pidfd, err = unix.PidfdOpen(l.pid, 0); err != nil {
		return &Error{Place: "start", What: "the kernel gave no process descriptor", Fix: "Linux 5.13 or later is needed", Err: err}
	}
	return nil
}

// refused makes an error of the call that ended the child.
func (l *launch) refused(p *program, i int) error {
	errno := p.errno(i)
	name := callName(arch, int(p.calls[i].number))
	switch {
	case i == l.exec, i == l.enter:
		return l.explain(errno)
	case i == l.install && errno == unix.EBUSY && l.listens:
		listening().Store(false)
		return errNoListener
	case p.steps[i] >= len(steps):
		return &Error{Place: "start", What: name + " was refused", Err: errno}
	}
	for _, g := range l.guards {
		if g.first <= i && i <= g.last {
			return &Error{Place: layerRoot, What: quoted(g.path) + " in the workspace cannot be guarded", Err: errno,
				Fix: "see that it is there and no link"}
		}
	}
	for _, m := range l.trees {
		if i == m.open {
			return &Error{Place: layerRoot, What: quoted(m.path) + " cannot be opened for the program", Err: errno,
				Fix: "check the path; where the host is root, it reaches only what every user or root without its privileges may"}
		}
	}
	layer := steps[p.steps[i]].name
	if layer == layerTree {
		layer = layerNamespaces
	}
	return &Error{Place: layer, What: name + " was refused", Fix: remedyFor(layer, errno), Err: errno}
}

// discard kills and reaps what was started, and gives up what was prepared.
func (l *launch) discard() {
	if l.pid > 0 {
		_ = unix.Kill(l.pid, unix.SIGKILL)
		reap(l.pid)
	}
	for _, fd := range []*int{&l.pidfd, &l.listenFD} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
	if l.group != nil {
		l.group.remove()
	}
	l.leave()
}

// explain makes a sentence of what exec said.
func (l *launch) explain(errno unix.Errno) error {
	path := l.spec.Path
	fault := &Error{Place: "start", Err: errno}
	if l.image >= 0 {
		if fault.What = "the program could not be started"; errno == unix.ENOEXEC {
			fault.What, fault.Fix = "the program is not one for this system", "build it for linux/"+runtime.GOARCH
		}
		return fault
	}
	info, statErr := os.Stat(path)
	_, dirErr := os.Stat(l.spec.Dir)
	switch {
	case dirErr != nil:
		fault.What, fault.Fix = "the working directory "+quoted(l.spec.Dir)+" cannot be entered", "check the path"
	case errno == unix.ENOENT && statErr != nil:
		fault.What, fault.Fix = path+" is not there", "check the path"
	case errno == unix.ENOENT:
		fault.What, fault.Fix = path+" needs an interpreter or loader that is not there", "build it as a static program, or let the jail read it"
	case errno == unix.ENOEXEC:
		fault.What, fault.Fix = path+" is not a program for this system", "build it for linux/"+runtime.GOARCH
	case (errno == unix.EACCES || errno == unix.EPERM) && statErr == nil && (info.IsDir() || info.Mode()&0o111 == 0):
		fault.What, fault.Fix = path+" is not an executable file", "check the path and its mode"
	case errno == unix.ETXTBSY:
		fault.What, fault.Fix = path+" is being written", "wait until it is whole"
	default:
		fault.What = path + " could not be started"
	}
	return fault
}

// launchOn runs attempts on the forking thread until one holds.
func launchOn(ctx context.Context, jobs chan<- func(), s Spec, o Options, files []uintptr) (*launch, error) {
	l := &launch{spec: s, options: o, files: files}
	var err error
	for attempt := range launchAttempts {
		if attempt > 0 {
			time.Sleep(launchPause)
		}
		done := make(chan struct{})
		job := func() {
			if err = ctx.Err(); err == nil {
				err = l.run()
			}
			close(done)
		}
		select {
		case jobs <- job:
			<-done
		case <-ctx.Done():
			err = ctx.Err()
		}
		if ctx.Err() != nil && err == ctx.Err() {
			return nil, &Error{Place: s.Path, What: "not started", Err: err}
		}
		if !errors.Is(err, unix.ETXTBSY) && err != errNoListener {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}
