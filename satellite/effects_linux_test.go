package satellite

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/internal/wire"
)

func TestTokenIsJudgedFrameByFrame(t *testing.T) {
	var served atomic.Int64
	s := launch(t, Config{Effects: func(context.Context, CapCall) wire.Result {
		served.Add(1)
		return wire.Result{OK: true, Value: wire.Map()}
	}})
	if got := said(t, s, "cap x.y"); got != "ok map" {
		t.Errorf("with its token: %s", got)
	}
	for _, name := range []string{"wrongtoken", "notoken", "oldtoken"} {
		if got := said(t, s, name); !strings.HasPrefix(got, wire.CodeUnauthorized+": ") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if v, err := call(s, "expired", 20*time.Millisecond); err != nil {
		t.Error(err)
	} else if got, _ := v.AsString(); !strings.HasPrefix(got, wire.CodeUnauthorized) {
		t.Errorf("after the deadline: %s", got)
	}
	if got := said(t, s, "notime"); !strings.HasPrefix(got, wire.CodeDeadline) {
		t.Errorf("with no time left: %s", got)
	}
	if _, err := call(s, "afterwards", 0); err != nil {
		t.Fatal(err)
	}
	livetest.Eventually(t, "a call after the answer is refused", func() bool { return strings.Contains(s.Output(), wire.CodeUnauthorized) })
	alive(t, s)
	if n := served.Load(); n != 1 {
		t.Errorf("%d effects were served, want the first alone", n)
	}
}

func TestEffectSeesTheCallAndItsTime(t *testing.T) {
	var got CapCall
	var left time.Duration
	s := launch(t, Config{Effects: func(ctx context.Context, call CapCall) wire.Result {
		got = call
		end, _ := ctx.Deadline()
		left = time.Until(end)
		return Failed(wire.CodeDenied, "not this one")
	}})
	alive(t, s)
	v, err := call(s, "cap fs.read", 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := v.AsString(); text != "denied: not this one" {
		t.Error(text)
	}
	if got.Invocation != 2 || got.Cap != "fs.read" || got.Args.Type() != wire.TypeMap || got.DeadlineMS > 5000 || got.DeadlineMS < 1 || left > 5*time.Second {
		t.Errorf("%+v with %v", got, left)
	}
}

func TestEffectsOfOneCallAreBounded(t *testing.T) {
	release := make(chan struct{})
	s := launch(t, Config{Effects: func(ctx context.Context, _ CapCall) wire.Result {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return wire.Result{OK: true}
	}})
	if got := said(t, s, "many "+strconv.Itoa(maxEffects+1)); !strings.HasPrefix(got, wire.CodePolicy+": ") {
		t.Error(got)
	}
	if got := said(t, s, "large 9"); !strings.HasPrefix(got, wire.CodePolicy+": ") || !strings.Contains(got, "MiB") {
		t.Error(got)
	}
	close(release)
	alive(t, s)
}

func TestAnswersThatAreNotReadAreBounded(t *testing.T) {
	const size = 1 << 20
	var served atomic.Int64
	s := launch(t, Config{Effects: func(context.Context, CapCall) wire.Result {
		served.Add(1)
		return wire.Result{OK: true, Value: wire.Bin(make([]byte, size))}
	}})
	_, err := call(s, "unread 4000", 700*time.Millisecond)
	failed(t, err, wire.CodeDeadline, "")
	<-s.Done()
	if n := served.Load(); n < 2 || n > maxEffects+maxResultMemory/size {
		t.Errorf("%d effects of 1 MiB were served for a satellite that reads none", n)
	}
	if s.unread != (unread{}) {
		t.Errorf("%+v is left", s.unread)
	}
}

func TestEffectEndsWhenItIsCalledOff(t *testing.T) {
	ended := make(chan struct{})
	s := launch(t, Config{Effects: func(ctx context.Context, call CapCall) wire.Result {
		if call.Cap == "wait" {
			<-ctx.Done()
			close(ended)
		} else {
			<-ended
		}
		return wire.Result{OK: true}
	}})
	if got := said(t, s, "calloff"); got != "ok nil" {
		t.Error(got)
	}
}

// A result that nobody waits for any longer is not sent: not one that was called
// off, and not one whose call is answered.
func TestUnwantedResultIsNotSent(t *testing.T) {
	for range 5 {
		wait := make(chan context.Context, 1)
		var s *Satellite
		s = launch(t, Config{Effects: func(ctx context.Context, call CapCall) wire.Result {
			switch call.Cap {
			case "wait":
				wait <- ctx
				<-ctx.Done()
			case "release":
				<-(<-wait).Done()
				livetest.Eventually(t, "the effect has returned", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.effects) == 1 })
				time.Sleep(5 * time.Millisecond) // for a result that must not come
			}
			return wire.Result{OK: true}
		}})
		if got := said(t, s, "calloff"); got != "ok nil" {
			t.Fatal(got)
		}
		if _, err := call(s, "leave", 0); err != nil {
			t.Fatal(err)
		}
		if got := said(t, s, "results"); got != "2 4 " {
			t.Errorf("results of %qcame, want those of both releases alone", got)
		}
	}
}

