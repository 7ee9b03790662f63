package satellite

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	eventually(t, "a call after the answer is refused", func() bool { return strings.Contains(s.Stderr(), wire.CodeUnauthorized) })
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
	s := launch(t, Config{Effects: ReportOnly(func(name, contentType string, data []byte) {
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
	if doc, err := s.Event(t.Context(), "echo", []byte(`{"x": [1.0]}`), 0); err != nil || string(doc) != `{"x": [1.0]}` {
		t.Errorf("%s, %v", doc, err)
	}
	_, err = s.Event(t.Context(), "echo", []byte(`no json`), 0)
	failed(t, err, wire.CodeProtocol, "JSON")
	alive(t, s)

	block := func(kind, body string) wire.Value {
		return wire.Map(wire.Field{Key: "type", Value: wire.String(kind)}, wire.Field{Key: kind, Value: wire.String(body)})
	}
	value := func(terminate wire.Value, blocks ...wire.Value) wire.Value {
		return wire.Map(wire.Field{Key: "content", Value: wire.List(blocks...)}, wire.Field{Key: "terminate", Value: terminate})
	}
	if got, err := outcome(value(wire.Bool(true), block("json", "[1]"), block("text", ""))); err != nil || !got.Terminate || len(got.Content) != 2 || got.Content[0].Type != BlockJSON {
		t.Errorf("%+v, %v", got, err)
	}
	for name, v := range map[string]wire.Value{
		"nil":            wire.Nil(),
		"no content":     wire.Map(wire.Field{Key: "terminate", Value: wire.Bool(true)}),
		"no terminate":   wire.Map(wire.Field{Key: "content", Value: wire.List()}),
		"terminate int":  value(wire.Int(1)),
		"unknown block":  value(wire.Bool(true), block("image", "x")),
		"not JSON":       value(wire.Bool(true), block("json", "{")),
		"bytes for text": value(wire.Bool(true), wire.Map(wire.Field{Key: "type", Value: wire.String("text")}, wire.Field{Key: "text", Value: wire.Bin(nil)})),
	} {
		if _, err := outcome(v); err == nil {
			t.Errorf("%s is taken for an outcome", name)
		}
	}
}
