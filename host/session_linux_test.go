package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
)

func TestAToolAnswers(t *testing.T) {
	s := session(t)
	if got := said(t, s, do(t, "echo", "text", "hello")); got != "hello" {
		t.Errorf("%q", got)
	}
	st := status(t, s, "probe")
	if st.State != host.StateIdle || st.PID == 0 || st.Restarts != 0 || st.Version != "1.0.0" {
		t.Errorf("%+v", st)
	}
	if st := status(t, s, "twin"); st.State != host.StateUnstarted || st.PID != 0 {
		t.Errorf("nobody called twin, and it is %+v", st)
	}
}

func TestToolsComeFromTheRecords(t *testing.T) {
	s := session(t)
	var names []string
	for _, tool := range s.Tools() {
		names = append(names, tool.QualifiedName())
		if x, name, ok := host.SplitName(tool.QualifiedName()); !ok || x != tool.Extension || name != tool.Name {
			t.Errorf("%q splits into %q and %q", tool.QualifiedName(), x, name)
		}
		if len(tool.Schema) == 0 || tool.PromptSnippet == "" || tool.Timeout == 0 {
			t.Errorf("%+v", tool)
		}
	}
	if want := []string{"probe__brief", "probe__do", "twin__brief", "twin__do"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if got := s.Hooks("session_start"); !slices.Equal(got, []string{"probe", "twin"}) {
		t.Errorf("%v", got)
	}
	for _, st := range s.Status() {
		if st.State != host.StateUnstarted {
			t.Errorf("asking for tools started %+v", st)
		}
	}
}

func TestARefusedExtensionIsAValueAndTheOthersGoOn(t *testing.T) {
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{Extensions: []string{"absent", "probe"}})
	st := status(t, s, "absent")
	if st.State != host.StateOut || !errors.Is(st.Err, install.ErrNotInstalled) || !strings.Contains(st.Reason, "not installed") {
		t.Errorf("%+v", st)
	}
	_, err := s.Call(t.Context(), host.Call{Extension: "absent", Tool: "do"})
	if e := fails(t, err, host.Gone, "not installed"); !errors.Is(e, install.ErrNotInstalled) {
		t.Errorf("%v does not say why", e)
	}
	if got := said(t, s, do(t, "echo", "text", "here")); got != "here" {
		t.Errorf("%q", got)
	}
}

func TestOpeningAhead(t *testing.T) {
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{Ahead: true})
	livetest.Eventually(t, "both are there", func() bool {
		return status(t, s, "probe").State == host.StateIdle && status(t, s, "twin").State == host.StateIdle
	})
	s.Start() // starts nothing twice
	pid := status(t, s, "probe").PID
	said(t, s, do(t, "echo"))
	if st := status(t, s, "probe"); st.PID != pid || st.Restarts != 0 {
		t.Errorf("%+v, started as %d", st, pid)
	}
}

func TestSessionStartComesFirstAndTellsOfRestarts(t *testing.T) {
	s := session(t)
	for n := range host.MaxRestarts + 1 {
		if got := said(t, s, do(t, "restarts")); got != fmt.Sprint(n) {
			t.Errorf("start %d: session_start said %s restarts", n, got)
		}
		_, err := s.Call(t.Context(), do(t, "die", "text", "on purpose"))
		e := fails(t, err, host.Crashed, "on purpose")
		if e.Output == "" || !strings.Contains(e.Output, "panic: on purpose") {
			t.Errorf("no last words in %+v", e)
		}
	}
	st := status(t, s, "probe")
	if st.State != host.StateOut || st.Restarts != host.MaxRestarts || !strings.Contains(st.Reason, "not started again") {
		t.Errorf("%+v", st)
	}
	_, err := s.Call(t.Context(), do(t, "echo"))
	fails(t, err, host.Gone, "not started again")
	if slices.ContainsFunc(s.Tools(), func(tool host.Tool) bool { return tool.Extension == "probe" }) {
		t.Error("the tools of an extension that is out are offered")
	}
	if got := s.Hooks("session_start"); !slices.Equal(got, []string{"probe", "twin"}) {
		t.Errorf("a gate that is out is forgotten: %v", got)
	}
	_, err = s.Fire(t.Context(), host.Event{Extension: "probe", Name: "session_start"})
	fails(t, err, host.Gone, "not started again")
	twin := do(t, "echo", "text", "still")
	twin.Extension = "twin"
	if got := said(t, s, twin); got != "still" {
		t.Errorf("%q", got)
	}
}

