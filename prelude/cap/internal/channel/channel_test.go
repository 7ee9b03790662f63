package channel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
	capability "github.com/loomext/loomext/prelude/cap"
)

// out is the stream to a host: it keeps what is written, and runs during first.
type out struct {
	written bytes.Buffer
	during  func()
	fails   error // what a write fails with, its first byte out
}

func (o *out) Write(b []byte) (int, error) {
	if o.during != nil {
		o.during()
	}
	if o.fails != nil {
		o.written.Write(b[:1])
		return 1, o.fails
	}
	return o.written.Write(b)
}

func (o *out) frames(t *testing.T) (all []wire.Frame) {
	t.Helper()
	in := wire.NewReader(&o.written, wire.Host)
	for {
		f, err := in.Read()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
}

func idle() {}

func code(err error) string {
	var e *capability.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

func TestAPartialOfAnAnsweredInvocationIsDropped(t *testing.T) {
	var o out
	c := NewConn(&o, idle, nil)
	inv := c.Open(1, []byte("token"), 60_000)
	alive := context.WithoutCancel(inv.Context())
	Post(alive, "report.emit", wire.Map())
	if err := inv.Answer(wire.Result{OK: true}); err != nil {
		t.Fatal(err)
	}
	Post(alive, "report.emit", wire.Map())
	all := o.frames(t)
	if len(all) != 2 || all[0].Kind != wire.KindCapCall || all[1].Kind != wire.KindHookResult {
		t.Errorf("wrote %+v", all)
	}
}

func TestTheDeadlineIsSeenByOneWhoNeverAskedForDone(t *testing.T) {
	inv := NewConn(&out{}, idle, nil).Open(1, nil, 0)
	if err := inv.Context().Err(); err != context.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	inv.End()
	<-inv.Context().Done()
	if err := inv.Context().Err(); err != context.DeadlineExceeded {
		t.Errorf("the end that came first is forgotten: %v", err)
	}
}

// Something left must not travel as nothing left.
func TestWhatIsLeftIsRoundedUp(t *testing.T) {
	inv := NewConn(&out{}, idle, nil).Open(1, nil, 60_000)
	up := func() int64 { return int64((time.Until(inv.deadline) + time.Millisecond - 1) / time.Millisecond) }
	most := up()
	got := leftMS(context.Background(), inv)
	if least := up(); got < least || got > most {
		t.Errorf("%d ms; want %d to %d", got, least, most)
	}
	if got := leftMS(context.Background(), nil); got != 0 {
		t.Errorf("%d ms without any deadline", got)
	}
	ended, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Hour))
	defer cancel()
	if got := leftMS(ended, inv); got != 0 {
		t.Errorf("%d ms after the end", got)
	}
}

func TestAStreamThatBrokeOnceIsNotWrittenAgain(t *testing.T) {
	o := out{fails: io.ErrShortWrite}
	var told []error
	c := NewConn(&o, idle, func(err error) { told = append(told, err) })
	for range 3 {
		if _, err := c.Call(context.Background(), "kv.get", wire.Map()); code(err) != wire.CodeGone {
			t.Errorf("got %v", err)
		}
	}
	if err := c.Open(1, nil, 1000).Answer(wire.Result{OK: true}); err != io.ErrShortWrite {
		t.Errorf("the answer got %v", err)
	}
	if o.written.Len() != 1 || len(told) != 3 || told[0] != io.ErrShortWrite || len(c.waiting) != 0 {
		t.Errorf("%d bytes written, told %v, %d waiting", o.written.Len(), told, len(c.waiting))
	}
}

// An answer that came is never thrown away for a context that ended at the same time,
// and the host is told to stop nothing.
func TestAnAnswerBeatsTheEndOfItsContext(t *testing.T) {
	for range 50 { // the two are chosen between at random
		ctx, cancel := context.WithCancel(context.Background())
		var o out
		c := NewConn(&o, idle, nil)
		o.during = func() {
			cancel()
			c.Deliver(1, wire.Result{OK: true, Value: wire.Int(7)})
		}
		v, err := c.Call(ctx, "clock.now", wire.Map())
		if n, _ := v.AsInt(); err != nil || n != 7 {
			t.Fatalf("got %v, %v", v, err)
		}
		if all := o.frames(t); len(all) != 1 {
			t.Fatalf("wrote %+v", all)
		}
	}
}

func TestALargeFrameIsNotKept(t *testing.T) {
	var o out
	c := NewConn(&o, idle, nil)
	inv := c.Open(1, nil, 1000)
	for _, n := range []int{100, keptBuffer / 2, 4 << 20} {
		if err := inv.Answer(wire.Result{OK: true, Value: wire.Bin(make([]byte, n))}); err != nil {
			t.Fatal(err)
		}
		if kept := cap(c.buf); kept > 2*keptBuffer || kept == 0 {
			t.Errorf("after %d bytes the buffer has room for %d", n, kept)
		}
	}
}

func TestAClosedChannelTakesNoCall(t *testing.T) {
	var o out
	c := NewConn(&o, idle, nil)
	c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // it must not be needed
	defer cancel()
	if _, err := c.Call(ctx, "kv.get", wire.Map()); code(err) != wire.CodeGone {
		t.Errorf("got %v", err)
	}
	if o.written.Len() > 0 {
		t.Error("it was written all the same")
	}
}

// Nobody may be reading when a call is made. The one that waits for its answer says so,
// when the call is out and while the answer can be delivered.
func TestACallSaysThatItWaits(t *testing.T) {
	var o out
	var c *Conn
	c = NewConn(&o, func() {
		if all := o.frames(t); len(all) != 1 || all[0].Kind != wire.KindCapCall {
			t.Errorf("it waits for an answer to %+v", all)
		}
		c.Deliver(1, wire.Result{OK: true, Value: wire.Int(7)})
	}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // it must not be needed
	defer cancel()
	if v, err := c.Call(ctx, "clock.now", wire.Map()); err != nil {
		t.Errorf("got %v, %v", v, err)
	}
	c = NewConn(&o, func() { t.Error("a call that nobody waits for says it waits") }, nil)
	Post(c.Open(1, nil, 1000).Context(), "report.emit", wire.Map())
}
