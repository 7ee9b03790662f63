package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
)

func refresh(t testing.TB, s *host.Session) host.Changes {
	t.Helper()
	changes, err := s.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// changed holds what a refresh told against what it should: "+name", "-name" and "=name".
func changed(t testing.TB, c host.Changes, want ...string) {
	t.Helper()
	var got []string
	for mark, names := range map[string][]string{"+": c.Added, "-": c.Removed, "=": c.Replaced} {
		for _, name := range names {
			got = append(got, mark+name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("changed %v, want %v", got, want)
	}
}

func remove(t testing.TB, own string) {
	t.Helper()
	if err := install.Open(own).Remove(t.Context(), "probe"); err != nil {
		t.Fatal(err)
	}
}

// opened is a call that is open until it is let end, and then ends as it should.
func opened(t testing.TB, s *host.Session) (end func()) {
	t.Helper()
	begun, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	call := do(t, "report", "n", 1)
	call.Report = func(host.Report) {
		close(begun)
		<-release // holds up the satellite alone
	}
	go func() {
		_, err := s.Call(t.Context(), call)
		ended <- err
	}()
	<-begun
	return func() {
		t.Helper()
		close(release)
		if err := <-ended; err != nil {
			t.Errorf("an open call ended with %v", err)
		}
	}
}

// queue has callers wait for probe.
func queue(t testing.TB, s *host.Session, callers int, each func(host.Outcome, error)) (wait func()) {
	t.Helper()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() { each(s.Call(t.Context(), do(t, "echo", "text", "queued"))) })
	}
	livetest.Eventually(t, "the callers wait", func() bool { return status(t, s, "probe").Waiting == callers })
	return all.Wait
}

func TestAReinstallWhileACallIsOpen(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		t.Run(fmt.Sprint("lazy ", lazy), func(t *testing.T) {
			own := changing(t)
			s := open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{Lazy: lazy})
			changed(t, refresh(t, s))
			said(t, s, do(t, "set", "key", "k", "text", "of the first"))
			first := status(t, s, "probe").PID
			end := opened(t, s)
			wait := queue(t, s, 4, func(out host.Outcome, err error) {
				if err != nil || string(out.Content[0].Body) != "second queued" {
					t.Errorf("%+v, %v", out, err)
				}
			})
			reinstall(t, own, second...)
			changed(t, refresh(t, s), "=probe")
			changed(t, refresh(t, s))
			wait() // the first is still answering
			if got := said(t, s, do(t, "get", "key", "k")); got != "false " {
				t.Errorf("the scratch of another generation: %q", got)
			}
			if !livetest.Running(first) {
				t.Error("the satellite of an open call was ended")
			}
			if r := s.Records(); len(r) != 1 || r[0].Version != "2.0.0" {
				t.Errorf("%+v", r)
			}
			end()
			livetest.Eventually(t, "the first ends", func() bool { return !livetest.Running(first) })
			if st := status(t, s, "probe"); st.Strikes != 0 || st.Restarts != 0 || st.Version != "2.0.0" {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestARemovalWhileCallsQueue(t *testing.T) {
	own := changing(t)
	s := open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{})
	end := opened(t, s)
	pid := status(t, s, "probe").PID
	wait := queue(t, s, 4, func(_ host.Outcome, err error) {
		if e := fails(t, err, host.Gone, "it was removed"); !errors.Is(e, install.ErrNotInstalled) {
			t.Errorf("%v", e)
		}
	})
	remove(t, own)
	changed(t, refresh(t, s), "-probe")
	wait()
	_, err := s.Call(t.Context(), do(t, "echo"))
	fails(t, err, host.Unhandled, "no extension")
	if len(s.Tools())+len(s.Status())+len(s.Hooks("session_start"))+len(s.Records()) != 0 {
		t.Errorf("something is left: %+v", s.Status())
	}
	end()
	livetest.Eventually(t, "its satellite ends", func() bool { return !livetest.Running(pid) })
	reinstall(t, own)
	changed(t, refresh(t, s), "+probe")
	said(t, s, do(t, "echo"))
}

func TestASessionOnNamesIsRefreshedInTheseAlone(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		t.Run(fmt.Sprint("lazy ", lazy), func(t *testing.T) {
			own := changing(t)
			h := newHost(t, host.Options{Home: own})
			s := open(t, h, host.SessionOptions{Extensions: []string{"absent", "probe"}, Lazy: lazy})
			other := open(t, h, host.SessionOptions{Extensions: []string{"absent"}, Lazy: lazy})
			changed(t, refresh(t, s))
			remove(t, own)
			changed(t, refresh(t, s), "-probe")
			changed(t, refresh(t, s))
			changed(t, refresh(t, other))
			_, err := s.Call(t.Context(), do(t, "echo"))
			if e := fails(t, err, host.Gone, "it was removed"); !errors.Is(e, install.ErrNotInstalled) {
				t.Errorf("%v", e)
			}
			if got := s.Hooks("session_start"); !slices.Equal(got, []string{"probe"}) {
				t.Errorf("a gate that is gone is forgotten: %v", got)
			}
			reinstall(t, own)
			changed(t, refresh(t, s), "+probe")
			changed(t, refresh(t, other))
			said(t, s, do(t, "echo"))
		})
	}
}

func TestAReinstallEndsWhatAGenerationHadAgainstIt(t *testing.T) {
	own := changing(t)
	s := open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{})
	for range host.MaxRestarts + 1 {
		_, err := s.Call(t.Context(), do(t, "die"))
		fails(t, err, host.Crashed, "")
	}
	if st := status(t, s, "probe"); st.State != host.StateOut {
		t.Errorf("%+v", st)
	}
	changed(t, refresh(t, s))
	reinstall(t, own)
	changed(t, refresh(t, s), "=probe")
	if got := said(t, s, do(t, "restarts")); got != "0" {
		t.Errorf("%q", got)
	}
	tamper(t, own) // what runs is in memory, and was checked
	changed(t, refresh(t, s))
	said(t, s, do(t, "echo"))
	reinstall(t, own)
	tamper(t, own)
	changed(t, refresh(t, s), "=probe")
	_, err := s.Call(t.Context(), do(t, "echo"))
	fails(t, err, host.Gone, "loom_satellite")
	reinstall(t, own)
	changed(t, refresh(t, s), "=probe")
	said(t, s, do(t, "echo"))
}

func TestARefreshThatCannotBeMadeChangesNothing(t *testing.T) {
	own := changing(t)
	h := newHost(t, host.Options{Home: own})
	s := open(t, h, host.SessionOptions{})
	reinstall(t, own, second...)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Refresh(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := said(t, s, do(t, "echo", "text", "first")); got != "first" {
		t.Errorf("%q", got)
	}
	s.Close()
	if _, err := s.Refresh(t.Context()); !errors.Is(err, host.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestWhatASessionWasLentStays(t *testing.T) {
	own := changing(t)
	lent, err := install.Open(own).LoadImage(t.Context(), "probe")
	if err != nil {
		t.Fatal(err)
	}
	defer lent.Close()
	s := open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{Loaded: []*install.Installed{lent}, Lazy: true})
	reinstall(t, own, second...)
	changed(t, refresh(t, s))
	if got := said(t, s, do(t, "echo", "text", "lent")); got != "lent" {
		t.Errorf("%q", got)
	}
	s.Close()
}

func TestARefreshOfASessionThatStartsAheadStartsTheNewOne(t *testing.T) {
	own := changing(t)
	s := open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{Ahead: true, Lazy: true})
	idle := func() bool { return status(t, s, "probe").State == host.StateIdle }
	livetest.Eventually(t, "the first is there", idle)
	first := status(t, s, "probe").PID
	reinstall(t, own)
	changed(t, refresh(t, s), "=probe")
	livetest.Eventually(t, "the second is there", idle)
	livetest.Eventually(t, "the first is not", func() bool { return !livetest.Running(first) })
}

func TestClosingWaitsForWhatWasReplaced(t *testing.T) {
	own := changing(t)
	s := open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{})
	var held sync.WaitGroup
	begun := make(chan struct{})
	held.Go(func() {
		call := do(t, "hold")
		call.Report = func(host.Report) { close(begun) }
		_, err := s.Call(t.Context(), call)
		if kind := host.KindOf(err); kind != host.Cancelled && kind != host.Refused {
			t.Errorf("%v", err)
		}
	})
	<-begun
	pid := status(t, s, "probe").PID
	reinstall(t, own)
	changed(t, refresh(t, s), "=probe")
	s.Close()
	if livetest.Running(pid) {
		t.Error("the satellite of a replaced extension outlived the session")
	}
	held.Wait()
}

func TestCallsWhileTheStoreChanges(t *testing.T) {
	own := changing(t)
	const callers, refreshers, changes = 8, 2, 2
	for _, lazy := range []bool{false, true} {
		s := open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{Lazy: lazy})
		var over atomic.Bool
		var calls sync.WaitGroup
		for n := range callers {
			calls.Go(func() {
				for i := 0; !over.Load(); i++ {
					want := fmt.Sprint(n, "-", i)
					out, err := s.Call(t.Context(), do(t, "echo", "text", want))
					if err != nil || string(out.Content[0].Body) != want {
						t.Errorf("%+v, %v", out, err)
						return
					}
					if len(s.Tools()) != 2 || len(s.Status()) != 1 || len(s.Records()) != 1 {
						t.Errorf("%+v", s.Status())
					}
				}
			})
		}
		for range changes {
			reinstall(t, own)
			var told atomic.Int32
			var all sync.WaitGroup
			for range refreshers {
				all.Go(func() {
					c, err := s.Refresh(t.Context())
					if err != nil {
						t.Error(err)
					}
					told.Add(int32(len(c.Replaced)))
				})
			}
			all.Wait()
			if told.Load() != 1 {
				t.Errorf("one replacement was told %d times", told.Load())
			}
		}
		over.Store(true)
		calls.Wait()
		s.Close()
	}
}
