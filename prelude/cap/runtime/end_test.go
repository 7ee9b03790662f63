//go:build unix

package runtime_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap/internal/channel"
	"github.com/loomext/loomext/prelude/cap/internal/hosttest"
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/cap/runtime"
)

// waiting answers when its context ends, with what ended it.
func waiting(started chan<- context.Context) answerer {
	return func(a runtime.Asked) runtime.Answer {
		started <- a.Context()
		<-a.Context().Done()
		return runtime.Answered(report.String(a.Context().Err().Error()))
	}
}

func TestTheContextEndsWithTheDeadline(t *testing.T) {
	defer goleak.VerifyNone(t)
	started := make(chan context.Context, 1)
	h, ended := serve(t, waiting(started))
	for id, ms := range []int64{20, 0, -5, -1 << 63} {
		h.Send(int64(id+1), wire.HookCall{Kind: "tool", Name: "x", DeadlineMS: ms})
		<-started
		if s, _ := h.Result(int64(id + 1)).Value.AsString(); s != context.DeadlineExceeded.Error() {
			t.Errorf("deadline_ms %d: %q", ms, s)
		}
	}
	stop(t, h, ended)
}

func TestAnEndlessDeadlineIsOne(t *testing.T) {
	defer goleak.VerifyNone(t)
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		ctx := a.Context()
		end, ok := ctx.Deadline()
		if err := ctx.Err(); err != nil || !ok || time.Until(end) < 24*time.Hour {
			return runtime.Failed("test", fmt.Sprint(err, ok, end))
		}
		select {
		case <-ctx.Done():
			return runtime.Failed("test", "done")
		default:
		}
		return runtime.Answered(report.Nil())
	})
	h.Send(1, wire.HookCall{Kind: "tool", Name: "x", DeadlineMS: 1<<63 - 1})
	if r := h.Result(1); !r.OK {
		t.Error(r.Fault)
	}
	stop(t, h, ended)
}

func TestCancelEndsTheContextOfTheOpenInvocationOnly(t *testing.T) {
	defer goleak.VerifyNone(t)
	started := make(chan context.Context, 1)
	h, ended := serve(t, waiting(started))
	h.Cancel(7) // nothing is open
	h.Ask(7, "t", "x", wire.Nil())
	ctx := wait(t, "the invocation", started)
	for _, id := range []int64{6, 8, -7, 1 << 62} {
		h.Cancel(id)
	}
	h.Ask(8, "t", "x", wire.Nil()) // once this is answered, all of the above was read
	if f := h.Fault(8); f.Code != wire.CodeBusy {
		t.Fatal(f)
	}
	if err := ctx.Err(); err != nil {
		t.Fatalf("another id ended the context: %v", err)
	}
	h.Cancel(7)
	if s, _ := h.Result(7).Value.AsString(); s != context.Canceled.Error() {
		t.Errorf("got %q", s)
	}
	stop(t, h, ended)
}

func TestTheContextEndsWhenTheAnswerIsWritten(t *testing.T) {
	defer goleak.VerifyNone(t)
	kept := make(chan context.Context, 3)
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		if a.Invocation.Name == "looks" {
			a.Context().Done()
		}
		ctx := a.Context()
		if a.Invocation.Name == "has children" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(context.WithValue(ctx, boolKey{}, true))
			t.Cleanup(cancel) // too late to be what ends it
		}
		kept <- ctx
		return runtime.Answered(report.Nil())
	})
	for i, name := range []string{"looks", "never looks", "has children"} {
		h.Ask(int64(i+1), "t", name, wire.Nil())
		h.Result(int64(i + 1))
		ctx := <-kept
		wait(t, "the end of the context of "+name, ctx.Done())
		if ctx.Err() != context.Canceled {
			t.Errorf("%s: %v", name, ctx.Err())
		}
	}
	stop(t, h, ended)
}

