package satellite

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
)

func TestSatelliteFindsAnExactEnvironmentAndAToken(t *testing.T) {
	t.Setenv("SECRET", "of the host")
	s := launch(t, Config{Env: []string{"EXTRA=1"}, Limits: jail.Limits{DataBytes: jail.DataFloor + 32<<20}})
	facts := strings.Fields(said(t, s, "facts"))
	env := facts[3:]
	slices.Sort(env)
	want := []string{"EXTRA=1", "GOMAXPROCS=1", "GOMEMLIMIT=33554432", "GOTRACEBACK=single", "LOOM_CAP_SOCK=fd:3", "TZ=UTC"}
	if !slices.Equal(env, want) {
		t.Errorf("environment %q, want %q", env, want)
	}
	if facts[0] != "32" || facts[1] != "tool" || facts[2] != "60000" {
		t.Errorf("token of %s bytes, kind %s, deadline %s ms", facts[0], facts[1], facts[2])
	}
}

func TestCallsFollowEachOther(t *testing.T) {
	s := launch(t, Config{})
	for i := range 200 {
		want := strings.Repeat("x", i*37)
		v, err := s.Invoke(t.Context(), Invocation{Kind: wire.CallTool, Name: "echo", Args: wire.String(want)})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := v.AsString(); got != want {
			t.Fatalf("call %d: %q", i, got)
		}
	}
	if level := s.Report().Level; !level.Default() {
		t.Errorf("at level %q, without having been asked to make do", level)
	}
}

func TestLargeArgumentsPassWhole(t *testing.T) {
	s := launch(t, Config{})
	want := bytes.Repeat([]byte("0123456789abcdef"), 900_000) // 14 MB, many times a socket's buffer
	v, err := s.Invoke(t.Context(), Invocation{Kind: wire.CallTool, Name: "echo", Args: wire.Bin(want)})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := v.AsBin(); !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back", len(got))
	}
	alive(t, s)
}

func TestArgumentsThatFitNoFrameAreNotSent(t *testing.T) {
	s := launch(t, Config{})
	_, err := s.Invoke(t.Context(), Invocation{Kind: wire.CallTool, Name: "echo", Args: wire.Bin(make([]byte, wire.MaxFrame))})
	failed(t, err, wire.CodeUnencodable, "frame")
	alive(t, s)
}

func TestSatellitesOwnFaultComesThrough(t *testing.T) {
	s := launch(t, Config{})
	_, err := call(s, "fault refused", 0)
	if e := failed(t, err, wire.CodeRefused, "as asked"); e.Host {
		t.Error("said to be the host's")
	}
	_, err = call(s, "no such", 0)
	failed(t, err, wire.CodeUnknownTool, "no such")
	alive(t, s)
}

func TestSecondCallIsBusy(t *testing.T) {
	entered := make(chan struct{})
	release := make(chan struct{})
	s := launch(t, Config{Effects: func(context.Context, CapCall) wire.Result {
		close(entered)
		<-release
		return wire.Result{OK: true}
	}})
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := call(s, "cap wait", 0); err != nil {
			t.Error(err)
		}
	})
	<-entered
	_, err := call(s, "echo", 0)
	failed(t, err, wire.CodeBusy, "")
	close(release)
	wg.Wait()
	alive(t, s)
}

func TestDeadlineDestroys(t *testing.T) {
	s := launch(t, Config{})
	start := time.Now()
	_, err := call(s, "silent", 50*time.Millisecond)
	failed(t, err, wire.CodeDeadline, "destroyed")
	if waited := time.Since(start); waited < 50*time.Millisecond+deadlineGrace {
		t.Errorf("destroyed after %v, with grace left", waited)
	}
	gone(t, s)
}

func TestAnswerInTheGraceCounts(t *testing.T) {
	s := launch(t, Config{})
	if v, err := call(s, "late 60", 20*time.Millisecond); err != nil {
		t.Error(err)
	} else if got, _ := v.AsString(); got != "late" {
		t.Errorf("%q", got)
	}
	alive(t, s)
}

// One timer serves all: a long deadline first must not hide a short one.
func TestShortDeadlineAfterALongOne(t *testing.T) {
	s := launch(t, Config{})
	if _, err := call(s, "echo", time.Hour); err != nil {
		t.Fatal(err)
	}
	_, err := call(s, "silent", 10*time.Millisecond)
	failed(t, err, wire.CodeDeadline, "")
}

