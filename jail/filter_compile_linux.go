//go:build amd64 || arm64

package jail

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sys/unix"
)

// The layout of what a filter looks at, struct seccomp_data: the number, the
// architecture, an address, then the arguments, low half first.
const (
	dataNumber    = 0
	dataArch      = 4
	dataArguments = 16
)

// listed is how many single calls are compared one after the other at a leaf of
// the tree. Fewer make a longer filter, more a longer search; between two and
// eight hardly a difference was measured.
const listed = 4

// segment is a run of call numbers with one rule.
type segment struct {
	first, last uint32
	rule        rule
}

func (s segment) single() bool { return s.first == s.last }

func (s segment) same(o segment) bool {
	return len(s.rule.cases) == 0 && len(o.rule.cases) == 0 && s.rule.otherwise == o.rule.otherwise
}

// compile makes the filter. It is a tree of comparisons over the call number:
// loading a filter runs it for every number there is, so depth is what it costs.
func (p policy) compile() ([]unix.SockFilter, error) { return p.compileListing(listed) }

func (p policy) compileListing(listed int) ([]unix.SockFilter, error) {
	conv, known := conventionOf(p.goarch)
	if !known {
		return nil, fmt.Errorf("no system calls are known for %q", p.goarch)
	}
	segments, err := p.segments(conv)
	if err != nil {
		return nil, err
	}
	a := newAssembler()
	start := a.tree(segments, listed)
	if conv.other > 0 {
		start = a.branch(unix.BPF_JGE, conv.other, a.give(unix.SECCOMP_RET_KILL_PROCESS), start)
	}
	start = a.load(dataNumber, start)
	start = a.branch(unix.BPF_JEQ, conv.audit, start, a.give(unix.SECCOMP_RET_KILL_PROCESS))
	a.follow(a.load(dataArch, start))
	slices.Reverse(a.code)
	if len(a.code) > unix.BPF_MAXINSNS {
		return nil, fmt.Errorf("the filter has %d instructions; the kernel takes %d", len(a.code), unix.BPF_MAXINSNS)
	}
	return a.code, nil
}

// segments are the rules by number, from the lowest to the highest there is,
// equal neighbors joined.
func (p policy) segments(conv convention) ([]segment, error) {
	numbered := make([]segment, 0, len(p.rules))
	for _, r := range p.rules {
		nr, known := conv.number(r.call)
		if !known {
			return nil, fmt.Errorf("%s has no system call %q", p.goarch, r.call)
		}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", r.call, err)
		}
		numbered = append(numbered, segment{nr, nr, r})
	}
	slices.SortFunc(numbered, func(a, b segment) int { return cmp.Compare(a.first, b.first) })
	var segments []segment
	add := func(s segment) {
		if n := len(segments); n > 0 && segments[n-1].same(s) {
			segments[n-1].last = s.last
		} else {
			segments = append(segments, s)
		}
	}
	next := uint32(0)
	for _, s := range numbered {
		if s.first < next {
			return nil, fmt.Errorf("%s has two rules", s.rule.call)
		}
		if s.first > next {
			add(segment{next, s.first - 1, rule{otherwise: p.otherwise}})
		}
		add(s)
		next = s.last + 1
	}
	add(segment{next, math.MaxUint32, rule{otherwise: p.otherwise}})
	return segments, nil
}

// check refuses conditions that could never hold, or always.
func (r rule) check() error {
	for _, c := range r.cases {
		for _, cond := range c.all {
			if cond.argument < 0 || cond.argument > 5 {
				return fmt.Errorf("there is no argument %d", cond.argument)
			}
			if cond.below == 0 && (len(cond.values) == 0 || cond.mask == 0) || cond.below > 0 && len(cond.values) > 0 {
				return fmt.Errorf("a condition on argument %d says nothing", cond.argument)
			}
			for _, v := range cond.values {
				if v&^cond.mask != 0 {
					return fmt.Errorf("argument %d masked with %#x is never %#x", cond.argument, cond.mask, v)
				}
			}
		}
	}
	return nil
}

// tree finds the segment of the number in the accumulator.
func (a *assembler) tree(segments []segment, listed int) label {
	if ground, singles, ok := list(segments, listed); ok {
		l := a.rule(ground.rule)
		for _, s := range slices.Backward(singles) {
			l = a.branch(unix.BPF_JEQ, s.first, a.rule(s.rule), l)
		}
		return l
	}
	middle := len(segments) / 2
	right := a.tree(segments[middle:], listed)
	left := a.tree(segments[:middle], listed)
	return a.branch(unix.BPF_JGE, segments[middle].first, right, left)
}

// list takes segments apart into one answer and the few single calls that have
// another.
func list(segments []segment, listed int) (ground segment, singles []segment, ok bool) {
	if len(segments) > 2*listed+1 {
		return segment{}, nil, false
	}
	for i, candidate := range segments {
		others := make([]segment, 0, len(segments))
		fits := true
		for j, s := range segments {
			if j != i && !s.same(candidate) {
				others = append(others, s)
				fits = fits && s.single()
			}
		}
		if fits && len(others) <= listed && (!ok || len(others) < len(singles)) {
			ground, singles, ok = candidate, others, true
		}
	}
	return ground, singles, ok
}
