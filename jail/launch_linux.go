package jail

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var (
	errStrayDescriptor = errors.New("the host opened a descriptor without close-on-exec while the program was being started")
	errNoTracing       = errors.New("tracing refused")
	errNoNamespace     = errors.New("namespace refused")
)

// Two causes pass by themselves: a stray descriptor of another thread, and a
// program file that a fork elsewhere in the host still holds open for writing
// (ETXTBSY). The pause covers the time such a fork takes to reach its exec.
const (
	launchAttempts = 6
	launchPause    = 4 * time.Millisecond
)

// launch is one attempt to start a program. It lives on the forking thread.
type launch struct {
	spec    Spec
	attr    syscall.ProcAttr
	sys     syscall.SysProcAttr
	tracing bool
	noTree  error // why there is no process namespace, once one was refused
	pid     int
	pidfd   int
	layers  []Layer
}

// run starts the program and lets it go once every step has passed. After an
// error there is no child.
func (l *launch) run() error {
	l.sys = syscall.SysProcAttr{Ptrace: l.tracing, PidFD: &l.pidfd}
	l.attr.Sys = &l.sys
	l.pidfd = -1
	l.layers = make([]Layer, len(steps))
	for i, s := range steps {
		l.layers[i] = Layer{Name: s.name, State: Enforced}
		if s.before == nil && s.stopped == nil {
			l.layers[i] = Layer{Name: s.name, State: Skipped, Reason: s.reason}
		}
	}
	if err := l.pass(func(s step) func(*launch) (string, error) { return s.before }); err != nil {
		return err
	}
	argv := append([]string{l.spec.Path}, l.spec.Args...)
	pid, err := syscall.ForkExec(l.path(), argv, &l.attr)
	if err != nil && l.sys.Cloneflags != 0 && refusesNamespace(err) {
		l.noTree = err
		return errNoNamespace
	}
	if err != nil {
		return l.explain(err)
	}
	l.pid = pid
	if l.pidfd < 0 {
		l.discard()
		return &Error{Place: "start", What: "the kernel gave no process descriptor", Fix: "Linux 5.11 or later is needed"}
	}
	var late string
	if l.tracing {
		err = l.awaitStop()
	} else {
		late = "set only after the program had started: " + errNoTracing.Error()
	}
	if err == nil {
		err = l.pass(func(s step) func(*launch) (string, error) { return s.stopped })
	}
	if err == nil && l.tracing {
		err = unix.PtraceDetach(pid)
	}
	if err != nil {
		l.discard()
		return err
	}
	if late != "" {
		l.admit(late)
	}
	return nil
}

// path is what the child executes. A host that dies between the clone and the
// setting of the death signal leaves a child that Go's runtime would have kill
// itself, which the first process of a namespace cannot. So such a child finds
// its program by way of the forking thread's own directory in /proc, which goes
// with the thread. Without a /proc that shows it, the moment stays open.
func (l *launch) path() string {
	if l.sys.Cloneflags&unix.CLONE_NEWPID == 0 {
		return l.spec.Path
	}
	task := "/proc/" + strconv.Itoa(os.Getpid()) + "/task/" + strconv.Itoa(unix.Gettid())
	through := task + "/../../../.." + l.spec.Path
	if unix.Access(through, unix.X_OK) != nil {
		return l.spec.Path
	}
	return through
}

func (l *launch) pass(phase func(step) func(*launch) (string, error)) error {
	for i, s := range steps {
		act := phase(s)
		if act == nil {
			continue
		}
		skipped, err := act(l)
		if err != nil {
			return err
		}
		if skipped != "" {
			l.layers[i] = Layer{Name: s.name, State: Skipped, Reason: skipped}
		}
	}
	return nil
}

// admit marks what should have been done before the first instruction.
func (l *launch) admit(late string) {
	for i, s := range steps {
		if s.stopped != nil && l.layers[i].State == Enforced && s.before == nil {
			l.layers[i] = Layer{Name: s.name, State: Skipped, Reason: late}
		}
	}
}

