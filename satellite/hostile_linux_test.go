package satellite

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/internal/wire"
)

func TestDeathDuringACallIsACrashWithItsCause(t *testing.T) {
	for name, pieces := range map[string][]string{
		"panic":       {"exit status 2", "panic: the author's mistake", "main.serve"},
		"exit 3":      {"exit status 3", "leaving early"},
		"exit 0":      {"exit status 0", "leaving early"},
		"crash":       {"exit status 2", "nil pointer"},
		"half 4":      {"exit status 4"},
		"closeexit 5": {"exit status 5"},
	} {
		t.Run(name, func(t *testing.T) {
			s := launch(t, Config{})
			_, err := call(s, name, time.Hour)
			e := failed(t, err, wire.CodeCrashed, pieces[0])
			for _, piece := range pieces {
				if !strings.Contains(e.Msg, piece) {
					t.Errorf("%q lacks %q", e.Msg, piece)
				}
			}
			gone(t, s)
		})
	}
}

func TestAnswerThatCameBeforeTheDeathCounts(t *testing.T) {
	for range 20 {
		s := launch(t, Config{})
		if v, err := call(s, "exitafter 6", 0); err != nil {
			t.Error(err)
		} else if got, _ := v.AsString(); got != "done" {
			t.Errorf("%q", got)
		}
		gone(t, s)
	}
}

func TestSatelliteThatNeverLivedIsGoneOrCrashed(t *testing.T) {
	s := launch(t, Config{Env: []string{"DEAD_ON_ARRIVAL=1"}})
	_, err := call(s, "echo", 0)
	e, ok := err.(*Error)
	if !ok || e.Code != wire.CodeGone && e.Code != wire.CodeCrashed {
		t.Fatal(err)
	}
	gone(t, s)
	if !strings.Contains(s.Output(), "not today") {
		t.Errorf("%q", s.Output())
	}
}

func TestProtocolFaultDestroys(t *testing.T) {
	for name, piece := range map[string]string{
		"garbage":  "payload",
		"oversize": "16777216",
		"deep":     "",
		"bomb":     "payload",
		"wrongway": "hook_call",
		"unknown":  "answers no open hook_call",
		"same":     "open already",
		"close":    "closed its channel and did not exit",
	} {
		t.Run(name, func(t *testing.T) {
			s := launch(t, Config{Effects: untilEnd})
			_, err := call(s, name, time.Hour)
			if e := failed(t, err, wire.CodeProtocol, piece); !e.Host || e.Msg == "" {
				t.Errorf("%+v", e)
			}
			gone(t, s)
		})
	}
}

// The second answer comes when nothing is open: the call it follows is fine,
// and the satellite is not.
func TestSecondAnswerDestroys(t *testing.T) {
	s := launch(t, Config{})
	if _, err := call(s, "twice", 0); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	_, err := call(s, "echo", 0)
	failed(t, err, wire.CodeGone, "answers no open hook_call")
}

func TestUnknownKindIsDropped(t *testing.T) {
	s := launch(t, Config{})
	if _, err := call(s, "unknownkind", 0); err != nil {
		t.Fatal(err)
	}
	alive(t, s)
}

func TestFloods(t *testing.T) {
	t.Run("stderr", func(t *testing.T) {
		s := launch(t, Config{OutputCap: 4 << 10})
		if _, err := call(s, "stderr 5000", 0); err != nil {
			t.Fatal(err)
		}
		livetest.Eventually(t, "the flood was kept in part", func() bool { return strings.Contains(s.Output(), "left out") })
		if n := len(s.Output()); n > 5<<10 {
			t.Errorf("%d bytes kept", n)
		}
		alive(t, s)
	})
	t.Run("frames outside a call", func(t *testing.T) {
		s := launch(t, Config{})
		if _, err := call(s, "heartbeats", 0); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		_, err := call(s, "echo", 0)
		failed(t, err, wire.CodeGone, "MiB")
	})
	t.Run("effects, their answers unread", func(t *testing.T) {
		s := launch(t, Config{Effects: reportOnly(func(string, string, []byte) {})})
		_, err := call(s, "caps", 300*time.Millisecond)
		failed(t, err, wire.CodeDeadline, "")
		gone(t, s)
	})
}

func untilEnd(ctx context.Context, _ CapCall) wire.Result {
	<-ctx.Done()
	return Failed(wire.CodeUnavailable, "called off")
}
