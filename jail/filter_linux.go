//go:build amd64 || arm64

package jail

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The system call filter is written as a policy, a list of calls by name with
// what to answer each, and compiled to the kernel's small machine. Nothing here
// depends on the architecture this program runs on.

// filterParams are what a policy does not know by itself.
type filterParams struct {
	// image is the descriptor a satellite is executed from, the one exec it may
	// do. 2 and below is none.
	image int
	// empty, where not zero, is the address of the empty path of that exec. The
	// kernel ignores the descriptor where the path is an absolute one, and a filter
	// cannot read a path; it can pin where the path lies, and see to it that the
	// program never has memory there. The address is then of a page that the host
	// has for this alone, above the largest program and below the memory that the
	// kernel hands out of itself.
	empty uint64
	// tgid is the first process where the program has a process namespace of its
	// own, 1; signals then reach nothing else. 0 is for a program among the host's
	// processes.
	tgid int
	// refuse is the answer to a call that the program has no business with:
	// SECCOMP_RET_KILL_PROCESS, USER_NOTIF, TRAP or ERRNO with its number.
	refuse uint32
}

// filterFor compiles the filter of a profile for an architecture. The same
// arguments give the same filter, so it is worth keeping.
func filterFor(p Profile, goarch string, c filterParams) ([]unix.SockFilter, error) {
	var policy policy
	switch p {
	case Satellite:
		policy = satellitePolicy(goarch, c)
	case Build, Test, Proc:
		policy = toolchainPolicy(p, goarch, c)
	default:
		return nil, fmt.Errorf("profile %d has no filter", p)
	}
	return policy.compile()
}

// answer is what the kernel does upon a call: a SECCOMP_RET value.
type answer uint32

const allow answer = unix.SECCOMP_RET_ALLOW

// fails has the call fail without being made.
func fails(with unix.Errno) answer { return unix.SECCOMP_RET_ERRNO | answer(with) }

// policy is what a program may call.
type policy struct {
	goarch    string
	rules     []rule
	otherwise answer // to a call without a rule
}

// rule is about one call. The first of its cases whose conditions all hold
// decides.
type rule struct {
	call      string
	cases     []when
	otherwise answer
}

type when struct {
	then answer
	all  []condition
}

// condition looks at one argument, 64 bits of it. Where the kernel looks at 32 only,
// an allowed value must have the others zero, which only narrows; but to find a
// value that is to be refused, use [lowIs].
type condition struct {
	argument int
	mask     uint64   // what of the argument is looked at
	values   []uint64 // the masked argument is one of them
	below    uint64   // or, where not zero, the whole argument is less
}

// is holds for an argument that is one of the values.
func is(argument int, values ...uint64) condition {
	return condition{argument: argument, mask: ^uint64(0), values: values}
}

// lowIs holds where the low 32 bits are one of the values, whatever the others.
func lowIs(argument int, values ...uint64) condition { return bits(argument, 1<<32-1, values...) }

// bits holds where the masked argument is one of the values.
func bits(argument int, mask uint64, values ...uint64) condition {
	return condition{argument: argument, mask: mask, values: values}
}

// without holds for an argument with none of these bits.
func without(argument int, refused uint64) condition { return bits(argument, refused, 0) }

// below holds for an argument less than the limit.
func below(argument int, limit uint64) condition {
	return condition{argument: argument, below: limit}
}

// on is a case of a rule.
func on(then answer, all ...condition) when { return when{then, all} }

// add has the calls answered alike, without a look at their arguments.
func (p *policy) add(a answer, calls ...string) {
	for _, call := range calls {
		p.rules = append(p.rules, rule{call: call, otherwise: a})
	}
}

// rule adds a rule with cases.
func (p *policy) rule(call string, otherwise answer, cases ...when) {
	p.rules = append(p.rules, rule{call, cases, otherwise})
}
