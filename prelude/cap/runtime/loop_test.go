//go:build unix

package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/internal/hosttest"
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/cap/runtime"
)

// patience bounds what a test waits for; it is never reached when the code is right.
const patience = 20 * time.Second

type answerer = func(runtime.Asked) runtime.Answer

// serve runs a loop with answer and returns its host, and what the loop returned.
func serve(t testing.TB, answer answerer) (*hosttest.Host, <-chan error) {
	t.Helper()
	h, transport := boot(t)
	ended := make(chan error, 1)
	go func() { ended <- runtime.Loop(context.Background(), transport, answer) }()
	return h, ended
}

// boot returns a host, and the transport that a satellite which inherited the other end
// has.
func boot(t testing.TB) (*hosttest.Host, io.ReadWriteCloser) {
	t.Helper()
	host, satellite := hosttest.Pair(t)
	t.Setenv(runtime.EnvSock, fmt.Sprint("fd:", satellite.Fd()))
	transport, err := runtime.Boot()
	if err != nil {
		t.Fatal(err)
	}
	return hosttest.New(t, host), transport
}

func wait[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("%s never came", what)
		panic("unreachable")
	}
}

// stop ends the loop as a host does and checks that it ends well.
func stop(t testing.TB, h *hosttest.Host, ended <-chan error) {
	t.Helper()
	h.Cancel(0)
	if err := wait(t, "the end of the loop", ended); err != nil {
		t.Fatalf("the loop ended with %v", err)
	}
}

func echo(a runtime.Asked) runtime.Answer { return runtime.Answered(a.Args) }

// tools answers by tool name and fails the test on any other.
func tools(t testing.TB, by map[string]answerer) answerer {
	return func(a runtime.Asked) runtime.Answer {
		f, ok := by[a.Invocation.Name]
		if !ok {
			t.Errorf("asked for %q", a.Invocation.Name)
			return runtime.Failed("test", "no such tool")
		}
		return f(a)
	}
}

func TestAnswersWithWhatTheFunctionReturns(t *testing.T) {
	defer goleak.VerifyNone(t)
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		if a.Invocation.Name == "no" {
			return runtime.Failed("refused", "no thanks")
		}
		return runtime.Answered(report.List(report.String(string(a.Invocation.Kind)), report.String(a.Invocation.Name), report.Int(a.DeadlineMS), a.Args))
	})
	h.Send(1, wire.HookCall{Token: []byte("t"), Kind: "event", Name: "usage", Args: wire.Text([]byte("{}")), DeadlineMS: 1234})
	got, _ := h.Result(1).Value.AsList()
	want := []wire.Value{wire.String("event"), wire.String("usage"), wire.Int(1234), wire.String("{}")}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v; want %v", got, want)
	}
	h.Send(2, wire.HookCall{Kind: "command", Name: "no"})
	if f := h.Fault(2); f != (wire.Fault{Code: "refused", Msg: "no thanks"}) {
		t.Errorf("got %v", f)
	}
	stop(t, h, ended)
}

// The goroutine that wrote a result must never still count as open for the one that
// reads the next call.
func TestAHostThatWaitsIsNeverBusy(t *testing.T) {
	defer goleak.VerifyNone(t)
	calls := int64(20_000)
	if testing.Short() {
		calls = 4_000
	}
	for _, procs := range []int{1, 2, 4} {
		t.Run(fmt.Sprint("procs=", procs), func(t *testing.T) {
			defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(procs))
			h, ended := serve(t, echo)
			for id := int64(1); id <= calls; id++ {
				h.Ask(id, "t", "x", wire.Int(id))
				r := h.Result(id)
				if n, _ := r.Value.AsInt(); !r.OK || n != id {
					t.Fatalf("call %d: %+v", id, r)
				}
			}
			stop(t, h, ended)
		})
	}
}

func TestASecondCallIsBusyAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	release := make(chan struct{})
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		<-release
		return runtime.Answered(a.Args)
	})
	h.Ask(1, "t", "slow", wire.Int(1))
	for id := int64(2); id < 50; id++ {
		h.Ask(id, "t", "second", wire.Nil())
		if f := h.Fault(id); f.Code != wire.CodeBusy {
			t.Fatalf("call %d: %v", id, f)
		}
	}
	close(release)
	if r := h.Result(1); !r.OK {
		t.Errorf("the first call was disturbed: %v", r)
	}
	stop(t, h, ended)
}