// A session may live for months: what failed long ago does not count for ever.
func TestStrikesAreForgivenWithTime(t *testing.T) {
	var later atomic.Int64
	h := newHost(t, host.Options{})
	h.SetClock(func() time.Time { return time.Unix(0, later.Load()) })
	s := open(t, h, host.SessionOptions{Extensions: []string{"probe"}})
	die := func(after time.Duration, strikes int) {
		t.Helper()
		later.Add(int64(after))
		_, err := s.Call(t.Context(), do(t, "die", "text", "on purpose"))
		fails(t, err, host.Crashed, "on purpose")
		if st := status(t, s, "probe"); st.Strikes != strikes || (st.State == host.StateOut) != (strikes > host.MaxRestarts) {
			t.Errorf("%+v, want %d strikes", st, strikes)
		}
	}
	for range host.MaxRestarts + 2 {
		die(host.StrikeTime, 1)
	}
	die(host.StrikeTime-1, 2)
	die(0, 3)
	later.Add(int64(2*host.StrikeTime - 1)) // one is forgiven, and another nearly
	if st := status(t, s, "probe"); st.Strikes != 2 {
		t.Errorf("%d strikes", st.Strikes)
	}
	die(1, 2)
	die(0, 3)
	die(0, 4)
	later.Add(int64(24 * host.StrikeTime))
	_, err := s.Call(t.Context(), do(t, "echo"))
	fails(t, err, host.Gone, "not started again")
}

func TestADeathBetweenCallsIsNotedAndTheNextCallStartsAnother(t *testing.T) {
	s := session(t)
	said(t, s, do(t, "dielater", "text", "behind your back"))
	livetest.Eventually(t, "the death is noted", func() bool { return status(t, s, "probe").State == host.StateDestroyed })
	st := status(t, s, "probe")
	if st.Strikes != 1 || !strings.Contains(st.Reason, "gone") || st.PID != 0 {
		t.Errorf("%+v", st)
	}
	if got := said(t, s, do(t, "restarts")); got != "1" {
		t.Errorf("%q", got)
	}
}

func TestFailuresCanBeToldApart(t *testing.T) {
	s := session(t)
	for _, c := range []struct {
		call         host.Call
		kind         host.Kind
		piece, reply string
	}{
		{do(t, "refuse", "text", "no such city"), host.Refused, "refused: no such city", "no such city"},
		{do(t, "panic", "text", "a bug"), host.Crashed, "a bug", "the tool failed: crashed: "},
		{do(t, "echo", "n", "one"), host.Arguments, "n", "the arguments do not fit the schema\n/n: "},
		{host.Call{Extension: "probe", Tool: "do", Args: []byte("{")}, host.Arguments, "JSON", "not JSON"},
		{host.Call{Extension: "probe", Tool: "nothing"}, host.Unhandled, `probe has no tool "nothing"; it has brief, do`, "it has brief, do"},
		{host.Call{Extension: "nobody", Tool: "do"}, host.Unhandled, `no extension "nobody"`, "no extension"},
	} {
		_, err := s.Call(t.Context(), c.call)
		if e := fails(t, err, c.kind, c.piece); e.Extension != c.call.Extension || e.Target != c.call.Tool {
			t.Errorf("%+v", e)
		}
		if host.KindOf(err) != c.kind {
			t.Errorf("%v", err)
		}
		if reply := err.(*host.Error).Reply(); !strings.Contains(reply, c.reply) || strings.Contains(reply, "goroutine") {
			t.Errorf("a model is told %q, want %q", reply, c.reply)
		}
	}
	if _, err := s.Fire(t.Context(), host.Event{Extension: "probe", Name: "tool_call"}); true {
		fails(t, err, host.Unhandled, "no hook")
	}
	if _, err := s.Fire(t.Context(), host.Event{Extension: "probe", Name: "session_start", Document: []byte("{")}); true {
		fails(t, err, host.Arguments, "JSON")
	}
	if answer, err := s.Fire(t.Context(), host.Event{Extension: "probe", Name: "session_start", Document: []byte(`{"restarts": 7}`)}); err != nil || string(answer) != "{}" {
		t.Errorf("%s, %v", answer, err)
	}
	if got := said(t, s, do(t, "restarts")); got != "7" {
		t.Errorf("%q", got)
	}
	if st := status(t, s, "probe"); st.State != host.StateIdle || st.Restarts != 0 {
		t.Errorf("answers that fail are answers: %+v", st)
	}
}