func TestEffectHasNoMoreTimeThanItAskedFor(t *testing.T) {
	var got CapCall
	s := launch(t, Config{Effects: func(ctx context.Context, call CapCall) wire.Result {
		got = call
		<-ctx.Done()
		return Failed(wire.CodeDeadline, "as asked")
	}})
	v, err := call(s, "soon 30", 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := v.AsString(); text != "deadline: as asked" || got.DeadlineMS != 30 {
		t.Errorf("%q, with %d ms", text, got.DeadlineMS)
	}
}

func TestEffectThatPanicsIsUnavailable(t *testing.T) {
	s := launch(t, Config{Effects: func(_ context.Context, call CapCall) wire.Result { panic("a secret of the host") }})
	for _, name := range []string{"cap fs.read", "badreport"} {
		if got := said(t, s, name); !strings.HasPrefix(got, wire.CodeUnavailable+": ") || strings.Contains(got, "secret") {
			t.Errorf("%s: %q", name, got)
		}
	}
	alive(t, s)
}

func TestAnInvocationBringsItsOwnEffects(t *testing.T) {
	served := func(by string) Effects {
		return func(context.Context, CapCall) wire.Result { return Failed(by, "served") }
	}
	s := launch(t, Config{Effects: served("config")})
	for _, own := range []Effects{nil, served("first"), served("second"), nil} {
		want := "config: "
		if own != nil {
			want = own(t.Context(), CapCall{}).Fault.Code + ": "
		}
		v, err := s.Invoke(t.Context(), Invocation{Kind: wire.CallTool, Name: "cap fs.read", Effects: own})
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := v.AsString(); !strings.HasPrefix(text, want) {
			t.Errorf("%q, want one served by %q", text, want)
		}
	}
}

func TestEffectEndsWithItsCall(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Satellite){
		"answered": func(t *testing.T, s *Satellite) {
			if _, err := call(s, "leave", time.Hour); err != nil {
				t.Error(err)
			}
		},
		"deadline": func(t *testing.T, s *Satellite) {
			_, err := call(s, "hold", 20*time.Millisecond)
			failed(t, err, wire.CodeDeadline, "")
		},
		"cancelled": func(t *testing.T, s *Satellite) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(20*time.Millisecond, cancel)
			_, err := s.Invoke(ctx, Invocation{Kind: wire.CallTool, Name: "hold"})
			failed(t, err, wire.CodeCancelled, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			s := launch(t, Config{Effects: func(ctx context.Context, _ CapCall) wire.Result {
				<-ctx.Done()
				ended <- ctx.Err()
				return wire.Result{OK: true}
			}})
			end(t, s)
			if err := <-ended; err == nil {
				t.Error("the effect's context has not ended")
			}
		})
	}
}

func TestReportsKeepTheirOrderAndComeBeforeTheAnswer(t *testing.T) {
	var mu sync.Mutex
	var got []string
	s := launch(t, Config{Effects: reportOnly(func(name, contentType string, data []byte) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, name+" "+contentType+" "+string(data))
	})})
	for range 5 {
		got = nil
		if _, err := call(s, "reports 50", 0); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		for i := range 50 {
			if want := "partial text/plain " + strconv.Itoa(i); len(got) != 50 || got[i] != want {
				t.Fatalf("%d reports, %q", len(got), got)
			}
		}
		mu.Unlock()
	}
	if text := said(t, s, "badreport"); !strings.HasPrefix(text, wire.CodeInvalidArgument) {
		t.Error(text)
	}
	if text := said(t, s, "cap fs.read"); !strings.HasPrefix(text, wire.CodeUnavailable) {
		t.Error(text)
	}
}

func TestResultThatFitsNoFrameIsTooLarge(t *testing.T) {
	s := launch(t, Config{Effects: func(context.Context, CapCall) wire.Result {
		return wire.Result{OK: true, Value: wire.Bin(make([]byte, wire.MaxFrame))}
	}})
	if got := said(t, s, "cap net.request"); !strings.HasPrefix(got, wire.CodeTooLarge) {
		t.Error(got)
	}
}

