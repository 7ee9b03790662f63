//go:build amd64 || arm64

package jail

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// judge runs compiled filters of any architecture, on data made up, in the
// kernel's own implementation: attached to a socket, a filter sees a packet where
// it would see a system call, and answers with how much of the packet arrives.
type judge struct {
	t       testing.TB
	in, out int
	answers []answer // by the length of what arrives, less one
}

// socketMemory is what a socket may hold of a filter: half of what the oldest kernels
// grant by default, for the kernel counts the program it makes of it.
const socketMemory = 5 << 10

// judgeOf loads a filter, so the kernel checks it as well.
func judgeOf(t testing.TB, code []unix.SockFilter) *judge {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skipf("skipped layer: socket filter: %v", err)
	}
	j := &judge{t: t, in: pair[0], out: pair[1]}
	code = slices.Clone(code)
	for i, instruction := range code {
		if instruction.Code != unix.BPF_RET|unix.BPF_K {
			continue
		}
		at := slices.Index(j.answers, answer(instruction.K))
		if at < 0 {
			at = len(j.answers)
			j.answers = append(j.answers, answer(instruction.K))
		}
		code[i].K = uint32(at + 1)
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.SetsockoptSockFprog(j.out, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program); err != nil {
		j.close()
		t.Fatalf("the kernel does not take the filter of %d instructions: %v", len(code), err)
	}
	return j
}

func (j *judge) close() {
	_ = unix.Close(j.in)
	_ = unix.Close(j.out)
}

// sees is the answer to a call.
func (j *judge) sees(arch, nr uint32, args [6]uint64) answer {
	j.t.Helper()
	var data [256]byte // a packet has the most significant byte first, word by word
	word := binary.BigEndian.PutUint32
	word(data[dataNumber:], nr)
	word(data[dataArch:], arch)
	for i, v := range args {
		word(data[dataArguments+8*i:], uint32(v))
		word(data[dataArguments+8*i+4:], uint32(v>>32))
	}
	if _, err := unix.Write(j.in, data[:]); err != nil {
		j.t.Fatal(err)
	}
	n, err := unix.Read(j.out, data[:])
	if err != nil || n < 1 || n > len(j.answers) {
		j.t.Fatalf("read %d, %v", n, err)
	}
	return j.answers[n-1]
}

// decide is the policy's answer, read off it.
func (p policy) decide(conv convention, arch, nr uint32, args [6]uint64) answer {
	if arch != conv.audit || conv.other > 0 && nr >= conv.other {
		return unix.SECCOMP_RET_KILL_PROCESS
	}
	for _, r := range p.rules {
		if n, _ := conv.number(r.call); n != nr {
			continue
		}
		for _, c := range r.cases {
			if !slices.ContainsFunc(c.all, func(c condition) bool { return !c.holds(args) }) {
				return c.then
			}
		}
		return r.otherwise
	}
	return p.otherwise
}

func (c condition) holds(args [6]uint64) bool {
	if c.below > 0 {
		return args[c.argument] < c.below
	}
	return slices.Contains(c.values, args[c.argument]&c.mask)
}

var architectures = []string{"amd64", "arm64"}

// somePolicy draws rules for calls that are close together and far apart.
func somePolicy(t *rapid.T, goarch string) policy {
	conv, _ := conventionOf(goarch)
	answers := rapid.SampledFrom([]answer{allow, unix.SECCOMP_RET_KILL_PROCESS, unix.SECCOMP_RET_USER_NOTIF, fails(unix.EPERM), fails(unix.ENOSYS)})
	word := rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, 2, 3, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 63, ^uint64(0)}), rapid.Uint64())
	p := policy{goarch: goarch, otherwise: answers.Draw(t, "otherwise")}
	names := slices.DeleteFunc(slices.Clone(conv.names), func(s string) bool { return s == "" })
	calls := rapid.SliceOfNDistinct(rapid.IntRange(0, len(names)-1), 0, len(names), rapid.ID[int]).Draw(t, "calls")
	for _, i := range calls {
		r := rule{call: names[i], otherwise: answers.Draw(t, "answer")}
		for range rapid.IntRange(0, 3).Draw(t, "cases") {
			w := when{then: answers.Draw(t, "then")}
			for range rapid.IntRange(0, 3).Draw(t, "conditions") {
				c := condition{argument: rapid.IntRange(0, 5).Draw(t, "argument")}
				if rapid.Bool().Draw(t, "below") {
					c.below = max(1, word.Draw(t, "limit"))
				} else {
					c.mask = max(1, rapid.OneOf(rapid.Just(^uint64(0)), word).Draw(t, "mask"))
					for range rapid.IntRange(1, 4).Draw(t, "values") {
						c.values = append(c.values, word.Draw(t, "value")&c.mask)
					}
				}
				w.all = append(w.all, c)
			}
			r.cases = append(r.cases, w)
		}
		p.rules = append(p.rules, r)
	}
	return p
}

// someArguments are small or any.
func someArguments(t *rapid.T) (args [6]uint64) {
	for i := range args {
		args[i] = rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64()).Draw(t, "argument")
	}
	return args
}