// And one that fired for a call that was answered must not end the next.
func TestTimerOfAnAnsweredCallEndsNoOther(t *testing.T) {
	s := launch(t, Config{})
	if _, err := call(s, "echo", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if v, err := call(s, "late 400", time.Hour); err != nil {
		t.Error(err)
	} else if got, _ := v.AsString(); got != "late" {
		t.Errorf("%q", got)
	}
}

func TestContextsDeadlineIsTheCalls(t *testing.T) {
	s := launch(t, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	v, err := s.Invoke(ctx, Invocation{Kind: wire.CallTool, Name: "facts", Deadline: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := v.AsString()
	if ms, _ := strconv.Atoi(strings.Fields(text)[2]); ms > 30_000 || ms < 1 {
		t.Errorf("%d ms left", ms)
	}
	short, cancelShort := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancelShort()
	_, err = s.Invoke(short, Invocation{Kind: wire.CallTool, Name: "silent", Deadline: time.Hour})
	failed(t, err, wire.CodeDeadline, "")
	gone(t, s)
	_, err = s.Invoke(short, Invocation{Kind: wire.CallTool, Name: "echo"})
	failed(t, err, wire.CodeDeadline, "not called")
}

func TestCancelledCallThatHeedsLeavesTheSatelliteAlive(t *testing.T) {
	s := launch(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := s.Invoke(ctx, Invocation{Kind: wire.CallTool, Name: "heed"})
	failed(t, err, wire.CodeCancelled, "gave up")
	alive(t, s)
	_, err = s.Invoke(ctx, Invocation{Kind: wire.CallTool, Name: "echo"})
	failed(t, err, wire.CodeCancelled, "not called")
	alive(t, s)
}

func TestCancelledCallThatDoesNotHeedIsDestroyed(t *testing.T) {
	s := launch(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := s.Invoke(ctx, Invocation{Kind: wire.CallTool, Name: "silent", Deadline: time.Hour})
	failed(t, err, wire.CodeCancelled, "destroyed")
	gone(t, s)
}

// A satellite that stopped reading blocks the write of the call itself: the
// caller's context and the deadline must reach it all the same.
func TestSatelliteThatDoesNotRead(t *testing.T) {
	big := wire.Bin(make([]byte, 8<<20))
	t.Run("cancelled", func(t *testing.T) {
		s := launch(t, Config{})
		if _, err := call(s, "deaf", 0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		_, err := s.Invoke(ctx, Invocation{Kind: wire.CallTool, Name: "echo", Args: big, Deadline: time.Hour})
		failed(t, err, wire.CodeCancelled, "destroyed")
		gone(t, s)
	})
	t.Run("deadline", func(t *testing.T) {
		s := launch(t, Config{})
		if _, err := call(s, "deaf", 0); err != nil {
			t.Fatal(err)
		}
		_, err := s.Invoke(t.Context(), Invocation{Kind: wire.CallTool, Name: "echo", Args: big, Deadline: 20 * time.Millisecond})
		failed(t, err, wire.CodeDeadline, "destroyed")
		gone(t, s)
	})
	t.Run("closed", func(t *testing.T) {
		s := launch(t, Config{})
		if _, err := call(s, "deaf", 0); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := s.Invoke(context.Background(), Invocation{Kind: wire.CallTool, Name: "echo", Args: big, Deadline: time.Hour})
			failed(t, err, wire.CodeCancelled, "closed")
		})
		livetest.Eventually(t, "the call is open", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.call.id == 2 })
		s.Close()
		wg.Wait()
	})
}

func TestCloseIsPromptIdempotentAndFinal(t *testing.T) {
	s := launch(t, Config{})
	alive(t, s)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(s.Close)
	}
	wg.Wait()
	if exit, err := s.command.Wait(); err != nil || !exit.OK() {
		t.Errorf("%v, %v: want an exit of its own", exit, err)
	}
	gone(t, s)
}

func TestCloseDestroysTheStubborn(t *testing.T) {
	s := launch(t, Config{})
	if _, err := call(s, "stubborn", 0); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if exit, _ := s.command.Wait(); !exit.Killed {
		t.Errorf("%v", exit)
	}
}

func TestCloseDuringACall(t *testing.T) {
	s := launch(t, Config{Effects: func(ctx context.Context, _ CapCall) wire.Result {
		<-ctx.Done()
		return Failed(wire.CodeUnavailable, "")
	}})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := call(s, "hold", time.Hour)
		failed(t, err, wire.CodeCancelled, "closed")
	})
	livetest.Eventually(t, "the effect is open", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.effects) == 1 })
	s.Close()
	wg.Wait()
}