func TestAMissedDeadlineIsAStrike(t *testing.T) {
	s := session(t)
	call := do(t, "spin")
	call.Tool = "brief"
	_, err := s.Call(t.Context(), call)
	fails(t, err, host.Deadline, "destroyed")
	if st := status(t, s, "probe"); st.State != host.StateDestroyed || st.Strikes != 1 || !strings.Contains(st.Reason, "deadline") {
		t.Errorf("%+v", st)
	}
	if got := said(t, s, do(t, "restarts")); got != "1" {
		t.Errorf("%q", got)
	}
}

func TestWhatACallerEndsIsNoStrike(t *testing.T) {
	s := session(t)
	for range host.MaxRestarts + 2 {
		ctx, cancel := context.WithCancel(t.Context())
		call := do(t, "spin")
		call.Report = func(host.Report) { cancel() }
		_, err := s.Call(ctx, call)
		fails(t, err, host.Cancelled, "")
		hurried := do(t, "spin")
		hurried.Timeout = time.Millisecond
		_, err = s.Call(t.Context(), hurried)
		fails(t, err, host.Deadline, "")
		short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = s.Call(short, do(t, "spin"))
		stop()
		fails(t, err, host.Deadline, "")
	}
	if st := status(t, s, "probe"); st.Strikes != 0 || st.State != host.StateDestroyed {
		t.Errorf("%+v", st)
	}
	said(t, s, do(t, "echo"))
}

func TestAHeededCancellationKeepsTheSatellite(t *testing.T) {
	s := session(t)
	ctx, cancel := context.WithCancel(t.Context())
	call := do(t, "hold")
	call.Report = func(host.Report) { cancel() }
	_, err := s.Call(ctx, call)
	if e := fails(t, err, host.Cancelled, ""); !errors.Is(e, context.Canceled) {
		t.Errorf("%v", e.Err)
	}
	if st := status(t, s, "probe"); st.State != host.StateIdle || st.Restarts != 0 {
		t.Errorf("%+v", st)
	}
}

func TestAnErrorThatComesTooLateIsADeadline(t *testing.T) {
	s := session(t)
	hurried := do(t, "hold")
	hurried.Timeout = 20 * time.Millisecond
	_, err := s.Call(t.Context(), hurried)
	e := fails(t, err, host.Deadline, "context deadline exceeded")
	if e.Code != "deadline" || !errors.Is(err, context.DeadlineExceeded) || e.Output != "" {
		t.Errorf("%+v", e)
	}
	own := do(t, "hold")
	own.Tool = "brief"
	_, err = s.Call(t.Context(), own)
	fails(t, err, host.Deadline, "the extension says: ")
	short, stop := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("out of patience"))
	defer stop()
	_, err = s.Call(short, do(t, "hold"))
	if e := fails(t, err, host.Deadline, ""); e.Err.Error() != "out of patience" {
		t.Errorf("%v", e.Err)
	}
	if st := status(t, s, "probe"); st.State != host.StateIdle || st.Restarts != 0 || st.Strikes != 0 {
		t.Errorf("an answer is an answer: %+v", st)
	}
}