func TestACallCarriesWhatIsLeft(t *testing.T) {
	defer goleak.VerifyNone(t)
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		short, cancel := context.WithTimeout(a.Context(), 5*time.Second)
		defer cancel()
		long, cancel := context.WithTimeout(a.Context(), time.Hour)
		defer cancel()
		for _, ctx := range []context.Context{a.Context(), short, long, context.WithoutCancel(a.Context())} {
			if err := kv.Delete(ctx, "k"); err != nil {
				return runtime.Failed("test", err.Error())
			}
		}
		return runtime.Answered(report.Nil())
	})
	h.Ask(1, "t", "x", wire.Nil()) // 60 s
	for i, most := range []int64{60_000, 5_000, 60_000, 60_000} {
		f := h.Next(wire.KindCapCall)
		if left := f.Cap.DeadlineMS; left > most || left < most/4 {
			t.Errorf("call %d carries %d ms; want at most %d", i, left, most)
		}
		h.Answer(f.ID, wire.Result{OK: true, Value: wire.Map()})
	}
	if r := h.Result(1); !r.OK {
		t.Error(r.Fault)
	}
	stop(t, h, ended)
}

func TestACallerThatGivesUpCancelsItsCall(t *testing.T) {
	defer goleak.VerifyNone(t)
	giveUp := make(chan struct{})
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		ctx, cancel := context.WithCancel(a.Context())
		go func() { <-giveUp; cancel() }()
		_, _, err := kv.Get(ctx, "k")
		again := kv.Set(ctx, "never sent", nil) // its context has ended: it wants no effect
		_, _, third := kv.Get(a.Context(), "k")
		return runtime.Answered(report.List(
			report.Bool(errors.Is(err, context.Canceled)),
			report.Bool(errors.Is(again, context.Canceled)),
			report.Bool(third == nil),
			report.String(err.Error())))
	})
	h.Ask(1, "t", "x", wire.Nil())
	id := h.Next(wire.KindCapCall).ID
	close(giveUp)
	if c := h.Next(wire.KindCancel); c.ID != id {
		t.Errorf("a cancel for %d; want %d", c.ID, id)
	}
	found := wire.Result{OK: true, Value: wire.Map(
		wire.Field{Key: "found", Value: wire.Bool(true)}, wire.Field{Key: "value", Value: wire.Bin(nil)})}
	next := h.Next(wire.KindCapCall)
	h.Answer(id, wire.Result{Fault: wire.Fault{Code: "cancelled", Msg: "late"}}) // dropped
	h.Answer(next.ID+1000, found)                                                // answers nothing: dropped
	h.Answer(next.ID, found)
	got, _ := h.Result(1).Value.AsList()
	for i, v := range got[:3] {
		if ok, _ := v.AsBool(); !ok {
			t.Errorf("check %d failed", i)
		}
	}
	if s, _ := got[3].AsString(); !strings.Contains(s, "cancelled") || !strings.Contains(s, "kv.get") {
		t.Errorf("the text is %q", s)
	}
	stop(t, h, ended)
}

func TestOverlappingCallsMayBeAnsweredInAnyOrder(t *testing.T) {
	defer goleak.VerifyNone(t)
	const n = 64
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		var all sync.WaitGroup
		errs := make(chan error, n)
		for i := range n {
			all.Go(func() {
				key := fmt.Sprint("k", i)
				v, _, err := kv.Get(a.Context(), key)
				if err == nil && string(v) != key {
					err = fmt.Errorf("%s got %s", key, v)
				}
				errs <- err
			})
		}
		all.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				return runtime.Failed("test", err.Error())
			}
		}
		return runtime.Answered(report.Nil())
	})
	h.Ask(1, "t", "x", wire.Nil())
	frames := map[int64]string{} // a map: answered in no order
	for range n {
		f := h.Next(wire.KindCapCall)
		key, _ := f.Cap.Args.Get("key")
		frames[f.ID], _ = key.AsString()
	}
	if len(frames) != n {
		t.Fatalf("%d ids for %d calls", len(frames), n)
	}
	for id, key := range frames {
		h.Answer(id, wire.Result{OK: true, Value: wire.Map(
			wire.Field{Key: "found", Value: wire.Bool(true)}, wire.Field{Key: "value", Value: wire.Bin([]byte(key))})})
	}
	if r := h.Result(1); !r.OK {
		t.Error(r.Fault)
	}
	stop(t, h, ended)
}

