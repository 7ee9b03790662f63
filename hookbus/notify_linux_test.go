package hookbus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/livetest"
)

func TestNotificationsComeInOrder(t *testing.T) {
	b, s := on(t, hookbus.Options{}, "alpha", "beta", "delta")
	b.SessionStart()
	entry := "e"
	var want []string
	for i := range 20 {
		b.Usage(hookbus.Usage{OpID: "op", Seq: int64(i), Cost: 0.25, Adjustment: i == 3, EntryID: &entry})
		origin := "ProviderReported"
		if i == 3 {
			origin = "Reconciliation"
		}
		want = append(want, fmt.Sprint("usage op ", i, " 0.25 ", origin))
	}
	b.AgentEnd("op <é>")
	b.AgentSettled("op")
	want = append([]string{"session_start 0"}, append(want, "agent_end op <é>", "agent_settled op")...)
	flush(t, b)
	for _, name := range []string{"alpha", "beta"} {
		if got := tool(t, s, name, "seen", ""); got != strings.Join(want, "\n") {
			t.Errorf("%s: %s", name, got)
		}
		counts(t, b, name, "usage", 20, 20, 0, 0)
		counts(t, b, name, "session_start", 1, 1, 0, 0)
	}
	if st := state(t, s, "delta"); st.State != host.StateUnstarted {
		t.Errorf("delta declares nothing and is %+v", st)
	}
}

func TestASessionStartIsToldOnce(t *testing.T) {
	b, s := on(t, hookbus.Options{}, "alpha")
	var all sync.WaitGroup
	for range 4 {
		all.Go(b.SessionStart)
		all.Go(func() { b.ToolCall(t.Context(), hookbus.Call{}) })
	}
	all.Wait()
	flush(t, b)
	if got := tool(t, s, "alpha", "seen", ""); got != "session_start 0" {
		t.Errorf("%s", got)
	}
	b.ToolCall(t.Context(), hookbus.Call{OpID: "alpha:die:x"})
	b.SessionStart()
	flush(t, b)
	if got := tool(t, s, "alpha", "seen", ""); got != "session_start 1" {
		t.Errorf("%s", got)
	}
}

func TestANotificationThatFailsKeepsThePlaceAndTheRest(t *testing.T) {
	b, s := on(t, hookbus.Options{Deadline: map[string]time.Duration{"agent_end": 100 * time.Millisecond}}, "alpha", "beta")
	b.AgentEnd("alpha:die:x")
	b.AgentEnd("alpha:spin:")
	b.AgentEnd("alpha:refuse:x")
	b.AgentEnd("after")
	flush(t, b)
	counts(t, b, "alpha", "agent_end", 4, 1, 0, 3)
	counts(t, b, "beta", "agent_end", 4, 4, 0, 0)
	if got := tool(t, s, "alpha", "seen", ""); !strings.HasSuffix(got, "agent_end after") {
		t.Errorf("%s", got)
	}
}

// A notification that is being answered holds up its own extension, and no other.
func TestASlowNotificationHoldsUpItsOwnExtensionAlone(t *testing.T) {
	b, s := on(t, hookbus.Options{Deadline: map[string]time.Duration{"agent_end": 300 * time.Millisecond}}, "alpha", "beta", "gamma")
	b.ToolCall(t.Context(), hookbus.Call{})
	b.AgentEnd("gamma:hold")
	livetest.Eventually(t, "gamma answers", func() bool { return state(t, s, "gamma").State == host.StateAnswering })
	if v := b.ToolCall(t.Context(), hookbus.Call{}); !v.Allowed {
		t.Errorf("%+v", v)
	}
	b.AgentEnd("alpha:spin")
	livetest.Eventually(t, "alpha answers", func() bool { return state(t, s, "alpha").State == host.StateAnswering })
	if v := b.ToolCall(t.Context(), hookbus.Call{}); !v.Allowed {
		t.Errorf("a gate was held up for longer than a notification's deadline: %+v", v)
	}
	flush(t, b)
}