// awaitStop waits for the stop that follows a traced exec. Whatever signal the
// stop shows, not one instruction of the program has run.
func (l *launch) awaitStop() error {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(l.pid, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return &Error{Place: "start", What: "the program could not be stopped before it ran", Err: err}
		case status.Stopped():
			return nil
		}
		l.pid = 0 // reaped
		return &Error{Place: "start", What: l.spec.Path + " was killed before it ran"}
	}
}

// discard kills and reaps what was started.
func (l *launch) discard() {
	if l.pid > 0 {
		_ = unix.Kill(-l.pid, unix.SIGKILL)
		_ = unix.Kill(l.pid, unix.SIGKILL)
		for {
			var status unix.WaitStatus
			_, err := unix.Wait4(l.pid, &status, unix.WALL, nil)
			if err == nil && status.Stopped() || err == unix.EINTR {
				continue
			}
			break
		}
	}
	if l.pidfd >= 0 {
		_ = unix.Close(l.pidfd)
		l.pidfd = -1
	}
}

// explain makes a sentence of what fork or exec said.
func (l *launch) explain(err error) error {
	path := l.spec.Path
	fault := &Error{Place: "start", Err: err}
	info, statErr := os.Stat(path)
	_, dirErr := os.Stat(l.spec.Dir)
	switch {
	case dirErr != nil:
		fault.What, fault.Fix = "the working directory "+quoted(l.spec.Dir)+" cannot be entered", "check the path"
	case errors.Is(err, unix.ENOENT) && statErr != nil:
		fault.What, fault.Fix = path+" is not there", "check the path"
	case errors.Is(err, unix.ENOENT):
		fault.What, fault.Fix = path+" needs an interpreter or loader that is not there", "build it as a static program"
	case errors.Is(err, unix.ENOEXEC):
		fault.What, fault.Fix = path+" is not a program for this system", "build it for linux/"+runtime.GOARCH
	case (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)) && statErr == nil && (info.IsDir() || info.Mode()&0o111 == 0):
		fault.What, fault.Fix = path+" is not an executable file", "check the path and its mode"
	case errors.Is(err, unix.EPERM) && l.tracing && !tracingAllowed():
		return errNoTracing
	case errors.Is(err, unix.ETXTBSY):
		fault.What, fault.Fix = path+" is being written", "wait until it is whole"
	default:
		fault.What = path + " could not be started"
	}
	return fault
}

// refusesNamespace is true of what a kernel, a security module or a container's
// profile answers to a clone with namespaces, some of which mean other things
// too: the next attempt, without one, tells.
func refusesNamespace(err error) bool {
	for _, refusal := range []error{unix.EPERM, unix.EACCES, unix.EINVAL, unix.ENOSPC, unix.EUSERS, unix.ENOSYS} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// tracingAllowed asks for a traced start of a program that cannot exist: the
// request to be traced comes before exec, so a refusal of it comes first.
func tracingAllowed() bool {
	_, err := syscall.ForkExec("/proc/self/no such program", []string{""}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}})
	return !errors.Is(err, unix.EPERM)
}

// launchOn runs attempts on the forking thread until one holds.
func launchOn(jobs chan<- func(), s Spec, files []uintptr, bestEffort bool) (*launch, error) {
	l := &launch{spec: s, tracing: true}
	l.attr = syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: files}
	var err error
	for attempt := range launchAttempts {
		if attempt > 0 {
			time.Sleep(launchPause)
		}
		done := make(chan struct{})
		jobs <- func() { err = l.run(); close(done) }
		<-done
		if errors.Is(err, errNoTracing) && bestEffort && l.tracing {
			l.tracing, l.noTree = false, nil // what looked like a refused namespace was this
			continue
		}
		if errors.Is(err, errNoNamespace) {
			continue
		}
		if !errors.Is(err, errStrayDescriptor) && !errors.Is(err, unix.ETXTBSY) {
			break
		}
	}
	switch {
	case errors.Is(err, errStrayDescriptor):
		err = &Error{Place: "descriptors", What: err.Error() + ", again and again", Fix: "open descriptors with O_CLOEXEC"}
	case errors.Is(err, errNoTracing):
		err = &Error{Place: "limits", What: "the system does not let the host stop a program before it runs, so its limits cannot be set in time", Err: unix.EPERM,
			Fix: "allow ptrace (kernel.yama.ptrace_scope below 2, or the container's system call profile)"}
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}
