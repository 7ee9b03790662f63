package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/vet"
)

// accepting answers every kind.
func accepting(_ context.Context, requests []host.AskRequest) ([]json.RawMessage, error) {
	var answers []json.RawMessage
	for _, r := range requests {
		switch r.Kind {
		case host.AskUser:
			answers = append(answers, json.RawMessage(`{"action": "accept", "content": {"city": "Oslo"}}`))
		case host.AskModel:
			answers = append(answers, json.RawMessage(`{"role": "assistant", "text": "a city", "model": "m", "stop_reason": "end"}`))
		case host.AskRoots:
			answers = append(answers, json.RawMessage(`{"roots": [{"uri": "file:///work", "name": "work"}]}`))
		}
	}
	return answers, nil
}

// question is a call that asks once, of everybody.
func question(t *testing.T, asker host.Asker) host.Call {
	t.Helper()
	c := do(t, "ask", "key", "city", "text", "Which city?")
	c.Ask = asker
	return c
}

func TestAToolAsksAndReadsTheAnswers(t *testing.T) {
	s := session(t)
	var asked []string
	got := said(t, s, question(t, func(ctx context.Context, requests []host.AskRequest) ([]json.RawMessage, error) {
		for _, r := range requests {
			asked = append(asked, r.Key+" "+r.Kind+" "+string(r.Params))
		}
		return accepting(ctx, requests)
	}))
	if want := `accept {"city": "Oslo"}, a city, file:///work`; got != want {
		t.Errorf("it read %q; want %q", got, want)
	}
	want := strings.Join([]string{
		`city user {"message":"Which city?","requestedSchema":{"type":"object","properties":{"city":{"type":"string"}}}}`,
		`city_model model {"messages":[{"role":"user","text":"Which city?"}],"max_tokens":10}`,
		`city_roots roots {}`,
	}, "\n")
	if strings.Join(asked, "\n") != want {
		t.Errorf("asked\n%s\nwant\n%s", strings.Join(asked, "\n"), want)
	}
}

func TestAnAskerBelongsToItsCall(t *testing.T) {
	s := session(t)
	said(t, s, question(t, accepting))
	_, err := s.Call(t.Context(), question(t, nil))
	fails(t, err, host.Refused, wire.CodeUnavailable+": nobody can be asked here")
	_, err = s.Call(t.Context(), question(t, func(context.Context, []host.AskRequest) ([]json.RawMessage, error) {
		return nil, errors.New("this client\nhas no forms")
	}))
	fails(t, err, host.Refused, wire.CodeUnavailable+": this client has no forms")
	_, err = s.Call(t.Context(), question(t, func(context.Context, []host.AskRequest) ([]json.RawMessage, error) {
		panic("an asker's bug")
	}))
	if e := fails(t, err, host.Refused, wire.CodeUnavailable); strings.Contains(e.Error(), "bug") {
		t.Errorf("the extension hears %q", e)
	}
	if st := status(t, s, "probe"); st.State != host.StateIdle || st.Strikes != 0 {
		t.Errorf("not to be answered is no fault: %+v", st)
	}
}

func TestOneInvocationAsksEightTimes(t *testing.T) {
	s := session(t)
	c := do(t, "askagain", "key", "k", "text", "And now?", "n", 20)
	c.Ask = accepting
	if got := said(t, s, c); !strings.HasPrefix(got, "8 answers, then ask: \"k8\": "+wire.CodePolicy+": ") {
		t.Errorf("%q", got)
	}
	if got := said(t, s, c); !strings.HasPrefix(got, "8 answers") {
		t.Errorf("the next invocation: %q", got)
	}
	c = do(t, "askagain", "key", "k", "text", strings.Repeat("x", 64<<10), "n", 1)
	c.Ask = accepting
	if got := said(t, s, c); !strings.Contains(got, wire.CodeTooLarge) {
		t.Errorf("a long question: %q", got)
	}
}

func TestACancelledCallEndsItsQuestion(t *testing.T) {
	s := session(t)
	for name, end := range map[string]struct {
		timeout time.Duration
		cancel  bool
		kind    host.Kind
	}{
		"cancelled":   {cancel: true, kind: host.Cancelled},
		"out of time": {timeout: 300 * time.Millisecond, kind: host.Deadline},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var ended atomic.Bool
		c := question(t, func(ctx context.Context, _ []host.AskRequest) ([]json.RawMessage, error) {
			if end.cancel {
				cancel()
			}
			<-ctx.Done()
			ended.Store(true)
			return nil, ctx.Err()
		})
		c.Timeout = end.timeout
		_, err := s.Call(ctx, c)
		cancel()
		fails(t, err, end.kind, "")
		livetest.Eventually(t, name+": the asker was told", ended.Load)
		if st := status(t, s, "probe"); st.Strikes != 0 {
			t.Errorf("%s: what a caller ends is a strike: %+v", name, st)
		}
	}
	if got := said(t, s, question(t, accepting)); !strings.HasPrefix(got, "accept") {
		t.Errorf("afterwards it reads %q", got)
	}
}

func TestAQuestionThatWasNotGrantedIsNotAsked(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "home")
	_, err := install.Open(own).Install(t.Context(), install.Options{
		Source: "testdata/probe", Builder: &build.Builder{Cache: filepath.Join(filepath.Dir(home), "cache"), Std: vet.Std()},
		Preset: &install.Decision{Granted: []string{"kv"}, How: "test"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	h, err := host.New(host.Options{Home: own, Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	var asked bytes.Buffer
	_, err = open(t, h, host.SessionOptions{}).Call(t.Context(), question(t, func(_ context.Context, requests []host.AskRequest) ([]json.RawMessage, error) {
		asked.WriteString(requests[0].Key)
		return nil, nil
	}))
	fails(t, err, host.Refused, wire.CodeDenied+": the operator did not grant ask to probe")
	if asked.Len() > 0 {
		t.Errorf("it asked %s", &asked)
	}
}