// While its extension's tool runs, notifications and then a question come. The question
// is answered first.
func TestAWaitingQuestionGoesBeforeWaitingNotifications(t *testing.T) {
	b, s := on(t, hookbus.Options{Deadline: map[string]time.Duration{"tool_call": 20 * time.Second}}, "alpha")
	release := hold(t, s, "alpha")
	for i := range 50 {
		b.AgentEnd(fmt.Sprint(i))
	}
	var asked sync.WaitGroup
	asked.Go(func() {
		v := b.ToolCall(t.Context(), hookbus.Call{})
		if !v.Allowed {
			t.Errorf("%+v", v)
		}
		if told := of(t, b, "alpha", "agent_end").Asked; told != 0 {
			t.Errorf("%d notifications went before a question", told)
		}
	})
	livetest.Eventually(t, "the question waits", func() bool { return state(t, s, "alpha").Waiting == 1 })
	release()
	asked.Wait()
	flush(t, b)
	counts(t, b, "alpha", "agent_end", 50, 50, 0, 0)
}

func TestAStormBesideAGate(t *testing.T) {
	var logged bytes.Buffer
	var mu sync.Mutex
	b, _ := on(t, hookbus.Options{Logger: slog.New(slog.NewTextHandler(&synced{to: &logged, mu: &mu}, nil))}, "alpha", "beta")
	b.ToolCall(t.Context(), hookbus.Call{})
	stop := make(chan struct{})
	var storm sync.WaitGroup
	storm.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				b.Usage(hookbus.Usage{OpID: "storm"})
			}
		}
	})
	for i := range 100 {
		v := b.ToolCall(t.Context(), hookbus.Call{OpID: "beta:block:" + fmt.Sprint(i)})
		if v.By != "beta" || v.Reason != fmt.Sprint(i) || v.Err != nil {
			t.Errorf("%+v", v)
		}
	}
	livetest.Eventually(t, "some are dropped", func() bool { return of(t, b, "alpha", "usage").Dropped > 0 })
	close(stop)
	storm.Wait()
	flush(t, b)
	counts(t, b, "alpha", "tool_call", 101, 101, 0, 0)
	s := of(t, b, "alpha", "usage")
	if s.Answered != s.Asked || s.Failed != 0 || s.Asked == 0 {
		t.Errorf("%+v", s)
	}
	b.Usage(hookbus.Usage{})
	flush(t, b)
	mu.Lock()
	defer mu.Unlock()
	if text := logged.String(); !strings.Contains(text, "notifications are dropped") || !strings.Contains(text, "extension=alpha") || strings.Contains(text, "storm") {
		t.Errorf("%s", text)
	}
}

type synced struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (s *synced) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

func TestFlushEndsWithItsContextAndWithTheBus(t *testing.T) {
	b, s := on(t, hookbus.Options{}, "alpha")
	flush(t, b) // nothing is queued
	release := hold(t, s, "alpha")
	b.AgentEnd("1")
	b.AgentEnd("2")
	if got := b.Status()[0].Waiting; got != 2 {
		t.Errorf("%d wait", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	var flushed sync.WaitGroup
	flushed.Go(func() {
		if err := b.Flush(t.Context()); !errors.Is(err, host.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
	b.Close()
	flushed.Wait()
	b.AgentEnd("3")
	if s := of(t, b, "alpha", "agent_end"); s.Dropped != 3 || s.Asked != 0 {
		t.Errorf("%+v", s)
	}
	release()
}

func TestASessionThatIsClosedFirstLeavesNothing(t *testing.T) {
	b, s := on(t, hookbus.Options{}, "alpha")
	b.AgentEnd("1")
	flush(t, b)
	s.Close()
	b.AgentEnd("2")
	b.SessionStart()
	flush(t, b)
	if v := b.ToolCall(t.Context(), hookbus.Call{}); v.Allowed || !strings.Contains(v.Reason, "closed") {
		t.Errorf("%+v", v)
	}
	counts(t, b, "alpha", "agent_end", 2, 1, 0, 1)
}