func TestTimeInTheQueueIsNoFaultOfTheExtension(t *testing.T) {
	s := session(t)
	holding, release := make(chan struct{}), make(chan struct{})
	held, letGo := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() {
		call := do(t, "hold")
		call.Report = func(host.Report) { close(holding) }
		_, err := s.Call(held, call)
		fails(t, err, host.Cancelled, "")
		close(release)
	})
	<-holding
	if st := status(t, s, "probe"); st.State != host.StateAnswering {
		t.Errorf("%+v", st)
	}
	waiting, giveUp := context.WithCancel(t.Context())
	var queued sync.WaitGroup
	queued.Go(func() {
		_, err := s.Call(waiting, do(t, "echo"))
		if e := fails(t, err, host.Cancelled, "not called"); !errors.Is(e, context.Canceled) {
			t.Errorf("%v", e)
		}
	})
	queued.Go(func() {
		short, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		_, err := s.Call(short, do(t, "echo"))
		fails(t, err, host.Deadline, "not called")
	})
	_, err := s.Fire(t.Context(), host.Event{Extension: "probe", Name: "session_start", Wait: time.Millisecond})
	fails(t, err, host.Busy, "not called")
	brief := do(t, "echo", "text", "in time") // its own time is shorter than its wait
	brief.Tool = "brief"
	queued.Go(func() {
		if got := said(t, s, brief); got != "in time" {
			t.Errorf("%q", got)
		}
	})
	livetest.Eventually(t, "the callers wait", func() bool { return status(t, s, "probe").Waiting == 2 })
	giveUp()
	livetest.Eventually(t, "one is left", func() bool { return status(t, s, "probe").Waiting == 1 })
	letGo()
	<-release
	first.Wait()
	queued.Wait()
	if st := status(t, s, "probe"); st.Strikes != 0 || st.State != host.StateIdle || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
}

func TestCallersAreAnsweredInTheOrderTheyCame(t *testing.T) {
	s := session(t)
	said(t, s, do(t, "echo"))
	var mu sync.Mutex
	var order []int
	var all sync.WaitGroup
	holding, letGo := context.WithCancel(t.Context())
	begun := make(chan struct{})
	all.Go(func() {
		call := do(t, "hold")
		call.Report = func(host.Report) { close(begun) }
		_, _ = s.Call(holding, call)
	})
	<-begun
	const callers = 8
	for i := range callers {
		all.Go(func() {
			call := do(t, "report", "n", 1)
			call.Report = func(host.Report) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			}
			if _, err := s.Call(t.Context(), call); err != nil {
				t.Error(err)
			}
		})
		livetest.Eventually(t, "the next one waits", func() bool { return status(t, s, "probe").Waiting == i+1 })
	}
	letGo()
	all.Wait()
	if !slices.IsSorted(order) || len(order) != callers {
		t.Errorf("%v", order)
	}
}

