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
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
)

// changing is a home of the test's own, with probe installed.
func changing(t testing.TB) string {
	t.Helper()
	own := filepath.Join(t.TempDir(), "home")
	t.Cleanup(func() { livetest.RemoveAll(own) })
	reinstall(t, own)
	return own
}

// reinstall installs another generation of probe: the source with words of it replaced, old
// and new by turns.
func reinstall(t testing.TB, own string, words ...string) {
	t.Helper()
	source := t.TempDir()
	if err := os.CopyFS(source, os.DirFS("testdata/probe")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"extension.toml", "schema/do.json", "tool/tool.go"} {
		path := filepath.Join(source, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.NewReplacer(words...).Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := installFrom(t.Context(), own, source); err != nil {
		t.Fatal(err)
	}
}

// second are the words of a generation that can be told apart: by its version, its echo and
// an argument more.
var second = []string{
	`version = "1.0.0"`, `version = "2.0.0"`,
	`return ext.Text(r.Text), nil`, `return ext.Text("second " + r.Text), nil`,
	`"properties": {`, `"properties": {"more": {"type": "string"}, `,
}

// generation is the directory of probe's current generation.
func generation(t testing.TB, own string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(filepath.Join(own, "extensions", "probe"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tamper has the artifact of probe's current generation be another program.
func tamper(t testing.TB, own string) {
	t.Helper()
	artifact := filepath.Join(generation(t, own), "loom_satellite")
	if err := errors.Join(os.Chmod(artifact, 0o700), os.WriteFile(artifact, []byte("another program"), 0o700)); err != nil {
		t.Fatal(err)
	}
}

func lazily(t testing.TB, own string) *host.Session {
	t.Helper()
	return open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{Lazy: true})
}

func TestALazySessionKnowsItsExtensionsByTheirRecords(t *testing.T) {
	eager, s := session(t), lazily(t, home)
	if a, b := fmt.Sprintf("%+v", eager.Tools()), fmt.Sprintf("%+v", s.Tools()); a != b || a == "[]" {
		t.Errorf("%s\n%s", a, b)
	}
	if a, b := fmt.Sprintf("%+v", eager.Status()), fmt.Sprintf("%+v", s.Status()); a != b {
		t.Errorf("%s\n%s", a, b)
	}
	if got := s.Hooks("session_start"); !slices.Equal(got, []string{"probe", "twin"}) {
		t.Errorf("%v", got)
	}
	var names []string
	for _, record := range s.Records() {
		names = append(names, record.Name+" "+record.Version)
	}
	if !slices.Equal(names, []string{"probe 1.0.0", "twin 1.0.0"}) {
		t.Errorf("%v", names)
	}
	_, err := s.Call(t.Context(), do(t, "echo", "n", "one"))
	if e := fails(t, err, host.Arguments, "n"); len(e.Faults) != 1 {
		t.Errorf("%+v", e)
	}
	_, err = s.Call(t.Context(), host.Call{Extension: "probe", Tool: "nothing"})
	fails(t, err, host.Unhandled, "it has brief, do")
	_, err = s.Fire(t.Context(), host.Event{Extension: "twin", Name: "tool_call"})
	fails(t, err, host.Unhandled, "no hook")
	for _, st := range s.Status() {
		if st.State != host.StateUnstarted {
			t.Errorf("nothing was called, and %+v", st)
		}
	}
	if got := said(t, s, do(t, "echo", "text", "late")); got != "late" {
		t.Errorf("%q", got)
	}
	if _, began, err := s.Begin(t.Context(), host.Event{Extension: "twin"}); !began || err != nil {
		t.Errorf("%t, %v", began, err)
	}
}

func TestALazySessionHoldsNothingUntilItsFirstUse(t *testing.T) {
	own := changing(t)
	s := lazily(t, own)
	unused := generation(t, own)
	reinstall(t, own)
	if _, err := os.Stat(unused); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a generation that nobody used was held: %v", err)
	}
	used := generation(t, own)
	said(t, s, do(t, "echo"))
	reinstall(t, own)
	if _, err := os.Stat(used); err != nil {
		t.Errorf("a generation that is used was not held: %v", err)
	}
}

// A machine that has no descriptor left says nothing of an extension: when it has, the next call loads.
func TestALoadThatFailsThroughTheMachineIsNoVerdict(t *testing.T) {
	s := lazily(t, home)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	none := was
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err := s.Call(t.Context(), do(t, "echo"))
	_, again := s.Call(t.Context(), do(t, "echo"))
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{err, again} {
		if e := fails(t, err, host.Gone, "cannot be loaded now"); !errors.Is(e, unix.EMFILE) {
			t.Errorf("%v", e)
		}
	}
	if st := status(t, s, "probe"); st.State != host.StateUnstarted {
		t.Errorf("%+v", st)
	}
	livetest.Eventually(t, "it is loaded", func() bool {
		_, err := s.Call(t.Context(), do(t, "echo"))
		return err == nil
	})
}

func TestFirstCallsOfALazySessionAtOnce(t *testing.T) {
	s := lazily(t, home)
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			call := do(t, "echo", "text", fmt.Sprint(n))
			if n%2 == 1 {
				call.Extension = "twin"
			}
			if out, err := s.Call(t.Context(), call); err != nil || string(out.Content[0].Body) != fmt.Sprint(n) {
				t.Errorf("%d: %+v, %v", n, out, err)
			}
		})
	}
	all.Wait()
	for _, st := range s.Status() {
		if st.Restarts != 0 || st.State != host.StateIdle {
			t.Errorf("%+v", st)
		}
	}
}

