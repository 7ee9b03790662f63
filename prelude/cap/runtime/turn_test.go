//go:build unix

package runtime_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/cap/runtime"
)

// onProcessors runs a test with one processor, where whoever waits in the kernel may
// keep all others from running, and with more.
func onProcessors(t *testing.T, test func(*testing.T)) {
	for _, procs := range []int{1, 2} {
		t.Run(fmt.Sprint("procs=", procs), func(t *testing.T) {
			defer goleak.VerifyNone(t)
			defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(procs))
			test(t)
		})
	}
}

// goroutine is the number of the calling goroutine.
func goroutine() string {
	var stack [64]byte
	text, _, _ := strings.Cut(string(stack[:goruntime.Stack(stack[:], false)]), " [")
	return text
}

func TestOneGoroutineAnswersOneQuickQuestionAfterAnother(t *testing.T) {
	defer goleak.VerifyNone(t)
	h, ended := serve(t, func(runtime.Asked) runtime.Answer { return runtime.Answered(report.String(goroutine())) })
	last, same := "", 0
	for id := int64(1); id <= 100; id++ {
		h.Ask(id, "t", "x", wire.Nil())
		by, _ := h.Result(id).Value.AsString()
		if by == last {
			same++
		}
		last = by
	}
	// A machine that stalls may make a question a slow one, but not most of them.
	if same < 50 {
		t.Errorf("%d of 100 questions were answered by whoever answered the one before", same)
	}
	stop(t, h, ended)
}

// An answer that never waits leaves the reading to others only when it takes long.
func TestWhatTheHostSaysIsReadDuringALongComputation(t *testing.T) {
	onProcessors(t, func(t *testing.T) {
		h, ended := serve(t, tools(t, map[string]answerer{
			"quick": echo,
			"long": func(a runtime.Asked) runtime.Answer {
				for a.Context().Err() == nil {
				}
				return runtime.Answered(report.Nil())
			},
		}))
		for id := int64(1); id < 60; id += 3 {
			h.Ask(id, "t", "quick", wire.Nil()) // now a goroutine has kept its turn
			h.Result(id)
			h.Ask(id+1, "t", "long", wire.Nil())
			h.Ask(id+2, "t", "quick", wire.Nil())
			if f := h.Fault(id + 2); f.Code != wire.CodeBusy {
				t.Fatalf("call %d: %v", id+2, f)
			}
			h.Cancel(id + 1)
			if r := h.Result(id + 1); !r.OK {
				t.Fatalf("call %d: %v", id+1, r)
			}
		}
		stop(t, h, ended)
	})
}

func TestTheEndOfTheStreamIsReadDuringAnAnswer(t *testing.T) {
	onProcessors(t, func(t *testing.T) {
		h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
			for a.Context().Err() == nil {
			}
			return runtime.Answered(report.Nil())
		})
		h.Ask(1, "t", "x", wire.Nil())
		h.Conn.Close()
		if err := wait(t, "the end", ended); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// A goroutine that outlives its question works on while the reader waits for the next.
func TestAnAuthorsGoroutinesRunWhileTheReaderWaits(t *testing.T) {
	onProcessors(t, func(t *testing.T) {
		finished := make(chan int, 1)
		h, ended := serve(t, func(runtime.Asked) runtime.Answer {
			there, back := make(chan int), make(chan int)
			go func() {
				for n := range there {
					time.Sleep(time.Microsecond)
					back <- n + 1
				}
				close(back)
			}()
			go func() {
				n := 0
				for range 100 {
					there <- n
					n = <-back
				}
				close(there)
				finished <- n
			}()
			return runtime.Answered(report.Nil())
		})
		h.Ask(1, "t", "x", wire.Nil())
		h.Result(1)
		if n := wait(t, "the goroutines", finished); n != 100 {
			t.Errorf("got %d", n)
		}
		stop(t, h, ended)
	})
}

// A goroutine that ends with its answer was the one to read on.
func TestSomebodyReadsAfterACrash(t *testing.T) {
	onProcessors(t, func(t *testing.T) {
		h, ended := serve(t, tools(t, map[string]answerer{
			"panic":  func(runtime.Asked) runtime.Answer { panic("x") },
			"goexit": func(runtime.Asked) runtime.Answer { goruntime.Goexit(); return runtime.Answer{} },
			"waits and panics": func(a runtime.Asked) runtime.Answer {
				kv.Set(a.Context(), "k", nil)
				panic("x")
			},
		}))
		id := int64(0)
		for range 20 {
			for _, name := range []string{"panic", "goexit", "waits and panics"} {
				id++
				h.Ask(id, "t", name, wire.Nil())
				if name == "waits and panics" {
					h.Answer(h.Next(wire.KindCapCall).ID, wire.Result{OK: true, Value: wire.Map()})
				}
				if f := h.Fault(id); f.Code != wire.CodeCrashed {
					t.Fatalf("%s: %v", name, f)
				}
			}
		}
		stop(t, h, ended)
	})
}

// What a host writes while nobody takes it must not stop what it has yet to read.
func TestAFloodBothWaysDoesNotStop(t *testing.T) {
	onProcessors(t, func(t *testing.T) {
		var posted atomic.Bool
		h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
			for range 100 {
				report.Partial(a.Context(), strings.Repeat("x", 64<<10))
			}
			posted.Store(true)
			return runtime.Answered(report.Nil())
		})
		h.Ask(1, "t", "x", wire.Nil())
		first := h.Next(wire.KindCapCall)
		h.Conn.SetWriteDeadline(time.Now().Add(patience))
		h.Answer(first.ID, wire.Result{OK: true, Value: wire.Bin(make([]byte, 8<<20))})
		if posted.Load() {
			t.Error("the partials fit the socket; this test needs more")
		}
		for range 99 {
			h.Next(wire.KindCapCall)
		}
		h.Result(1)
		stop(t, h, ended)
	})
}

// One goroutine of the author's waits for the host while another question is answered.
func TestACallOutsideAnInvocationIsAnsweredDuringOne(t *testing.T) {
	onProcessors(t, func(t *testing.T) {
		result := make(chan error, 1)
		h, ended := serve(t, tools(t, map[string]answerer{
			"start": func(runtime.Asked) runtime.Answer {
				go func() {
					_, _, err := kv.Get(context.Background(), "k")
					result <- err
				}()
				return runtime.Answered(report.Nil())
			},
			"hold": func(runtime.Asked) runtime.Answer {
				return runtime.Failed("test", (<-result).Error())
			},
		}))
		h.Ask(1, "t", "start", wire.Nil())
		var call int64
		for range 2 {
			if f := h.Any(); f.Kind == wire.KindCapCall {
				call = f.ID
			}
		}
		h.Ask(2, "t", "hold", wire.Nil())
		h.Answer(call, wire.Result{Fault: wire.Fault{Code: wire.CodeUnauthorized, Msg: "no"}})
		if f := h.Fault(2); !strings.Contains(f.Msg, wire.CodeUnauthorized) {
			t.Errorf("got %v", f)
		}
		stop(t, h, ended)
	})
}