func TestEndOfTheSessionEndsTheSatellite(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Launch(ctx, Config{Image: image})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	alive(t, s)
	cancel()
	gone(t, s)
}

func TestLaunchRefuses(t *testing.T) {
	digest, err := digestNow(program)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := sealedNow(program)
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	other := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]Config{
		"no program":   {Artifact: filepath.Join(t.TempDir(), "absent"), Digest: digest},
		"no path":      {Artifact: "satellite", Digest: digest},
		"nothing":      {},
		"no digest":    {Artifact: program},
		"other digest": {Artifact: program, Digest: other},
		"closed":       {Image: closed},
		"reserved":     {Image: image, Env: []string{"LOOM_CAP_TOKEN_FILE=/x"}},
		"time zone":    {Image: image, Env: []string{"TZ=CET"}},
		"no variable":  {Image: image, Env: []string{"x"}},
	} {
		before := openFiles(t)
		s, err := Launch(t.Context(), c)
		if err == nil {
			s.Close()
		}
		var refusal *jail.Error
		if !errors.As(err, &refusal) {
			t.Errorf("%s: %v", name, err)
		}
		if after := openFiles(t); after > before {
			t.Errorf("%s: %d descriptors, %d before", name, after, before)
		}
	}
}

// A program that is named by its path is sealed for the one launch, and the
// satellite learns nothing of where it lay.
func TestLaunchByPath(t *testing.T) {
	digest, err := digestNow(program)
	if err != nil {
		t.Fatal(err)
	}
	s := launch(t, Config{Artifact: program, Digest: digest})
	if err := os.Rename(program, program+"-moved"); err != nil {
		t.Fatal(err)
	}
	defer os.Rename(program+"-moved", program)
	alive(t, s)
	line, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID()) + "/cmdline")
	if err != nil || string(line) != argumentZero+"\x00" {
		t.Errorf("command line %q, %v", line, err)
	}
	if link, err := os.Readlink("/proc/" + strconv.Itoa(s.PID()) + "/exe"); err != nil || !strings.HasPrefix(link, "/memfd:") {
		t.Errorf("runs from %q, %v", link, err)
	}
}

func TestManySatellitesLeaveNothing(t *testing.T) {
	launch(t, Config{}).Close()
	before := openFiles(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				s, err := Launch(context.Background(), Config{Image: image})
				if err != nil {
					t.Error(err)
					return
				}
				alive(t, s)
				s.Close()
			}
		})
	}
	wg.Wait()
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestCallInterruptsTheKeeper(t *testing.T) {
	s := launch(t, Config{})
	kept := func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.keeping }
	for range 3 {
		livetest.Eventually(t, "the keeper reads", kept)
		alive(t, s)
	}
	if _, err := call(s, "halfway", 0); err != nil {
		t.Fatal(err)
	}
	livetest.Eventually(t, "the keeper reads", kept)
	if got := said(t, s, "rest"); got != "rested" {
		t.Errorf("%q", got)
	}
	livetest.Eventually(t, "the keeper reads", kept)
}

func TestAllocationsOfACall(t *testing.T) {
	s := launch(t, Config{})
	args := wire.Map(wire.Field{Key: "args", Value: wire.Text(bytes.Repeat([]byte("x"), 1024))}, wire.Field{Key: "strand", Value: wire.String("s")})
	for name, ctx := range map[string]context.Context{"background": context.Background(), "with an end": t.Context()} {
		allocations := testing.AllocsPerRun(500, func() {
			if _, err := s.Invoke(ctx, Invocation{Kind: wire.CallTool, Name: "tool", Args: args}); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %v allocations", name, allocations)
		if allocations > 10 {
			t.Errorf("%s: %v allocations for one call and its result", name, allocations)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