func TestAnUnknownKindOfCallIsBadKindAndOpensNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	h, ended := serve(t, echo)
	h.Send(1, wire.HookCall{Kind: "dance\n", Name: "x"})
	if f := h.Fault(1); f.Code != wire.CodeBadKind || !strings.Contains(f.Msg, `"dance\n"`) {
		t.Errorf("got %v", f)
	}
	h.Ask(2, "t", "x", wire.Bool(true))
	if r := h.Result(2); !r.OK {
		t.Errorf("not idle after bad_kind: %v", r)
	}
	stop(t, h, ended)
}

func TestWhateverEndsTheFunctionIsCrashedAndTheLoopLivesOn(t *testing.T) {
	defer goleak.VerifyNone(t)
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	var nilMap map[string]int
	cases := []struct {
		name string
		do   func()
		want string
	}{
		{"string", func() { panic("out of yarn") }, "panic: out of yarn\n  at "},
		{"error", func() { panic(io.ErrUnexpectedEOF) }, "panic: unexpected EOF"},
		{"runtime error", func() { nilMap["a"] = 1 }, "panic: assignment to entry in nil map"},
		{"nil", func() { panic(nil) }, "panic: panic called with nil argument"},
		{"cyclic value", func() { panic(cyclic) }, "panic: a map[string]interface {}"},
		{"text that panics", func() { panic(badError{}) }, "a runtime_test.badError whose text panics too"},
		{"text that ends the goroutine", func() { panic(exitError{}) }, "the answer panicked"},
		{"goexit", goruntime.Goexit, "runtime.Goexit"},
		{"goexit under a panic", func() { defer goruntime.Goexit(); panic("first") }, "runtime.Goexit"},
		{"panic under a goexit", func() { defer panic("second"); goruntime.Goexit() }, "panic: second"},
		{"long", func() { panic(strings.Repeat("é", 1<<20)) }, "…"},
		{"deep", func() { deep(40) }, "panic: bottom"},
	}
	by := map[string]answerer{"fine": echo}
	for _, c := range cases {
		by[c.name] = func(runtime.Asked) runtime.Answer { c.do(); return runtime.Answer{} }
	}
	h, ended := serve(t, tools(t, by))
	id := int64(0)
	for _, c := range cases {
		id++
		h.Ask(id, "t", c.name, wire.Nil())
		f := h.Fault(id)
		if f.Code != wire.CodeCrashed || !strings.Contains(f.Msg, c.want) {
			t.Errorf("%s: got %q; want crashed with %q", c.name, f, c.want)
		}
		if len(f.Msg) > 3<<10 {
			t.Errorf("%s: the message has %d bytes", c.name, len(f.Msg))
		}
		id++
		h.Ask(id, "t", "fine", wire.Int(id))
		if r := h.Result(id); !r.OK {
			t.Fatalf("after %s: %v", c.name, r)
		}
	}
	stop(t, h, ended)
}

func TestACrashNamesTheAuthorsLines(t *testing.T) {
	h, ended := serve(t, func(runtime.Asked) runtime.Answer { deep(3); return runtime.Answer{} })
	h.Ask(1, "t", "x", wire.Nil())
	msg := h.Fault(1).Msg
	if !strings.Contains(msg, "runtime_test.deep (runtime/loop_test.go:") || strings.Contains(msg, "gopanic") {
		t.Errorf("got %s", msg)
	}
	if n := strings.Count(msg, "\n  at "); n < 3 || n > 8 {
		t.Errorf("%d callers in %s", n, msg)
	}
	stop(t, h, ended)
}

func deep(n int) {
	if n == 0 {
		panic("bottom")
	}
	deep(n - 1)
}

type badError struct{}

func (badError) Error() string { panic("again") }

type exitError struct{}

func (exitError) Error() string { goruntime.Goexit(); return "" }

func TestAResultThatDoesNotFitIsUnencodable(t *testing.T) {
	defer goleak.VerifyNone(t)
	nested := report.Nil()
	for range wire.MaxDepth {
		nested = report.List(nested)
	}
	h, ended := serve(t, tools(t, map[string]answerer{
		"large": func(runtime.Asked) runtime.Answer {
			return runtime.Answered(report.Bytes(make([]byte, wire.MaxFrame)))
		},
		"deep": func(runtime.Asked) runtime.Answer { return runtime.Answered(nested) },
		"twice": func(runtime.Asked) runtime.Answer {
			return runtime.Answered(report.Map(report.Field{Key: "a"}, report.Field{Key: "a"}))
		},
		"text": func(runtime.Asked) runtime.Answer {
			return runtime.Failed("refused", strings.Repeat("x", wire.MaxFrame))
		},
		"fits": func(runtime.Asked) runtime.Answer { return runtime.Answered(report.Bytes(make([]byte, 15<<20))) },
	}))
	for i, name := range []string{"large", "deep", "twice", "text"} {
		id := int64(i + 1)
		h.Ask(id, "t", name, wire.Nil())
		if f := h.Fault(id); f.Code != wire.CodeUnencodable {
			t.Errorf("%s: got %v", name, f)
		}
	}
	h.Ask(9, "t", "fits", wire.Nil())
	if r := h.Result(9); !r.OK {
		t.Errorf("a large result that fits: %v", r.Fault)
	}
	stop(t, h, ended)
}

