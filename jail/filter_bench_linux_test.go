//go:build amd64 || arm64

package jail

import (
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linear is a filter that compares the number with one call after the other.
func (p policy) linear() []unix.SockFilter {
	conv, _ := conventionOf(p.goarch)
	a := newAssembler()
	start := a.give(p.otherwise)
	for _, r := range slices.Backward(p.rules) {
		nr, _ := conv.number(r.call)
		start = a.branch(unix.BPF_JEQ, nr, a.rule(r), start)
	}
	if conv.other > 0 {
		start = a.branch(unix.BPF_JGE, conv.other, a.give(unix.SECCOMP_RET_KILL_PROCESS), start)
	}
	start = a.load(dataNumber, start)
	start = a.branch(unix.BPF_JEQ, conv.audit, start, a.give(unix.SECCOMP_RET_KILL_PROCESS))
	a.follow(a.load(dataArch, start))
	slices.Reverse(a.code)
	return a.code
}

// BenchmarkFilterLoad loads a filter into a thread of its own, whose end it is. A
// refused call fails here, so that the thread can end.
func BenchmarkFilterLoad(b *testing.B) {
	c := filterParams{image: 64, empty: 16 << 30, tgid: 1, refuse: uint32(fails(unix.ENOSYS))}
	for _, which := range []struct {
		name   string
		policy policy
	}{{"satellite", satellitePolicy(runtime.GOARCH, c)}, {"build", toolchainPolicy(Build, runtime.GOARCH, c)}} {
		load := func(name string, code []unix.SockFilter) {
			b.Run(which.name+"/"+name, func(b *testing.B) {
				program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
				var total time.Duration
				for range b.N {
					done := make(chan error)
					go func() {
						runtime.LockOSThread()
						err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
						begin := time.Now()
						_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
						total += time.Since(begin)
						if errno != 0 {
							err = errno
						}
						done <- err
					}()
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(total.Nanoseconds())/float64(b.N)/1000, "µs/load")
				b.ReportMetric(float64(len(code)), "instructions")
				b.ReportMetric(0, "ns/op")
			})
		}
		for _, n := range []int{1, 2, 3, 4, 6, 8} {
			code, err := which.policy.compileListing(n)
			if err != nil {
				b.Fatal(err)
			}
			load("listed="+strconv.Itoa(n), code)
		}
		load("linear", which.policy.linear())
		load("nothing", []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: uint32(allow)}})
	}
}

func BenchmarkFilterCompile(b *testing.B) {
	for _, p := range []Profile{Satellite, Build} {
		b.Run(strconv.Itoa(int(p)), func(b *testing.B) {
			for b.Loop() {
				if _, err := filterFor(p, runtime.GOARCH, filterParams{image: 64, refuse: unix.SECCOMP_RET_KILL_PROCESS}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