func TestOutcomes(t *testing.T) {
	s := launch(t, Config{})
	out, err := s.Tool(t.Context(), "tool", []byte(`{"a":1}`), "main", 0)
	if err != nil || len(out.Content) != 1 || out.Content[0].Type != BlockText || string(out.Content[0].Body) != `{"a":1}` || out.Terminate {
		t.Errorf("%+v, %v", out, err)
	}
	event := func(document string) ([]byte, error) {
		v, err := s.Invoke(t.Context(), EventCall("echo", []byte(document)))
		if err != nil {
			return nil, err
		}
		return Document(v)
	}
	if doc, err := event(`{"x": [1.0]}`); err != nil || string(doc) != `{"x": [1.0]}` {
		t.Errorf("%s, %v", doc, err)
	}
	_, err = event(`no json`)
	failed(t, err, wire.CodeProtocol, "JSON")
	alive(t, s)

	block := func(kind, body string) wire.Value {
		return wire.Map(wire.Field{Key: "type", Value: wire.String(kind)}, wire.Field{Key: kind, Value: wire.String(body)})
	}
	value := func(terminate wire.Value, blocks ...wire.Value) wire.Value {
		return wire.Map(wire.Field{Key: "content", Value: wire.List(blocks...)}, wire.Field{Key: "terminate", Value: terminate})
	}
	if got, err := Outcome(value(wire.Bool(true), block("json", "[1]"), block("text", ""))); err != nil || !got.Terminate || len(got.Content) != 2 || got.Content[0].Type != BlockJSON {
		t.Errorf("%+v, %v", got, err)
	}
	good := block("text", "")
	for name, c := range map[string]struct {
		value wire.Value
		says  string
	}{
		"nil":            {wire.Nil(), "no list of content"},
		"no content":     {wire.Map(wire.Field{Key: "terminate", Value: wire.Bool(true)}), "no list of content"},
		"no terminate":   {wire.Map(wire.Field{Key: "content", Value: wire.List()}), "terminate"},
		"terminate int":  {value(wire.Int(1)), "terminate"},
		"unknown block":  {value(wire.Bool(true), good, block("im\nage", "x")), `block 1 of a tool's outcome is of type "im\nage"`},
		"long type":      {value(wire.Bool(true), block(strings.Repeat("x", 1000), "x")), strings.Repeat("x", maxTypeNamed) + `"…`},
		"no type":        {value(wire.Bool(true), wire.Nil()), "block 0 of a tool's outcome is of no type"},
		"not JSON":       {value(wire.Bool(true), good, good, block("json", "{")), "block 2 of a tool's outcome is of type json"},
		"bytes for text": {value(wire.Bool(true), wire.Map(wire.Field{Key: "type", Value: wire.String("text")}, wire.Field{Key: "text", Value: wire.Bin(nil)})), "block 0 of a tool's outcome is of type text"},
	} {
		_, err := Outcome(c.value)
		if err == nil {
			t.Errorf("%s is taken for an outcome", name)
			continue
		}
		if e := failed(t, err, wire.CodeProtocol, c.says); len(e.Msg) > 256 {
			t.Errorf("%s: %d bytes", name, len(e.Msg))
		}
	}
}

func TestPromptEffects(t *testing.T) {
	invoke := func(s *Satellite, name string, deadline time.Duration, effects Effects, prompt func(string) bool) (string, error) {
		v, err := s.Invoke(t.Context(), Invocation{Kind: wire.CallTool, Name: name, Deadline: deadline, Effects: effects, Prompt: prompt})
		text, _ := v.AsString()
		return text, err
	}
	s := launch(t, Config{})
	fine := func(context.Context, CapCall) wire.Result { return wire.Result{OK: true} }
	for name, prompt := range map[string]func(string) bool{
		"none": nil, "this": func(name string) bool { return name == "kv.get" }, "another": func(name string) bool { return name == "kv.set" },
	} {
		if text, err := invoke(s, "cap kv.get", 0, fine, prompt); err != nil || text != "ok nil" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	all := func(string) bool { return true }
	if text, err := invoke(s, "cap kv.get", 0, func(context.Context, CapCall) wire.Result { panic("a secret of the host") }, all); err != nil || !strings.HasPrefix(text, wire.CodeUnavailable) {
		t.Errorf("one that panics: %q, %v", text, err)
	}
	// One that waits after all holds up its own call alone, and that until its deadline.
	var end error
	_, err := invoke(s, "cap kv.get", 20*time.Millisecond, func(ctx context.Context, _ CapCall) wire.Result {
		<-ctx.Done()
		end = ctx.Err()
		return wire.Result{OK: true}
	}, all)
	if end != context.DeadlineExceeded {
		t.Errorf("the effect ended by %v, the call by %v", end, err)
	}
}
