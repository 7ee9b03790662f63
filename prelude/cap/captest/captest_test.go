package captest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/cap/net"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// weather is what an author might write.
func weather(ctx ext.Ctx, _ json.RawMessage) (ext.Outcome, error) {
	ctx.Report("asking")
	response, err := net.Fetch(ctx, "https://weather.example/oslo")
	if err != nil {
		return ext.Outcome{}, err
	}
	if err := kv.Set(ctx, "last", response.Body); err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text(string(response.Body)), nil
}

func TestAnAuthorsTool(t *testing.T) {
	host := captest.New(t)
	host.Handle("net.request", func(c captest.Call) (captest.Value, error) {
		url, err := report.StringAt(c.Args, "url")
		if err != nil {
			return captest.Value{}, err
		}
		return captest.Response(200, nil, []byte("clear at "+url)), nil
	})
	host.Handle("kv.set", func(captest.Call) (captest.Value, error) { return captest.Done(), nil })
	outcome, err := weather(host.Ctx(), nil)
	if err != nil || outcome.Content[0] != (ext.TextContent{Text: "clear at https://weather.example/oslo"}) {
		t.Errorf("got %v, %v", outcome, err)
	}
	var caps []string
	for _, c := range host.Calls() {
		caps = append(caps, c.Cap)
	}
	if fmt.Sprint(caps, host.Partials()) != "[net.request kv.set] [asking]" {
		t.Errorf("got %v, %v", caps, host.Partials())
	}
}

func TestACapabilityWithoutAHandlerSaysWhatToAdd(t *testing.T) {
	host := captest.New(t)
	_, err := weather(host.Ctx(), nil)
	var e *cap.Error
	if !errors.As(err, &e) || e.Code != "unknown_capability" || !strings.Contains(e.Msg, `Handle("net.request"`) {
		t.Errorf("got %v", err)
	}
}

func TestAHandlersOwnErrorIsUnavailable(t *testing.T) {
	host := captest.New(t)
	host.Handle("net.request", func(captest.Call) (captest.Value, error) { return captest.Value{}, errors.New("down") })
	_, err := weather(host.Ctx(), nil)
	var e *cap.Error
	if !errors.As(err, &e) || *e != (cap.Error{Code: "unavailable", Msg: "down"}) {
		t.Errorf("got %v", err)
	}
}

func TestWhatCannotTravelFailsHereToo(t *testing.T) {
	host := captest.New(t)
	host.Handle("kv.get", func(captest.Call) (captest.Value, error) {
		return captest.Found(make([]byte, wire.MaxFrame)), nil
	})
	if _, _, err := kv.Get(host.Context(), "k"); err == nil || !strings.Contains(err.Error(), "cannot travel") {
		t.Errorf("got %v", err)
	}
	var e *cap.Error
	if err := kv.Set(host.Context(), "k", make([]byte, wire.MaxFrame)); !errors.As(err, &e) || e.Code != "too_large" {
		t.Errorf("got %v", err)
	}
	if n := len(host.Calls()); n != 1 {
		t.Errorf("%d calls arrived", n)
	}
}

func TestAfterTheEndCallsAreUnauthorized(t *testing.T) {
	host := captest.New(t)
	host.End()
	if host.Context().Err() == nil {
		t.Error("the context goes on")
	}
	var e *cap.Error
	if err := kv.Set(context.WithoutCancel(host.Context()), "k", nil); !errors.As(err, &e) || e.Code != "unauthorized" {
		t.Errorf("got %v", err)
	}
	host.Ctx().Report("late")
	report.Partial(context.WithoutCancel(host.Context()), "late, and its context does not say so")
	if len(host.Calls()) != 0 || len(host.Partials()) != 0 {
		t.Error("something arrived after the end")
	}
}

func TestFakesDoNotMeet(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			host := captest.New(t)
			host.Handle("kv.get", func(captest.Call) (captest.Value, error) { return captest.Found([]byte{byte(i)}), nil })
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if v, found, err := kv.Get(host.Context(), "k"); err != nil || !found || v[0] != byte(i) {
						t.Errorf("got %v, %v, %v", v, found, err)
					}
				})
			}
			all.Wait()
			if n := len(host.Calls()); n != 20 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

func TestEmittedReportsHaveIdsOfTheirOwn(t *testing.T) {
	host := captest.New(t)
	first, err := report.Emit(host.Context(), "a", "text/plain", nil)
	second, err2 := report.Emit(host.Context(), "b", "text/plain", nil)
	if err != nil || err2 != nil || first == second {
		t.Errorf("got %q, %q, %v, %v", first, second, err, err2)
	}
}

func TestAFakeWithoutATestEndsWhenItIsTold(t *testing.T) {
	host := captest.Open()
	host.Ctx().Report("working")
	if got := host.Partials(); len(got) != 1 || got[0] != "working" {
		t.Errorf("reported %q", got)
	}
	host.End()
	if host.Context().Err() == nil {
		t.Error("its context goes on")
	}
}