func TestPartialsDoNotWaitAndLosingThemIsFine(t *testing.T) {
	defer goleak.VerifyNone(t)
	const n = 5000
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		report.Partial(a.Context(), strings.Repeat("x", wire.MaxFrame)) // fits no frame: lost
		for i := range n {
			report.Partial(a.Context(), fmt.Sprint(i))
		}
		report.Partial(context.Background(), "nobody's")
		return runtime.Answered(report.Nil())
	})
	h.Ask(1, "t", "x", wire.Nil())
	for i := range n {
		f := h.Next(wire.KindCapCall)
		data, _ := f.Cap.Args.Get("bytes")
		name, _ := f.Cap.Args.Get("name")
		kind, _ := f.Cap.Args.Get("content_type")
		b, _ := data.AsBin()
		s, _ := name.AsString()
		c, _ := kind.AsString()
		if f.Cap.Cap != "report.emit" || string(b) != fmt.Sprint(i) || s != "partial" || c != "text/plain" || string(f.Cap.Token) != "t" {
			t.Fatalf("partial %d: %+v", i, f.Cap)
		}
		if i%3 == 0 { // some answers come, all of them late
			h.Answer(f.ID, wire.Result{OK: true, Value: wire.Map(wire.Field{Key: "id", Value: wire.String("r")})})
		}
	}
	if r := h.Result(1); !r.OK {
		t.Error(r.Fault)
	}
	stop(t, h, ended)
}

func TestHowTheStreamEndsDecidesWhatTheLoopReturns(t *testing.T) {
	frame := func(payload ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
	}
	wrongWay, err := wire.AppendCapCall(nil, 1, wire.CapCall{Cap: "kv.get", Args: wire.Map()})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, want string // an empty want is a clean end
		raw        []byte
	}{
		{"nothing", "", nil},
		{"cancel of zero", "", wire.AppendCancel(nil, 0)},
		{"cancel of zero, then garbage", "", append(wire.AppendCancel(nil, 0), 0xff, 0xff, 0xff, 0xff)},
		{"heartbeats", "", wire.AppendHeartbeat(wire.AppendHeartbeat(nil))},
		{"half a header", "inside a frame", []byte{0, 0}},
		{"half a payload", "inside a frame", []byte{0, 0, 0, 9, 0x84}},
		{"too long", "protocol", []byte{0xff, 0xff, 0xff, 0xff}},
		{"not a map", "protocol", frame(0x93, 1, 2, 3)},
		{"nothing in a frame", "protocol", frame()},
		{"an array bomb", "protocol", frame(0xdd, 0xff, 0xff, 0xff, 0xff)},
		{"the wrong way", "cap_call", wrongWay},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			h, ended := serve(t, echo)
			h.Raw(c.raw)
			h.Conn.Close()
			err := wait(t, "the end", ended)
			if c.want == "" && err != nil {
				t.Errorf("got %v; want a clean end", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v; want %q", err, c.want)
			}
		})
	}
}

func TestAHostThatLeavesFramesUnreadIsACleanEnd(t *testing.T) {
	defer goleak.VerifyNone(t)
	h, ended := serve(t, echo)
	h.Ask(1, "t", "x", wire.Nil())
	if _, err := h.Conn.Read(make([]byte, 1)); err != nil { // the rest stays unread, so closing resets
		t.Fatal(err)
	}
	h.Conn.Close()
	if err := wait(t, "the end", ended); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestEndingWithAnOpenInvocationEndsItsContextAndDoesNotWaitForever(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, leave := range map[string]func(*hosttest.Host){
		"cancel": func(h *hosttest.Host) { h.Cancel(0) },
		"close":  func(h *hosttest.Host) { h.Conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			started := make(chan context.Context, 1)
			release, back := make(chan struct{}), make(chan error, 1)
			h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
				started <- a.Context()
				_, _, err := kv.Get(context.WithoutCancel(a.Context()), "k") // waits for the host alone
				back <- err
				<-release // does not listen
				return runtime.Answer{}
			})
			h.Ask(1, "t", "x", wire.Nil())
			ctx := wait(t, "the invocation", started)
			h.Next(wire.KindCapCall)
			leave(h)
			if err := wait(t, "the end", ended); err != nil {
				t.Errorf("got %v", err)
			}
			if ctx.Err() == nil {
				t.Error("the context goes on")
			}
			if err := wait(t, "the waiting call", back); err == nil || !strings.Contains(err.Error(), "gone") {
				t.Errorf("the waiting call got %v", err)
			}
			close(release)
		})
	}
}

