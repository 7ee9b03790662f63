package satellite

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
)

// opened is a satellite with an invocation whose goroutine has not got to
// sending it, as it is while the keeper lets go of the baton.
func opened(t *testing.T) *Satellite {
	t.Helper()
	s := launch(t, Config{})
	alive(t, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	far := time.Now().Add(time.Hour)
	s.open = true
	s.call = invocation{id: s.call.id + 1, caller: context.Background(), deadline: far, killAt: far}
	return s
}

func TestAnswerToACallThatWasNotSentDestroys(t *testing.T) {
	s := opened(t)
	if s.answered(s.call.id, wire.Result{OK: true}) {
		t.Error("the reading goes on")
	}
	a := <-s.answers
	if a.err == nil || a.err.Code != wire.CodeProtocol {
		t.Fatalf("%+v", a)
	}
	gone(t, s)
}

func TestDeathBeforeACallWasSentIsGone(t *testing.T) {
	s := opened(t)
	kill(t, s)
	a := <-s.answers
	if a.err == nil || a.err.Code != wire.CodeGone || !strings.Contains(a.err.Msg, "SIGKILL") {
		t.Errorf("%+v", a.err)
	}
	gone(t, s)
}

func kill(t *testing.T, s *Satellite) {
	t.Helper()
	p, err := os.FindProcess(s.PID())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestIdleDeathTellsItsCauseToTheNextCall(t *testing.T) {
	s := launch(t, Config{})
	if _, err := call(s, "both", 0); err != nil {
		t.Fatal(err)
	}
	kill(t, s)
	var err error
	livetest.Eventually(t, "a call fails", func() bool { _, err = call(s, "echo", 0); return err != nil })
	// Where the death falls into a call, that call crashes.
	if e, ok := err.(*Error); ok && e.Code == wire.CodeCrashed {
		_, err = call(s, "echo", 0)
	}
	for range 2 {
		e := failed(t, err, wire.CodeGone, "SIGKILL")
		if !strings.Contains(e.Msg, "to standard error") {
			t.Errorf("%q lacks its last words", e.Msg)
		}
		<-s.Done()
		_, err = call(s, "echo", 0)
	}
}

// The timer may fire while the end is being settled, and see to nothing then.
func TestTimerAfterTheEndDoesNothing(t *testing.T) {
	s := launch(t, Config{})
	if _, err := call(s, "exitafter 0", 0); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	s.exitBy = time.Now().Add(time.Hour) // as where its channel closed first
	s.expire()
	s.violated("found in what was left")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fate != nil || !s.armed.IsZero() {
		t.Errorf("condemned for %v, the timer set for %v", s.fate, s.armed)
	}
}

func TestBothStreamsAreKept(t *testing.T) {
	s := launch(t, Config{OutputCap: 4096})
	if _, err := call(s, "both", 0); err != nil {
		t.Fatal(err)
	}
	want := "to standard output\nto standard error\nto standard output again\n"
	livetest.Eventually(t, "the output has come", func() bool { return len(s.Output()) >= len(want) })
	if got := s.Output(); got != want {
		t.Errorf("%q", got)
	}
	if _, err := call(s, "stdout 1000", 0); err != nil {
		t.Fatal(err)
	}
	alive(t, s)
	s.Close()
	if n := len(s.Output()); n > 4096+64 {
		t.Errorf("%d bytes were kept", n)
	}
}

func TestFloodDuringACallDestroys(t *testing.T) {
	s := launch(t, Config{})
	_, err := call(s, "flood", 5*time.Minute)
	failed(t, err, wire.CodeProtocol, strconv.Itoa(callBytes>>20)+" MiB during a call")
	gone(t, s)
}

func TestCancelledCallThatExitsIsCancelled(t *testing.T) {
	s := launch(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := s.Invoke(ctx, Invocation{Kind: wire.CallTool, Name: "heedexit 7", Deadline: time.Hour})
	failed(t, err, wire.CodeCancelled, "exit status 7")
	gone(t, s)
}

func TestCrashTellsWholeLinesOfTheTail(t *testing.T) {
	s := launch(t, Config{})
	_, err := call(s, "lines 1000", 0)
	e := failed(t, err, wire.CodeCrashed, "exit status 1\n…\nline ")
	if !strings.HasSuffix(e.Msg, "\nline 999 of standard error") || len(e.Msg) > crashTail+128 || len(e.Msg) < crashTail/2 {
		t.Errorf("%d bytes: %q", len(e.Msg), e.Msg)
	}
}

func TestDefaultBudgetIsEnforced(t *testing.T) {
	s := launch(t, Config{})
	if env := said(t, s, "facts"); !strings.Contains(env, "GOMEMLIMIT="+strconv.Itoa(DefaultMemory)) {
		t.Error(env)
	}
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID()) + "/limits")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(limits)) {
		if rest, ok := strings.CutPrefix(line, "Max data size"); ok {
			if got := strings.Fields(rest)[0]; got != strconv.Itoa(jail.DataFloor+DefaultMemory) {
				t.Errorf("a data limit of %s", got)
			}
			return
		}
	}
	t.Errorf("no data limit in %s", limits)
}

func TestHostsOwnVariablesAreReserved(t *testing.T) {
	for _, v := range []string{"LOOM_", "LOOM_CAP_SOCK=fd:4", "LOOM_X=1", "TZ=", "GOMEMLIMIT=1", "GOTRACEBACK=all", "GOMAXPROCS=9"} {
		if env, err := environment(Config{Env: []string{v}}); err == nil {
			t.Errorf("%s: %q", v, env)
		}
	}
	for _, v := range []string{"LOOM=1", "TZDIR=/", "GOTRACEBACKS=1", "X=TZ=1"} {
		if env, err := environment(Config{Env: []string{v}}); err != nil || env[len(env)-1] != v {
			t.Errorf("%s: %q, %v", v, env, err)
		}
	}
}

// A call that the kernel's short wait does not cover is still woken by its
// answer, its caller and its end.
func TestWaitsLongerThanATick(t *testing.T) {
	s := launch(t, Config{})
	for range 3 {
		if v, err := call(s, "late 30", 0); err != nil {
			t.Fatal(err)
		} else if got, _ := v.AsString(); got != "late" {
			t.Errorf("%q", got)
		}
		alive(t, s)
	}
	<-s.baton
	s.channel.soon = true
	interrupted := make(chan error)
	go func() { _, err := s.channel.Read(make([]byte, 1)); interrupted <- err }()
	_ = s.channel.file.SetReadDeadline(longAgo)
	if err := <-interrupted; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("interrupted: %v", err)
	}
	_ = s.channel.file.SetReadDeadline(time.Time{})
	s.baton <- struct{}{}
	alive(t, s)
}