func TestClosingEndsCallsAndQueues(t *testing.T) {
	h := newHost(t, host.Options{})
	s := open(t, h, host.SessionOptions{})
	begun := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		call := do(t, "hold")
		call.Report = func(host.Report) { close(begun) }
		_, err := s.Call(t.Context(), call)
		if kind := host.KindOf(err); kind != host.Cancelled && kind != host.Refused {
			t.Errorf("%v", err)
		}
	})
	<-begun
	all.Go(func() {
		_, err := s.Call(t.Context(), do(t, "echo"))
		if e := fails(t, err, host.Gone, "closed"); !errors.Is(e, host.ErrClosed) {
			t.Errorf("%v", e)
		}
	})
	livetest.Eventually(t, "one waits", func() bool { return status(t, s, "probe").Waiting == 1 })
	s.Close()
	all.Wait()
	_, err := s.Call(t.Context(), do(t, "echo"))
	fails(t, err, host.Gone, "closed")
	s.Close()
	h.Close()
	if _, err := h.Open(t.Context(), host.SessionOptions{}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestHostileNamesOfSessions(t *testing.T) {
	h := newHost(t, host.Options{})
	for _, id := range []string{"../up", "a b", "a/b", "\n", strings.Repeat("a", 65)} {
		if _, err := h.Open(t.Context(), host.SessionOptions{ID: id}); err == nil {
			t.Errorf("%q is a session", id)
		}
	}
	if _, err := h.Open(t.Context(), host.SessionOptions{Extensions: []string{"probe", "probe"}}); err == nil {
		t.Error("one extension twice")
	}
}

func TestSessionsShareOneProgramAndNothingElse(t *testing.T) {
	h := newHost(t, host.Options{})
	const sessions = 8
	var all sync.WaitGroup
	for n := range sessions {
		s := open(t, h, host.SessionOptions{ID: fmt.Sprint("session-", n)})
		all.Go(func() {
			for _, name := range []string{"probe", "twin"} {
				call := do(t, "get", "key", "k")
				call.Extension = name
				if got := said(t, s, call); got != "false " {
					t.Errorf("session %d, %s: %q is there before it was set", n, name, got)
				}
				set := do(t, "set", "key", "k", "text", fmt.Sprint(n, name))
				set.Extension = name
				said(t, s, set)
				if got := said(t, s, call); got != fmt.Sprint("true ", n, name) {
					t.Errorf("session %d, %s: %q", n, name, got)
				}
			}
		})
	}
	all.Wait()
}

func TestAZeroConfigurationHasTheUsualCeilings(t *testing.T) {
	s := open(t, newHost(t, host.Options{Config: new(config.Config)}), host.SessionOptions{Extensions: []string{}})
	if got := said(t, s, do(t, "echo", "text", "in time")); got != "in time" {
		t.Errorf("%q", got)
	}
}

func TestTheOperatorsCeilingIsATimeForAll(t *testing.T) {
	c := config.Default()
	c.Ceilings.Timeout = 300 * time.Millisecond
	s := open(t, newHost(t, host.Options{Config: &c}), host.SessionOptions{})
	for _, tool := range s.Tools() {
		if tool.Timeout != c.Ceilings.Timeout {
			t.Errorf("%s has %s", tool.Name, tool.Timeout)
		}
	}
	_, err := s.Call(t.Context(), do(t, "spin"))
	fails(t, err, host.Deadline, "")
	if st := status(t, s, "probe"); st.Strikes != 1 {
		t.Errorf("the ceiling is the time that it had: %+v", st)
	}
}

func TestARefusedExtensionsHooksAreKnown(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), "home")
	if err := os.CopyFS(damaged, os.DirFS(home)); err != nil {
		t.Fatal(err)
	}
	link, err := os.Readlink(filepath.Join(home, "extensions", "probe"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(damaged, "extensions"), 0o700); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(damaged, "extensions", "probe"))
	if err := os.Symlink(link, filepath.Join(damaged, "extensions", "probe")); err != nil {
		t.Fatal(err)
	}
	artifact := filepath.Join(damaged, "extensions", "probe", "loom_satellite")
	if err := errors.Join(os.Chmod(artifact, 0o700), os.WriteFile(artifact, []byte("another program"), 0o700)); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Options{Home: damaged})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := open(t, h, host.SessionOptions{Extensions: []string{"probe"}})
	if st := status(t, s, "probe"); st.State != host.StateOut || st.Err == nil {
		t.Errorf("%+v", st)
	}
	if got := s.Hooks("session_start"); !slices.Equal(got, []string{"probe"}) {
		t.Errorf("%v", got)
	}
	_, err = s.Fire(t.Context(), host.Event{Extension: "probe", Name: "session_start"})
	fails(t, err, host.Gone, "loom_satellite")
}

func TestAStoppedOpeningLeavesNothing(t *testing.T) {
	h := newHost(t, host.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Open(ctx, host.SessionOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
