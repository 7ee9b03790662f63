//go:build amd64 || arm64

package jail

import (
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is one system call of a child between clone and exec. The assembly knows
// its layout.
type call struct {
	number  uintptr
	args    [6]uintptr
	result  int      // what the kernel answered; the negative errno where it refused
	into    *uintptr // takes a result that is no error: an argument of a later call
	onError uintptr  // where to go on after an error; 0 ends the child
	onValue uintptr  // where to go on after a result above zero; 0 is the next call
	also    *uintptr // takes what into takes, where two calls want it
}

const callSize = unsafe.Sizeof(call{})

// program is what a child does between clone and exec: a table of system calls
// that a few lines of assembly work through. The child shares this process's
// memory and runs no Go: it has no goroutine, no stack and no signal handler, so
// nothing in it may wait for the runtime.
type program struct {
	calls []call
	steps []int // of each call, the step it belongs to
	step  int   // the one that adds now
	kept  []any // what the arguments point to
	fault uintptr
	jumps []jump
	made  int32 // the process of the program itself, where the child clones once more
	full  bool  // there was no room for a call
}

type jump struct {
	from, to int
	onError  bool
}

// programRoom is the number of calls a program may have: the tables of builds with
// many directories come to a third. It is fixed so that the calls do not move
// once one points into another.
const programRoom = 768

func newProgram() *program {
	p, _ := programs.Get().(*program)
	if p == nil {
		p = &program{calls: make([]call, 0, programRoom), steps: make([]int, 0, programRoom)}
	}
	return p
}

// done gives the program's room to the next. Nobody may look at it any longer.
func (p *program) done() {
	clear(p.calls)
	clear(p.kept)
	*p = program{calls: p.calls[:0], steps: p.steps[:0], kept: p.kept[:0], jumps: p.jumps[:0]}
	programs.Put(p)
}

// programs are kept because their room is large and a launch short.
var programs sync.Pool

// add appends a call and returns its index.
func (p *program) add(number uintptr, args ...uintptr) int {
	c := call{number: number}
	copy(c.args[:], args)
	if len(p.calls) == programRoom {
		p.full = true
		return 0
	}
	p.calls = append(p.calls, c)
	p.steps = append(p.steps, p.step)
	return len(p.calls) - 1
}

// tolerate lets the program go on with the next call after an error of call i.
func (p *program) tolerate(i int) { p.jumps = append(p.jumps, jump{i, i + 1, true}) }

// onValue has the program go on at the next call to be added after a result of
// call i above zero.
func (p *program) onValue(i int) { p.jumps = append(p.jumps, jump{i, len(p.calls), false}) }

// pass stores the result of call i as an argument of call j, and perhaps of a second one.
func (p *program) pass(i, j, argument int) {
	to := &p.calls[i].into
	if *to != nil {
		to = &p.calls[i].also
	}
	*to = &p.calls[j].args[argument]
}

// zero has the child end after a result of call i above zero.
func (p *program) zero(i int) { p.jumps = append(p.jumps, jump{i, -1, false}) }

// die ends the child as if the call had failed with ENOSYS.
func (p *program) die() int { return p.add(^uintptr(0)) }

// text keeps a zero-terminated string and returns its address.
func (p *program) text(s string) uintptr {
	b := append([]byte(s), 0)
	p.kept = append(p.kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// texts keeps a list of strings as exec takes it.
func (p *program) texts(list []string) uintptr {
	pointers := make([]uintptr, len(list)+1)
	for i, s := range list {
		pointers[i] = p.text(s)
	}
	p.kept = append(p.kept, pointers)
	return uintptr(unsafe.Pointer(&pointers[0]))
}

// child is where the kernel writes the identifier of the process that the child
// clones, before that process does anything.
func (p *program) child() uintptr { return uintptr(unsafe.Pointer(&p.made)) }

// keep keeps a value and returns its address.
func keep[T any](p *program, v *T) uintptr {
	p.kept = append(p.kept, v)
	return uintptr(unsafe.Pointer(v))
}

// spawn clones a child that works through the table. With CLONE_VFORK it
// returns once the child has executed something or is gone.
// What it points to escapes to the heap, where nothing moves.
func spawn(flags uintptr, first *call, fault *uintptr) (pid int)

// run clones the child on this thread, which must be locked.
func (p *program) run(flags uintptr) (pid int, err error) {
	last := p.die() // what follows exec is never reached by going on
	for _, j := range p.jumps {
		if j.to < 0 {
			j.to = last
		}
		target := uintptr(j.to) * callSize
		if j.onError {
			p.calls[j.from].onError = target
		} else {
			p.calls[j.from].onValue = target
		}
	}
	// No signal may reach a child that has this process's handlers and memory.
	all := unix.Sigset_t{}
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	var before unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return 0, err
	}
	// A child that changes its user takes the mark of a readable process from the
	// memory it shares with this one.
	dumpable, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	pid = spawn(flags|unix.CLONE_VM|uintptr(unix.SIGCHLD), &p.calls[0], &p.fault)
	if dumpable == 1 {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	}
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	runtime.KeepAlive(p)
	if pid < 0 {
		return 0, unix.Errno(-pid)
	}
	return pid, nil
}

// failed is the call that ended the child, or -1.
func (p *program) failed() int {
	if p.fault == 0 {
		return -1
	}
	return int((p.fault - uintptr(unsafe.Pointer(&p.calls[0]))) / callSize)
}

// errno is how call i was refused, or 0.
func (p *program) errno(i int) unix.Errno {
	if r := p.calls[i].result; r < 0 {
		return unix.Errno(-r)
	}
	return 0
}