func TestTheContextOfTheLoopEndsIt(t *testing.T) {
	defer goleak.VerifyNone(t)
	host, satellite := net.Pipe()
	defer host.Close()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- runtime.Loop(ctx, satellite, echo) }()
	cancel()
	if err := wait(t, "the end", ended); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if _, err := host.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the transport is still open: %v", err)
	}
}

func TestAProcessServesOneLoopAtATime(t *testing.T) {
	defer goleak.VerifyNone(t)
	h, ended := serve(t, echo)
	h.Ask(1, "t", "x", wire.Nil())
	h.Result(1)
	_, second := hosttest.Pair(t)
	if err := runtime.Loop(context.Background(), second, echo); !errors.Is(err, channel.ErrTaken) {
		t.Errorf("got %v", err)
	}
	stop(t, h, ended)
	h, ended = serve(t, echo) // the slot is free again
	h.Ask(1, "t", "x", wire.Nil())
	h.Result(1)
	stop(t, h, ended)
}

// A host that never reads fills the socket. Ending the channel must still get a loop
// out of a blocked write.
func TestABlockedWriteEndsWithTheChannel(t *testing.T) {
	defer goleak.VerifyNone(t)
	h, transport := boot(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended, writing := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- runtime.Loop(ctx, transport, func(runtime.Asked) runtime.Answer {
			close(writing)
			return runtime.Answered(report.Bytes(make([]byte, 8<<20)))
		})
	}()
	h.Ask(1, "t", "x", wire.Nil())
	wait(t, "the answer", writing)
	cancel()
	if err := wait(t, "the end", ended); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// A large result can wait for the host to read it. What the host says meanwhile must be
// read all the same, or two ends that both write wait for each other.
func TestACancelIsReadWhileAResultIsWritten(t *testing.T) {
	defer goleak.VerifyNone(t)
	h, ended := serve(t, func(runtime.Asked) runtime.Answer { return runtime.Answered(report.Bytes(make([]byte, 8<<20))) })
	h.Ask(1, "t", "x", wire.Nil())
	if _, err := h.Conn.Read(make([]byte, 1)); err != nil { // the result has begun, and does not fit the socket
		t.Fatal(err)
	}
	h.Cancel(1)
	late, err := wire.AppendResult(nil, wire.KindCapResult, 77, wire.Result{OK: true, Value: wire.Bin(make([]byte, 4<<20))})
	if err != nil {
		t.Fatal(err)
	}
	h.Conn.SetWriteDeadline(time.Now().Add(patience))
	h.Raw(late) // fails where the cancel is still being worked on
	h.Conn.Close()
	if err := wait(t, "the end", ended); err != nil {
		t.Errorf("got %v", err)
	}
}

// An author's function may ask its context for any method. It must not find the way to
// the host that the capability packages take.
func TestAContextHasTheMethodsOfAContextAlone(t *testing.T) {
	var got reflect.Type
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		got = reflect.TypeOf(a.Context())
		return runtime.Answered(report.Nil())
	})
	h.Ask(1, "t", "x", wire.Nil())
	h.Result(1)
	var methods []string
	for i := range got.NumMethod() {
		methods = append(methods, got.Method(i).Name)
	}
	if want := []string{"Deadline", "Done", "Err", "Format", "String", "Value"}; !slices.Equal(methods, want) {
		t.Errorf("%v has the methods %q; want %q", got, methods, want)
	}
	stop(t, h, ended)
}

func TestPrintingAContextDoesNotPrintTheToken(t *testing.T) {
	h, ended := serve(t, func(a runtime.Asked) runtime.Answer {
		type wrapped struct{ context.Context }
		ctx := a.Context()
		child := context.WithValue(ctx, boolKey{}, 1)
		return runtime.Answered(report.String(fmt.Sprintf("%v %+v %#v %d %x %s %v %v", ctx, ctx, ctx, ctx, ctx, ctx, wrapped{ctx}, child)))
	})
	h.Ask(1, "SECRET", "x", wire.Nil())
	s, _ := h.Result(1).Value.AsString()
	for _, form := range []string{"SECRET", fmt.Sprint([]byte("SECRET")), fmt.Sprintf("%x", "SECRET"), "0x53"} {
		if strings.Contains(s, form) {
			t.Errorf("the token is in %q", s)
		}
	}
	stop(t, h, ended)
}