func TestALoadBelongsToNoCaller(t *testing.T) {
	s := lazily(t, home)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Call(gone, do(t, "echo"))
	if e := fails(t, err, host.Cancelled, "not called"); !errors.Is(e, context.Canceled) {
		t.Errorf("%v", e)
	}
	if got := said(t, s, do(t, "echo", "text", "here")); got != "here" {
		t.Errorf("%q", got)
	}
}

func TestClosingALazySessionWhileItLoads(t *testing.T) {
	h := newHost(t, host.Options{})
	for range 20 {
		s := open(t, h, host.SessionOptions{Lazy: true, Ahead: true})
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := s.Call(t.Context(), do(t, "echo")); err != nil && host.KindOf(err) != host.Gone && host.KindOf(err) != host.Cancelled {
				t.Error(err)
			}
		})
		s.Close()
		all.Wait()
		_, err := s.Call(t.Context(), do(t, "echo"))
		fails(t, err, host.Gone, "closed")
	}
}

func TestAFaultThatALazyLoadFindsPutsTheExtensionOut(t *testing.T) {
	own := changing(t)
	tamper(t, own)
	h := newHost(t, host.Options{Home: own})
	eager := open(t, h, host.SessionOptions{})
	s := open(t, h, host.SessionOptions{Lazy: true})
	if len(s.Tools()) != 2 || len(s.Records()) != 1 {
		t.Errorf("its record is as it was, and there are %v", s.Tools())
	}
	_, err := s.Call(t.Context(), do(t, "echo"))
	fails(t, err, host.Gone, "loom_satellite")
	if a, b := status(t, eager, "probe"), status(t, s, "probe"); a.Reason != b.Reason || a.State != b.State || b.State != host.StateOut || b.Err == nil || a.Version != b.Version {
		t.Errorf("%+v\n%+v", a, b)
	}
	if len(s.Tools()) != 0 || len(s.Records()) != 0 {
		t.Errorf("the tools of an extension that is out are offered: %v", s.Tools())
	}
	if got := s.Hooks("session_start"); !slices.Equal(got, []string{"probe"}) {
		t.Errorf("a gate that is out is forgotten: %v", got)
	}
	_, err = s.Fire(t.Context(), host.Event{Extension: "probe", Name: "session_start"})
	fails(t, err, host.Gone, "loom_satellite")
	_, _, err = s.Begin(t.Context(), host.Event{Extension: "probe"})
	fails(t, err, host.Gone, "loom_satellite")
}

func TestARecordThatCannotBeReadIsOutAtOnce(t *testing.T) {
	own := changing(t)
	record := filepath.Join(generation(t, own), "install.json")
	if err := errors.Join(os.Chmod(record, 0o600), os.WriteFile(record, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s := lazily(t, own)
	if st := status(t, s, "probe"); st.State != host.StateOut || !strings.Contains(st.Reason, "install.json") {
		t.Errorf("%+v", st)
	}
	if got := s.Hooks("tool_call"); !slices.Equal(got, []string{"probe"}) {
		t.Errorf("nobody can say that it is no gate: %v", got)
	}
	_, err := s.Call(t.Context(), do(t, "echo"))
	fails(t, err, host.Gone, "install.json")
	absent := open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{Lazy: true, Extensions: []string{"absent"}})
	if st := status(t, absent, "absent"); st.State != host.StateOut || !errors.Is(st.Err, install.ErrNotInstalled) {
		t.Errorf("%+v", st)
	}
}

func TestALazyLoadThatFindsAnotherGenerationRunsThatOneByItsOwnSchema(t *testing.T) {
	own := changing(t)
	s := lazily(t, own)
	reinstall(t, own, second...)
	_, err := s.Call(t.Context(), do(t, "echo", "more", 1))
	fails(t, err, host.Arguments, "/more")
	if got := said(t, s, do(t, "echo", "more", "yes", "text", "it is")); got != "second it is" {
		t.Errorf("%q", got)
	}
	if r := s.Records(); len(r) != 1 || r[0].Version != "2.0.0" {
		t.Errorf("%+v", r)
	}
	changes, err := s.Refresh(t.Context())
	if err != nil || !slices.Equal(changes.Replaced, []string{"probe"}) || len(changes.Added)+len(changes.Removed) != 0 {
		t.Errorf("%+v, %v", changes, err)
	}
	if changes, err = s.Refresh(t.Context()); err != nil || !changes.None() {
		t.Errorf("%+v, %v", changes, err)
	}
}