// near returns argument lists that meet a rule's conditions case by case, and each
// of them with one bit of what a condition looks at turned over.
func near(r rule, args [6]uint64) [][6]uint64 {
	lists := [][6]uint64{args}
	for _, w := range r.cases {
		met := [][6]uint64{args}
		for _, c := range w.all {
			var next [][6]uint64
			for _, list := range met {
				values := c.values
				if c.below > 0 {
					values = []uint64{c.below - 1, c.below}
				}
				for _, v := range values {
					list[c.argument] = list[c.argument]&^c.mask | v
					next = append(next, list)
				}
			}
			met = next[:min(len(next), 40)] // of the combinations
		}
		lists = append(lists, met...)
		for _, list := range met {
			for _, c := range w.all {
				for bit := range 64 {
					turned := list
					turned[c.argument] ^= 1 << bit
					lists = append(lists, turned)
				}
			}
		}
	}
	return lists
}

// TestLongFilterReachesItsEnd has rules for so many calls, with so much to compare,
// that most ways are longer than a conditional jump, and shows the bound.
func TestLongFilterReachesItsEnd(t *testing.T) {
	for _, goarch := range architectures {
		conv, _ := conventionOf(goarch)
		for rules := 20; ; rules += 20 {
			p := policy{goarch: goarch, otherwise: fails(unix.ENOSYS)}
			for nr, name := range conv.names {
				if name == "" || len(p.rules) == rules {
					continue
				}
				n := uint64(nr)
				p.rule(name, fails(unix.Errno(1+nr%100)),
					on(allow, is(nr%6, n, n+1<<33, n+2<<34), below((nr+1)%6, n<<31+1)),
					on(unix.SECCOMP_RET_KILL_PROCESS, without((nr+2)%6, n|1<<40)))
			}
			code, err := p.compile()
			if err != nil && rules > 100 {
				break // the next one is too long, and says so
			}
			if err != nil || len(p.rules) < rules || len(code) > unix.BPF_MAXINSNS {
				t.Fatalf("%d rules: %v", len(p.rules), err)
			}
			if len(code)*int(unsafe.Sizeof(code[0])) > socketMemory {
				continue
			}
			j := judgeOf(t, code)
			for _, r := range p.rules {
				nr, _ := conv.number(r.call)
				for _, args := range [][6]uint64{{}, {1, 1, 1, 1, 1, 1}, {uint64(nr), uint64(nr), uint64(nr), uint64(nr), uint64(nr), uint64(nr)}} {
					if got, want := j.sees(conv.audit, nr, args), p.decide(conv, conv.audit, nr, args); got != want {
						t.Errorf("%s with %d rules, %s %d: got %#x, want %#x", goarch, rules, r.call, args, got, want)
					}
				}
			}
			j.close()
		}
	}
}

// TestJumpsAtTheLimit puts both ways of a comparison at every distance around what
// a conditional jump reaches.
func TestJumpsAtTheLimit(t *testing.T) {
	for far := reach - 3; far <= reach+3; far++ {
		for near := far - 3; near < far; near++ {
			for _, swapped := range []bool{false, true} {
				a := newAssembler()
				yes := a.put(unix.BPF_LD, 1, 0, 0)
				for len(a.code) < far-near {
					a.put(unix.BPF_LD, 0, 0, 0)
				}
				no := a.put(unix.BPF_LD, 2, 0, 0)
				for len(a.code) <= far {
					a.put(unix.BPF_LD, 0, 0, 0)
				}
				if swapped {
					yes, no = no, yes
				}
				at := int(a.branch(unix.BPF_JEQ, 0, yes, no))
				reached := func(skip uint8) label {
					to := at - 1 - int(skip)
					if a.code[to].Code == unix.BPF_JMP|unix.BPF_JA {
						to -= 1 + int(a.code[to].K)
					}
					return label(to)
				}
				if gotYes, gotNo := reached(a.code[at].Jt), reached(a.code[at].Jf); gotYes != yes || gotNo != no {
					t.Errorf("%d and %d away, swapped %v: goes to %d and %d, want %d and %d", far, near, swapped, gotYes, gotNo, yes, no)
				}
			}
		}
	}
}

// TestCompiledFilterSaysWhatThePolicySays compares the filter, run by the kernel,
// with the policy, for policies of any kind.
func TestCompiledFilterSaysWhatThePolicySays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		goarch := rapid.SampledFrom(architectures).Draw(rt, "architecture")
		conv, _ := conventionOf(goarch)
		p := somePolicy(rt, goarch)
		code, err := p.compileListing(rapid.IntRange(1, 4).Draw(rt, "listed"))
		if err != nil {
			if strings.Contains(err.Error(), "the kernel takes") {
				rt.Skip("too large a policy")
			}
			rt.Fatal(err)
		}
		j := judgeOf(t, code)
		defer j.close()
		hold := func(arch, nr uint32, args [6]uint64) {
			if got, want := j.sees(arch, nr, args), p.decide(conv, arch, nr, args); got != want {
				rt.Fatalf("%s %#x: got %#x, want %#x", callName(goarch, int(nr)), args, got, want)
			}
		}
		args := someArguments(rt)
		for nr := range uint32(len(conv.names) + 2) {
			hold(conv.audit, nr, args)
		}
		for _, nr := range []uint32{x32 - 1, x32, x32 + 1, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			hold(conv.audit, nr, args)
		}
		hold(unix.AUDIT_ARCH_I386, 0, args)
		if len(p.rules) > 0 {
			r := rapid.SampledFrom(p.rules).Draw(rt, "rule")
			nr, _ := conv.number(r.call)
			for _, list := range near(r, args) {
				hold(conv.audit, nr, list)
			}
		}
	})
}