func TestTheTokenFollowsTheContext(t *testing.T) {
	defer goleak.VerifyNone(t)
	var first context.Context
	set := func(ctx context.Context, key string) error { return kv.Set(ctx, key, nil) }
	code := func(err error) string {
		var e *cap.Error
		if !errors.As(err, &e) {
			return "no error"
		}
		return e.Code
	}
	h, ended := serve(t, tools(t, map[string]answerer{
		"first": func(a runtime.Asked) runtime.Answer {
			first = a.Context()
			return runtime.Answered(report.String(code(set(first, "own"))))
		},
		"second": func(a runtime.Asked) runtime.Answer {
			ctx, cancel := context.WithTimeout(context.WithValue(a.Context(), boolKey{}, true), time.Hour)
			defer cancel()
			return runtime.Answered(report.List(
				report.String(code(set(ctx, "derived"))),
				report.String(code(set(context.WithoutCancel(first), "answered"))),
				report.String(code(set(first, "answered and ended"))),
				report.String(code(set(context.Background(), "unbound"))),
			))
		},
	}))
	expect := func(key, token string) int64 {
		t.Helper()
		f := h.Next(wire.KindCapCall)
		got, _ := f.Cap.Args.Get("key")
		if s, _ := got.AsString(); s != key || string(f.Cap.Token) != token {
			t.Fatalf("a call for %q with token %q; want %q with %q", s, f.Cap.Token, key, token)
		}
		return f.ID
	}
	refuse := wire.Result{Fault: wire.Fault{Code: wire.CodeUnauthorized, Msg: "no"}}
	h.Ask(1, "one", "first", wire.Nil())
	h.Answer(expect("own", "one"), wire.Result{OK: true, Value: wire.Map()})
	h.Result(1)

	h.Ask(2, "two", "second", wire.Nil())
	h.Answer(expect("derived", "two"), wire.Result{OK: true, Value: wire.Map()})
	h.Answer(expect("answered", ""), refuse)
	id := expect("answered and ended", "")
	if c := h.Next(wire.KindCancel); c.ID != id {
		t.Errorf("a cancel for %d; want %d", c.ID, id)
	}
	h.Answer(id, refuse) // late, and dropped
	h.Answer(expect("unbound", ""), refuse)
	got := fmt.Sprint(texts(h.Result(2).Value))
	if want := "[no error unauthorized cancelled unauthorized]"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	stop(t, h, ended)
}

type boolKey struct{}

func texts(v wire.Value) (out []string) {
	list, _ := v.AsList()
	for _, item := range list {
		s, _ := item.AsString()
		out = append(out, s)
	}
	return out
}

// Calls that race with their own invocation's answer carry its token if they reach the
// wire first, and none after.
func TestNoFrameAfterAResultCarriesItsToken(t *testing.T) {
	defer goleak.VerifyNone(t)
	const rounds, racers = 60, 32
	var all sync.WaitGroup
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		ctx := context.WithoutCancel(a.Context())
		ready := make(chan struct{})
		for range racers {
			all.Go(func() {
				<-ready
				kv.Set(ctx, "k", nil)
			})
		}
		all.Go(func() { // surely late
			<-a.Context().Done()
			kv.Set(ctx, "k", nil)
		})
		close(ready)
		goruntime.Gosched()
		return runtime.Answered(report.Nil())
	})
	before, after := 0, 0
	for id := int64(1); id <= rounds; id++ {
		h.Ask(id, "secret", "x", wire.Nil())
		answered := false
		for calls := 0; calls < racers+1 || !answered; {
			f := h.Any()
			switch f.Kind {
			case wire.KindHookResult:
				answered = true
			case wire.KindCapCall:
				calls++
				want := "secret"
				if answered {
					want = ""
					after++
				} else {
					before++
				}
				if string(f.Cap.Token) != want {
					t.Fatalf("round %d: a call carries %q; want %q", id, f.Cap.Token, want)
				}
				h.Answer(f.ID, wire.Result{OK: true, Value: wire.Map()})
			default:
				t.Fatalf("got %+v", f)
			}
		}
	}
	all.Wait()
	t.Logf("%d calls before their result, %d after", before, after)
	if after < rounds {
		t.Errorf("%d late calls; each round has one", after)
	}
	stop(t, h, ended)
}
