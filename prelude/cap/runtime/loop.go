package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap/internal/channel"
)

// exitGrace is how long a loop that ends waits for the function it was running. Its
// context has ended, so one that listens is back at once; one that does not listen
// ends with the process.
const exitGrace = 100 * time.Millisecond

// Loop serves one host over transport until the host ends it, and closes transport. It
// returns nil after the end of the stream or a cancel of 0, what ended ctx if that did,
// and otherwise the fault.
//
// The transport's Close must unblock its Read and Write, as that of a socket does. A
// process serves one loop at a time; a second is refused with an error.
func Loop(ctx context.Context, transport io.ReadWriteCloser, answer func(Asked) Answer) error {
	l := &loop{
		transport: transport,
		answer:    answer,
		reader:    wire.NewReader(transport, wire.Satellite),
		done:      make(chan struct{}),
	}
	l.turn.pass = l.start
	l.conn = channel.NewConn(transport, l.turn.hand, l.lost)
	remove, err := channel.Install(l.conn)
	if err != nil {
		transport.Close()
		return err
	}
	defer remove()
	stop := context.AfterFunc(ctx, func() { l.end(context.Cause(ctx)) })
	defer stop()

	l.start()
	<-l.done
	l.settle()
	return l.fault
}

// loop is one run of Loop.
//
// The goroutine that reads a hook_call runs the answer itself, so a question is never
// handed from one goroutine to the next on its way. Who reads meanwhile is turn's
// matter.
type loop struct {
	transport io.ReadWriteCloser
	conn      *channel.Conn
	answer    func(Asked) Answer
	reader    *wire.Reader // used only by whoever has the turn
	turn      turn

	// mu is held while a result is written, which makes that and becoming idle one step
	// for whoever read the next hook_call. The goroutine that reads takes it for no
	// other frame: it must not wait for one that writes.
	mu   sync.Mutex
	open atomic.Pointer[channel.Invocation]

	// starting orders the start of a worker with the end of the loop, which waits for
	// all of them.
	starting sync.Mutex
	ended    atomic.Bool
	workers  sync.WaitGroup

	once  sync.Once
	fault error // set before done is closed
	done  chan struct{}
}

// start has another goroutine read, unless the loop has ended.
func (l *loop) start() {
	l.starting.Lock()
	defer l.starting.Unlock()
	if !l.ended.Load() {
		l.workers.Add(1)
		go l.work()
	}
}

// work reads and answers for as long as it has the turn.
func (l *loop) work() {
	clean := false
	defer func() {
		if !clean { // an author's Goexit is on its way through, or a fault of ours
			l.stumbled(recover())
		}
		l.workers.Done()
	}()
	for l.lead() {
	}
	clean = true
}

// lead reads up to the next hook_call and has that answered. It reports whether the
// goroutine still has the turn.
func (l *loop) lead() bool {
	for {
		frame, err := l.reader.Read()
		if err != nil {
			l.end(streamFault(err))
			return false
		}
		switch frame.Kind {
		case wire.KindCapResult:
			l.conn.Deliver(frame.ID, frame.Result)
			runtime.Gosched() // the one that waited goes first
		case wire.KindCancel:
			if frame.ID == 0 {
				l.end(nil)
				return false
			}
			l.cancel(frame.ID)
			runtime.Gosched()
		case wire.KindHookCall:
			if inv := l.accept(frame.ID, &frame.Call); inv != nil {
				return l.answered(inv, Asked{
					Invocation: Invocation{Kind: Kind(frame.Call.Kind), Name: frame.Call.Name},
					Args:       frame.Call.Args,
					DeadlineMS: frame.Call.DeadlineMS,
					ctx:        inv.Context(),
				})
			}
		}
	}
}

// accept opens the invocation of a hook_call, or answers why it does not.
func (l *loop) accept(id int64, call *wire.HookCall) *channel.Invocation {
	l.mu.Lock()
	busy := l.open.Load() != nil
	l.mu.Unlock()
	if busy {
		l.refuse(id, wire.CodeBusy, "another invocation is open; wait for its answer")
		return nil
	}
	switch Kind(call.Kind) {
	case Tool, Event, Command:
	default:
		l.refuse(id, wire.CodeBadKind, fmt.Sprintf("a satellite answers tool, event and command, not %.64q", call.Kind))
		return nil
	}
	inv := l.conn.Open(id, call.Token, call.DeadlineMS)
	l.open.Store(inv)
	if l.ended.Load() { // perhaps too late for end to have seen it
		inv.End()
	}
	l.turn.keep()
	return inv
}

// refuse answers a hook_call that opens nothing.
func (l *loop) refuse(id int64, code, msg string) {
	if err := l.conn.Refuse(id, wire.Fault{Code: code, Msg: msg}); err != nil {
		l.end(streamFault(err))
	}
}

// answered runs the answering function and writes what it returns. A function that
// never returns, because it panicked or ended its goroutine, is answered all the same.
// It reports whether the goroutine still has the turn.
func (l *loop) answered(inv *channel.Invocation, asked Asked) (turn bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		text := "the answer panicked"
		defer func() { // whatever the panic value's own methods do
			l.finish(inv, wire.Result{Fault: wire.Fault{Code: wire.CodeCrashed, Msg: text}})
			l.turn.hand() // a goroutine that is ending cannot read
		}()
		text = crash(recover())
	}()
	answer := l.answer(asked)
	returned = true
	l.finish(inv, answer.result())
	return l.turn.take() && !l.ended.Load()
}

// finish writes the result of the open invocation and makes the loop idle.
func (l *loop) finish(inv *channel.Invocation, r wire.Result) {
	l.mu.Lock()
	err := inv.Answer(r)
	l.open.Store(nil)
	l.mu.Unlock()
	inv.End()
	if err != nil {
		l.end(streamFault(err))
	}
}

// cancel ends the context of the invocation with this id, if it is the open one.
func (l *loop) cancel(id int64) {
	if inv := l.open.Load(); inv != nil && inv.ID() == id {
		inv.End()
	}
}

// lost is told of a call that could not be written.
func (l *loop) lost(err error) { l.end(streamFault(err)) }

// end ends the loop, the first time it is called.
func (l *loop) end(fault error) {
	l.once.Do(func() {
		l.fault = fault
		l.starting.Lock()
		l.ended.Store(true)
		l.starting.Unlock()
		l.transport.Close()
		l.conn.Close()
		if inv := l.open.Load(); inv != nil {
			inv.End()
		}
		close(l.done)
	})
}

// settle waits for the goroutines, but not forever: an author's function may never
// come back.
func (l *loop) settle() {
	l.turn.stop()
	all := make(chan struct{})
	go func() {
		l.workers.Wait()
		close(all)
	}()
	grace := time.NewTimer(exitGrace)
	defer grace.Stop()
	select {
	case <-all:
	case <-grace.C:
	}
}

// stumbled is called where a worker ends other than by returning. After an author's
// Goexit another worker has the turn and all is well. A panic is one of ours.
func (l *loop) stumbled(panicked any) {
	if panicked != nil {
		l.end(fmt.Errorf("an internal fault: %.200v", panicked))
	}
}

// streamFault is what an error of the stream means to the loop: nil where it only says
// that the host is gone.
func streamFault(err error) error {
	var refused *wire.ProtocolError
	switch {
	case errors.Is(err, io.EOF), hungUp(err):
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the stream ended inside a frame")
	case errors.As(err, &refused):
		return err
	}
	return fmt.Errorf("the stream failed: %w", err)
}
