package satellite

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
)

func TestRefusedCallIsNamed(t *testing.T) {
	for call, names := range map[string][]string{
		"socket": {"socket"},
		"fork":   {"clone", "fork"},
	} {
		t.Run(call, func(t *testing.T) { refused(t, call, names) })
	}
}

func refused(t *testing.T, name string, names []string) {
	s := launch(t, Config{})
	_, err := call(s, name, time.Hour)
	e := failed(t, err, wire.CodeCrashed, jail.BoundSystemCall)
	if e.Bound != jail.BoundSystemCall {
		t.Errorf("bound %q", e.Bound)
	}
	if e.Call == "" {
		t.Skip("skipped layer: seccomp listener: the name of a refused call is not told here")
	}
	found := false
	for _, n := range names {
		found = found || e.Call == n
	}
	if !found || !strings.Contains(e.Msg, "SIGKILL ("+jail.BoundSystemCall+": "+e.Call+")") || e.Signal != "SIGKILL" {
		t.Errorf("%+v, want one of %q", e, names)
	}
	gone(t, s)
}

// In an author's trace the program itself says where it was.
func TestTraceSaysWhereARefusedCallWasMade(t *testing.T) {
	s := launch(t, Config{Jail: jail.Options{Trace: true}})
	alive(t, s)
	_, err := call(s, "socket", time.Hour)
	e := failed(t, err, wire.CodeCrashed, "exit status 2 ("+jail.BoundSystemCall+": socket)")
	if e.Bound != jail.BoundSystemCall || e.Call != "socket" || e.Signal != "" {
		t.Errorf("bound %q, call %q, signal %q", e.Bound, e.Call, e.Signal)
	}
	for _, piece := range []string{badCall, "syscall.Socket(", "main.serve("} {
		if !strings.Contains(e.Msg, piece) {
			t.Errorf("the trace lacks %q: %s", piece, e.Msg)
		}
	}
	if strings.Contains(e.Msg, "\nrax") || strings.Contains(e.Msg, "goroutine 2 ") {
		t.Errorf("the trace has more than its author needs: %s", e.Msg)
	}
	gone(t, s)
}

func TestStackOfTrap(t *testing.T) {
	const trap = badCall + "\nPC=0x40 m=0 sigcode=1"
	for said, want := range map[string]string{
		"":                         "",
		"no trap\n\ngoroutine 1\n": "no trap\n\ngoroutine 1\n",
		trap:                       trap,
		"before\n\n" + trap + "\n\ngoroutine 1 [running]:\nmain.f()\n\ngoroutine 2\n\nrax 1\n": "before\n\n" + trap + "\n\ngoroutine 1 [running]:\nmain.f()",
		trap + "\n\ngoroutine 0 [idle]:\nruntime.f()\n\ngoroutine 1:\nmain.f()\n\nrax 1\n":     trap + "\n\ngoroutine 0 [idle]:\nruntime.f()\n\ngoroutine 1:\nmain.f()",
	} {
		if got := stackOfTrap(said); got != want {
			t.Errorf("of %q: %q, want %q", said, got, want)
		}
	}
}

func TestTrapped(t *testing.T) {
	const (
		amd64 = "goroutine 1\nrax    0x1\n" + badCall + "\nPC=0x40 m=0 sigcode=1\n\ngoroutine 1 [syscall]:\nmain.main()\n\nrax    0x29\nrbx    0x2\n"
		arm64 = badCall + "\nPC=0x40 m=0 sigcode=1\n\nr0      0xffffffffffffffda\nr8      0xc6\nr9      0x1\n"
	)
	for _, tt := range []struct {
		name, said, arch string
		nr               int
		ok               bool
	}{
		{"amd64", amd64, "amd64", 41, true},
		{"arm64", arm64, "arm64", 198, true},
		{"of another machine", amd64, "arm64", 0, false},
		{"unknown machine", amd64, "riscv64", 0, false},
		{"no trace", "rax    0x29\n", "amd64", 0, false},
		{"cut short", badCall + "\nPC=0x40\n", "amd64", 0, false},
		{"no number", badCall + "\nrax    many\n", "amd64", 0, false},
		{"too large", badCall + "\nrax    0xffffffffffffffff\n", "amd64", 0, false},
		{"negative", badCall + "\nrax    -1\n", "amd64", 0, false},
		{"nothing more", badCall + "\nrax ", "amd64", 0, false},
	} {
		if nr, ok := trapped(tt.said, tt.arch); nr != tt.nr && tt.ok || ok != tt.ok {
			t.Errorf("%s: %d, %v; want %d, %v", tt.name, nr, ok, tt.nr, tt.ok)
		}
	}
	if name := jail.CallName(map[string]int{"amd64": 41, "arm64": 198}[runtime.GOARCH]); name != "socket" {
		t.Errorf("the call is named %q", name)
	}
}
