package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is a connection whose client is the test.
type wire struct {
	t    *testing.T
	in   io.Writer
	say  func(lines ...string)
	end  func()
	out  *written
	conn sdk.Connection
	got  chan jsonrpc.Message // what was received
	err  chan error           // how it ended
}

// newWire is used in a bubble of synctest. What is written to out waits for gate, where there is one.
func newWire(t *testing.T, gate chan struct{}, l *Lines) *wire {
	t.Helper()
	in, client := io.Pipe()
	w := &wire{t: t, in: client, out: &written{}, got: make(chan jsonrpc.Message, 10_000), err: make(chan error, 1)}
	if l.Out = w.out; l.In == (hung{}) {
		l.In = hung{in}
	} else {
		l.In = in
	}
	if gate != nil {
		l.Out = gated{gate, w.out}
	}
	var err error
	if w.conn, err = l.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.say = func(lines ...string) {
		go func() {
			for _, line := range lines {
				_, _ = io.WriteString(client, line+"\n")
			}
		}()
		synctest.Wait()
	}
	w.end = func() { _ = client.Close() }
	go func() {
		for {
			message, err := w.conn.Read(t.Context())
			if err != nil {
				w.err <- err
				return
			}
			w.got <- message
		}
	}()
	t.Cleanup(func() {
		_ = w.conn.Close()
		_ = in.Close()
		_ = client.Close()
	})
	return w
}

// gated is a client that reads nothing before the gate is open.
type gated struct {
	gate chan struct{}
	w    io.Writer
}

func (g gated) Write(p []byte) (int, error) {
	<-g.gate
	return g.w.Write(p)
}

// methods are those of what was received since.
func (w *wire) methods() []string {
	synctest.Wait()
	var all []string
	for {
		select {
		case message := <-w.got:
			if request, ok := message.(*jsonrpc.Request); ok {
				all = append(all, request.Method)
			} else {
				all = append(all, "an answer")
			}
		default:
			return all
		}
	}
}

func (w *wire) answer(id string) {
	w.t.Helper()
	if err := w.conn.Write(w.t.Context(), &jsonrpc.Response{ID: idOf(w.t, id), Result: json.RawMessage("{}")}); err != nil {
		w.t.Error(err)
	}
}

func idOf(t *testing.T, id string) jsonrpc.ID {
	t.Helper()
	made, err := jsonrpc.MakeID(id)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func request(id, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q}`, id, method)
}

func cancellation(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id)
}

func TestACallWaitsWhileTooManyAreOpenAndCancellationsDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, nil, &Lines{})
		for i := range maxOpen {
			w.say(request(fmt.Sprint(i), "open"))
		}
		if n := len(w.methods()); n != maxOpen {
			t.Fatalf("%d calls were begun", n)
		}
		w.say(request("late", "late"), request("gone", "gone"), cancellation("gone"), cancellation("3"), `{"jsonrpc":"2.0","id":7,"result":{}}`)
		if got := fmt.Sprint(w.methods()); got != "[notifications/cancelled an answer]" {
			t.Errorf("beside %d open calls there came %s", maxOpen, got)
		}
		w.answer("3")
		if got := fmt.Sprint(w.methods()); got != "[late]" {
			t.Errorf("after an answer there came %s", got)
		}
		w.answer("4")
		if got := w.methods(); len(got) > 0 {
			t.Errorf("what was cancelled before it began was begun: %s", got)
		}
		w.say(request("gone", "again"))
		if got := fmt.Sprint(w.methods()); got != "[again]" {
			t.Errorf("its id came again, and there came %s", got)
		}
	})
}

func TestACallWaitsForAClientThatReadsNoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		w := newWire(t, gate, &Lines{})
		w.say(request("a", "first"), request("b", "second"))
		if got := w.methods(); len(got) != 2 {
			t.Fatalf("%s", got)
		}
		go func() {
			_ = w.conn.Write(t.Context(), &jsonrpc.Response{ID: idOf(t, "a"), Result: json.RawMessage(`"` + strings.Repeat("x", maxUnread) + `"`)})
		}()
		synctest.Wait()
		w.say(request("c", "third"), cancellation("b"))
		if got := fmt.Sprint(w.methods()); got != "[notifications/cancelled]" {
			t.Errorf("beside an answer that is not read there came %s", got)
		}
		close(gate)
		if got := fmt.Sprint(w.methods()); got != "[third]" {
			t.Errorf("after it was read there came %s", got)
		}
	})
}

func TestWhatIsReadAheadIsBoundedAndAClientThatReadsNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		w := newWire(t, gate, &Lines{})
		var taken atomic.Int64
		go func() {
			for i := range 200 { // of 1 MiB each
				line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x","params":{"p":"%s"}}`, i, strings.Repeat("y", 1<<20))
				if _, err := io.WriteString(w.in, line+"\n"); err != nil {
					return
				}
				taken.Add(1)
			}
		}()
		time.Sleep(time.Second)
		const most = (maxOpenBytes+maxAhead)>>20 + 2
		if n := taken.Load(); n > most || n < most/2 {
			t.Errorf("%d MiB of requests were taken; nothing was answered", n)
		}
		go func() {
			_ = w.conn.Write(t.Context(), &jsonrpc.Response{ID: idOf(t, "none"), Result: json.RawMessage("{}")})
		}()
		time.Sleep(2*stallTime + parting + time.Second)
		select {
		case err := <-w.err:
			if err == nil && !errors.Is(err, errStalled) {
				t.Errorf("it ended with %v", err)
			}
		default:
			t.Error("the connection goes on")
		}
		close(gate)
	})
}

func TestASecondCallUnderAnOpenIDIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, nil, &Lines{})
		w.say(request("a", "first"), request("a", "second"))
		if got := fmt.Sprint(w.methods()); got != "[first]" {
			t.Errorf("%s", got)
		}
		if got := w.out.String(); got != sameID {
			t.Errorf("answered %q", got)
		}
		w.answer("a")
		w.say(request("a", "third"))
		if got := fmt.Sprint(w.methods()); got != "[third]" {
			t.Errorf("after the answer: %s", got)
		}
	})
}

func TestAClientThatReadsNothingAndClosesItsSideIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		w := newWire(t, gate, &Lines{})
		w.say("no JSON", "nor this", request("a", "first"))
		if got := fmt.Sprint(w.methods()); got != "[first]" {
			t.Errorf("behind lines that are refused there came %s", got)
		}
		w.end()
		began := time.Now()
		if err := <-w.err; !errors.Is(err, io.EOF) {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took != parting {
			t.Errorf("it took %s", took)
		}
		close(gate)
	})
}

func TestAnAnswerThatIsNoJSONIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, nil, &Lines{})
		w.say(request("a", "first"), request("b", "second"))
		deep := json.RawMessage(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000))
		if err := w.conn.Write(t.Context(), &jsonrpc.Response{ID: idOf(t, "a"), Result: deep}); err != nil {
			t.Errorf("it ends the connection: %v", err)
		}
		if err := w.conn.Write(t.Context(), &jsonrpc.Response{ID: idOf(t, "b"), Error: errors.New("without a code")}); err != nil {
			t.Error(err)
		}
		lines := strings.Split(strings.TrimSpace(w.out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], `"id":"a"`) || !strings.Contains(lines[0], "-32603") || !strings.Contains(lines[1], "-32603") {
			t.Errorf("%q", lines)
		}
	})
}

// hung is the side of a client that has closed it, and of which not all is read.
type hung struct{ io.Reader }

func (hung) HungUp() bool { return true }

func TestAClientIsSeenToBeGoneThoughNotAllThatItSaidIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		w := newWire(t, gate, &Lines{In: hung{}})
		go func() {
			for i := 0; ; i++ {
				line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x","params":{"p":"%s"}}`, i, strings.Repeat("y", 1<<20))
				if _, err := io.WriteString(w.in, line+"\n"); err != nil {
					return
				}
			}
		}()
		go func() {
			_ = w.conn.Write(t.Context(), &jsonrpc.Response{ID: idOf(t, "none"), Result: json.RawMessage("{}")})
		}()
		began := time.Now()
		if err := <-w.err; !errors.Is(err, io.EOF) {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took < parting || took > parting+2*lookTime {
			t.Errorf("it took %s", took)
		}
		close(gate)
	})
}
