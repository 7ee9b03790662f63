//go:build amd64 || arm64

package jail

import "golang.org/x/sys/unix"

// assembler writes a filter from its end, so that whatever an instruction goes to
// is there before it: all jumps go forward, and their distances are known. The
// same instruction with the same ways out is written once.
type assembler struct {
	code []unix.SockFilter // the last instruction first
	at   map[place]label
}

// label is an instruction, counted from the filter's end.
type label int

// place is an instruction by what it does and where it goes on.
type place struct {
	code    uint16
	k       uint32
	yes, no label
}

// usualLength is room for what the policies come to, so that nothing has to move.
const usualLength = 256

func newAssembler() *assembler {
	return &assembler{code: make([]unix.SockFilter, 0, usualLength), at: make(map[place]label, usualLength)}
}

// reach is how far a conditional jump goes.
const reach = 255

const nowhere label = -1

func (a *assembler) put(code uint16, k uint32, yes, no uint8) label {
	a.code = append(a.code, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
	return label(len(a.code) - 1)
}

// once is the label of an instruction that write writes if there is none like it.
func (a *assembler) once(p place, write func() label) label {
	l, found := a.at[p]
	if !found {
		l = write()
		a.at[p] = l
	}
	return l
}

// distance is that of a jump in the instruction to be written next.
func (a *assembler) distance(to label) int { return len(a.code) - int(to) - 1 }

// give ends the filter with an answer.
func (a *assembler) give(with answer) label {
	return a.once(place{unix.BPF_RET | unix.BPF_K, uint32(with), nowhere, nowhere}, func() label {
		return a.put(unix.BPF_RET|unix.BPF_K, uint32(with), 0, 0)
	})
}

// again writes a way to an instruction that is too far off: the same answer once
// more, or a jump without a limit.
func (a *assembler) again(to label) label {
	if there := a.code[to]; there.Code == unix.BPF_RET|unix.BPF_K {
		l := a.put(there.Code, there.K, 0, 0)
		a.at[place{there.Code, there.K, nowhere, nowhere}] = l // the next one has it nearer
		return l
	}
	return a.put(unix.BPF_JMP|unix.BPF_JA, uint32(a.distance(to)), 0, 0)
}

// branch compares the accumulator with k.
func (a *assembler) branch(comparison uint16, k uint32, yes, no label) label {
	if yes == no {
		return yes
	}
	return a.once(place{comparison, k, yes, no}, func() label {
		if a.distance(no) > reach-1 { // what yes may need comes between
			no = a.again(no)
		}
		if a.distance(yes) > reach {
			yes = a.again(yes)
		}
		return a.put(unix.BPF_JMP|unix.BPF_K|comparison, k, uint8(a.distance(yes)), uint8(a.distance(no)))
	})
}

// follow makes an instruction the one that comes next.
func (a *assembler) follow(to label) {
	if a.distance(to) != 0 {
		a.again(to)
	}
}

// load puts a word of the call's data into the accumulator and goes on.
func (a *assembler) load(offset uint32, next label) label {
	return a.once(place{unix.BPF_LD, offset, next, nowhere}, func() label {
		a.follow(next)
		return a.put(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0)
	})
}

// and masks the accumulator and goes on.
func (a *assembler) and(mask uint32, next label) label {
	return a.once(place{unix.BPF_ALU, mask, next, nowhere}, func() label {
		a.follow(next)
		return a.put(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, mask, 0, 0)
	})
}

// rule decides a call by its arguments.
func (a *assembler) rule(r rule) label {
	l := a.give(r.otherwise)
	for i := len(r.cases) - 1; i >= 0; i-- {
		no := l
		l = a.give(r.cases[i].then)
		for j := len(r.cases[i].all) - 1; j >= 0; j-- {
			l = a.condition(r.cases[i].all[j], l, no)
		}
	}
	return l
}

func (a *assembler) condition(c condition, yes, no label) label {
	low := uint32(dataArguments + 8*c.argument)
	high := low + 4
	if c.below > 0 {
		lowTest := a.load(low, a.branch(unix.BPF_JGE, uint32(c.below), no, yes))
		test := a.branch(unix.BPF_JEQ, uint32(c.below>>32), lowTest, yes)
		return a.load(high, a.branch(unix.BPF_JGT, uint32(c.below>>32), no, test))
	}
	byHigh := map[uint32][]uint32{}
	order := []uint32{}
	for _, v := range c.values {
		h := uint32(v >> 32)
		if byHigh[h] == nil {
			order = append(order, h)
		}
		byHigh[h] = append(byHigh[h], uint32(v))
	}
	// Values with different high halves are alternatives: of all but the last
	// the way on after a high half that differs is to compare the next.
	next := no
	for i := len(order) - 1; i >= 0; i-- {
		h := order[i]
		l := a.half(low, uint32(c.mask), byHigh[h], yes, no)
		next = a.half(high, uint32(c.mask>>32), []uint32{h}, l, next)
	}
	return next
}

// half compares one half of an argument. A half that is not looked at is as good
// as equal.
func (a *assembler) half(offset, mask uint32, values []uint32, yes, no label) label {
	if mask == 0 {
		return yes
	}
	if len(values) == 1 && values[0] == 0 && mask != ^uint32(0) {
		return a.load(offset, a.branch(unix.BPF_JSET, mask, no, yes))
	}
	l := no
	for i := len(values) - 1; i >= 0; i-- {
		l = a.branch(unix.BPF_JEQ, values[i], yes, l)
	}
	if mask != ^uint32(0) {
		l = a.and(mask, l)
	}
	return a.load(offset, l)
}
