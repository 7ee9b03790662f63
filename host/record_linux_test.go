package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/record"
)

// recorder opens a record that is closed with the test, after the hosts that are made later.
func recorder(t testing.TB, path string) *record.Writer {
	t.Helper()
	w, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// recordOf reads a whole record in which nothing is damaged.
func recordOf(t testing.TB, path string) []*record.Entry {
	t.Helper()
	r, err := record.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []*record.Entry
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if r.Damaged() > 0 || r.Cut() {
		t.Errorf("damage %v, cut %v", r.Damage(), r.Cut())
	}
	return all
}

// told is an entry on a line: what it was, how it ended, and its effects.
func told(e *record.Entry) string {
	verdict := func(ok bool, code string) string {
		if ok {
			return "ok"
		}
		return code
	}
	text := fmt.Sprintf("%s %d %s: %s", e.Name, e.Start, op(e), verdict(e.Answer.OK, e.Answer.Failed+"/"+e.Answer.Fault.Code))
	if !e.Answered {
		text = e.Name + " is open"
	}
	for _, f := range e.Effects {
		text += fmt.Sprintf("; %s %s", f.Cap, verdict(f.OK, f.Fault.Code))
	}
	return text
}

// op is what the probe was asked for.
func op(e *record.Entry) string {
	args, err := e.Args.Wire()
	if err != nil {
		return err.Error()
	}
	text, _ := args.Get("args")
	s, _ := text.AsString()
	_, s, _ = strings.Cut(s, `"op":"`)
	s, _, _ = strings.Cut(s, `"`)
	return s
}

func wantTold(t *testing.T, path string, want ...string) []*record.Entry {
	t.Helper()
	all := recordOf(t, path)
	var got []string
	for _, e := range all {
		got = append(got, told(e))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the record has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return all
}

func TestEveryInvocationAndEffectIsRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{ID: "recorded", Extensions: []string{"probe"}, Record: recorder(t, path)})
	said(t, s, do(t, "echo", "text", "hello"))
	said(t, s, do(t, "set", "key", "k", "text", "v"))
	said(t, s, do(t, "get", "key", "k"))
	said(t, s, do(t, "report", "n", 2))
	for _, call := range []host.Call{
		do(t, "refuse", "text", "no"), do(t, "panic", "text", "ouch"), do(t, "fetch", "text", "https://elsewhere.example.test/"), do(t, "ask", "key", "k", "text", "who?"), do(t, "write", "key", "a"),
		do(t, "die", "text", "now"), {Extension: "probe", Tool: "do", Args: []byte(`{"op": 1}`)}, {Extension: "probe", Tool: "none"},
	} {
		if _, err := s.Call(t.Context(), call); err == nil {
			t.Errorf("%s is answered", call.Args)
		}
	}
	brief := do(t, "spin")
	brief.Tool = "brief"
	_, err := s.Call(t.Context(), brief)
	fails(t, err, host.Deadline, "")
	ctx, cancel := context.WithCancel(t.Context())
	held := do(t, "hold")
	held.Report = func(host.Report) { cancel() }
	_, err = s.Call(ctx, held)
	fails(t, err, host.Cancelled, "")
	if _, err := s.Fire(t.Context(), host.Event{Extension: "probe", Name: "session_start"}); err != nil {
		t.Error(err)
	}
	s.Close()
	all := wantTold(t, path,
		"session_start 1 : ok", "do 1 echo: ok", "do 1 set: ok; kv.set ok", "do 1 get: ok; kv.get ok", "do 1 report: ok; report.emit ok; report.emit ok",
		"do 1 refuse: refused/refused", "do 1 panic: crashed/crashed", "do 1 fetch: refused/refused; net.request not_allowed", "do 1 ask: refused/refused; ask.input unavailable", "do 1 write: refused/refused; fs.write denied",
		"do 1 die: crashed/crashed", "session_start 2 : ok", "brief 2 spin: deadline/deadline; report.emit ok", "session_start 3 : ok", "do 3 hold: cancelled/cancelled; report.emit ok",
		"session_start 3 : ok",
	)
	for i, e := range all {
		if e.Session != "recorded" || e.Extension != "probe" || e.As.Version != "1.0.0" || e.As.ArtifactDigest == "" || len(e.As.Granted) == 0 || e.Call != int64(i+1) {
			t.Errorf("%d: %+v", i, e)
		}
	}
	if d := all[1].Deadline; d != 30*time.Second {
		t.Errorf("it had %s", d)
	}
	value, err := all[1].Answer.Value.Wire()
	if text := record.Whole(value); err != nil || !strings.Contains(string(text), "hello") {
		t.Errorf("%s %v", text, err)
	}
}

func TestAnEffectThatIsOpenWhenItsCallEndsIsRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{Extensions: []string{"probe"}, Record: recorder(t, path)})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Call(ctx, question(t, func(ctx context.Context, _ []host.AskRequest) ([]json.RawMessage, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	fails(t, err, host.Cancelled, "")
	short := question(t, func(ctx context.Context, _ []host.AskRequest) ([]json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	short.Timeout = 200 * time.Millisecond
	_, err = s.Call(t.Context(), short)
	fails(t, err, host.Deadline, "")
	s.Close()
	all := recordOf(t, path)
	if len(all) != 3 || len(all[1].Effects) != 1 || len(all[2].Effects) != 1 {
		t.Fatalf("%d entries", len(all))
	}
	for i, codes := range map[int][]string{1: {"cancelled"}, 2: {"deadline", "cancelled"}} {
		if e := all[i].Effects[0]; e.Cap != "ask.input" || e.OK || !slices.Contains(codes, e.Fault.Code) {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

// While a call is under way, what led up to it is in the file: what a host leaves that is killed.
func TestARecordIsWrittenDuringACall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{Extensions: []string{"probe"}, Record: recorder(t, path)})
	said(t, s, question(t, func(ctx context.Context, requests []host.AskRequest) ([]json.RawMessage, error) {
		if all := recordOf(t, path); len(all) != 2 || all[1].Answered {
			t.Errorf("before an effect that reaches out, %d entries are there", len(all))
		}
		return accepting(ctx, requests)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { _, _ = s.Call(ctx, do(t, "hold")) })
	livetest.Eventually(t, "the report is there", func() bool {
		all := recordOf(t, path)
		return len(all) == 3 && len(all[2].Effects) == 1
	})
	cancel()
	all.Wait()
}

// tiny is a directory with little room. What needs it is skipped where this process may mount none.
func tiny(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("skipped layer: full disk: no tmpfs can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestAFullDiskEndsWhatIsDone(t *testing.T) {
	dir := tiny(t, "64k")
	path := filepath.Join(dir, "audit.jsonl")
	w := recorder(t, path)
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{Extensions: []string{"probe"}, Record: w})
	said(t, s, do(t, "echo"))
	var asked int
	counting := func(ctx context.Context, requests []host.AskRequest) ([]json.RawMessage, error) {
		asked++
		return accepting(ctx, requests)
	}
	calls, failed := 0, error(nil)
	for ; failed == nil && calls < 1000; calls++ {
		call := question(t, counting)
		call.Strand = strings.Repeat("s", 1000)
		_, failed = s.Call(t.Context(), call)
	}
	e := fails(t, failed, host.Unrecorded, path)
	if !errors.Is(e, unix.ENOSPC) || strings.Contains(e.Reply(), path) {
		t.Errorf("%v; a model is told %q", e, e.Reply())
	}
	before := asked
	for range 3 {
		_, err := s.Call(t.Context(), question(t, counting))
		fails(t, err, host.Unrecorded, "not called")
		_, err = s.Fire(t.Context(), host.Event{Extension: "probe", Name: "session_start"})
		fails(t, err, host.Unrecorded, "not called")
	}
	if asked != before || asked < calls-2 {
		t.Errorf("%d questions for %d calls, %d before the disk was full", asked, calls, before)
	}
	s.Close()
	_ = w.Close()
	r, err := record.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	entries := 0
	for {
		if _, err := r.Next(); err != nil {
			break
		}
		entries++
	}
	if entries < calls-1 || r.Damaged() > 0 {
		t.Errorf("%d entries of %d calls, damage %v", entries, calls, r.Damage())
	}
}

// Nothing reaches out of the session once the record cannot be written, not even for a call that began before.
func TestARecordThatFailsDuringACallEndsItsEffects(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{Extensions: []string{"probe"}, Record: recorder(t, path)})
	asked := 0
	call := do(t, "askagain", "key", "k", "text", "who?", "n", 4)
	call.Ask = func(ctx context.Context, requests []host.AskRequest) ([]json.RawMessage, error) {
		if asked++; asked == 2 {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
			time.Sleep(150 * time.Millisecond) // a file that is gone is noticed in a tenth of a second
		}
		return accepting(ctx, requests)
	}
	_, err := s.Call(t.Context(), call)
	fails(t, err, host.Unrecorded, "its answer is withheld")
	if asked != 2 {
		t.Errorf("%d questions were asked", asked)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there again: %v", err)
	}
}

func TestARecordInADirectoryThatIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{Extensions: []string{"probe"}, Record: recorder(t, filepath.Join(dir, "audit.jsonl"))})
	said(t, s, do(t, "echo"))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	livetest.Eventually(t, "it is noticed", func() bool {
		_, err := s.Call(t.Context(), do(t, "echo"))
		return host.KindOf(err) == host.Unrecorded
	})
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there again: %v", err)
	}
}

func TestARecordThatWasClosed(t *testing.T) {
	w := recorder(t, filepath.Join(t.TempDir(), "audit.jsonl"))
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{Extensions: []string{"probe"}, Record: w})
	said(t, s, do(t, "echo"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Call(t.Context(), do(t, "echo"))
	fails(t, err, host.Unrecorded, "not called")
	if _, err := newHost(t, host.Options{}).Open(t.Context(), host.SessionOptions{Record: w}); err == nil {
		t.Error("a session is opened on a record that is closed")
	}
}

func TestTwoSessionsAppendToOneRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	shared := recorder(t, path)
	const each = 20
	var all sync.WaitGroup
	var sessions []*host.Session
	for n, w := range []*record.Writer{shared, shared, recorder(t, path)} { // the third as of another process
		s := open(t, newHost(t, host.Options{}), host.SessionOptions{ID: fmt.Sprint("session-", n), Record: w})
		sessions = append(sessions, s)
		for _, name := range []string{"probe", "twin"} {
			all.Go(func() {
				for range each {
					call := do(t, "set", "key", "k", "text", strings.Repeat(fmt.Sprint(n), 2*record.InlineMax))
					call.Extension = name
					if _, err := s.Call(t.Context(), call); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	for _, s := range sessions {
		s.Close()
	}
	counts := map[string]int{}
	for _, e := range recordOf(t, path) {
		counts[e.Session+" "+e.Extension+" "+e.Kind]++
		if !e.Answer.OK || e.Kind == "tool" && len(e.Effects) != 1 {
			t.Errorf("%s", told(e))
		}
		if _, err := e.Args.Wire(); err != nil {
			t.Error(err)
		}
	}
	if len(counts) != 12 {
		t.Errorf("%v", counts)
	}
	for what, n := range counts {
		if want := map[bool]int{true: each, false: 1}[strings.HasSuffix(what, " tool")]; n != want {
			t.Errorf("%s: %d, want %d", what, n, want)
		}
	}
	if _, err := newHost(t, host.Options{}).Open(t.Context(), host.SessionOptions{ID: "twice", Record: shared}); err != nil {
		t.Error(err)
	}
	if _, err := newHost(t, host.Options{}).Open(t.Context(), host.SessionOptions{ID: "twice", Record: shared}); err == nil || !strings.Contains(err.Error(), "recorded already") {
		t.Errorf("one name twice: %v", err)
	}
}

func TestAReinstallIsInTheRecord(t *testing.T) {
	path, own := filepath.Join(t.TempDir(), "audit.jsonl"), changing(t)
	s := open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{Record: recorder(t, path)})
	said(t, s, do(t, "echo", "text", "a"))
	said(t, s, do(t, "echo", "text", "b"))
	reinstall(t, own, second...)
	if _, err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	said(t, s, do(t, "echo", "text", "c"))
	s.Close()
	all := wantTold(t, path, "session_start 1 : ok", "do 1 echo: ok", "do 1 echo: ok", "session_start 1 : ok", "do 1 echo: ok")
	if all[2].As.Version != "1.0.0" || all[4].As.Version != "2.0.0" || all[2].As.ArtifactDigest == all[4].As.ArtifactDigest {
		t.Errorf("%+v, %+v", all[2].As, all[4].As)
	}
	text, err := os.ReadFile(path)
	if n := strings.Count(string(text), `{"t":"extension"`); err != nil || n != 2 {
		t.Errorf("%d lines of an extension, %v", n, err)
	}
}

// No extension may read what others were asked and answered: a session whose record would lie among its files is not opened.
func TestNoSessionHasItsRecordInItsWorkspace(t *testing.T) {
	workspace, outside := t.TempDir(), t.TempDir()
	below := filepath.Join(workspace, "logs")
	link := func(to, at string) string {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	bodies := filepath.Join(outside, "bodies.jsonl")
	link(below, bodies+record.BlobsSuffix)
	for what, path := range map[string]string{
		"in it":                           filepath.Join(workspace, "audit.jsonl"),
		"below it":                        filepath.Join(below, "audit.jsonl"),
		"by a link to the directory":      filepath.Join(link(below, filepath.Join(outside, "dir")), "linked.jsonl"),
		"by a link to the file":           link(filepath.Join(workspace, "made.jsonl"), filepath.Join(outside, "file.jsonl")),
		"by a link in it that leads out":  link(filepath.Join(outside, "target.jsonl"), filepath.Join(workspace, "out.jsonl")),
		"with its bodies by a link in it": bodies,
	} {
		for _, dir := range []string{workspace, link(workspace, filepath.Join(outside, "workspace of "+what))} {
			if _, err := newHost(t, host.Options{}).Open(t.Context(), host.SessionOptions{Workspace: dir, Record: recorder(t, path)}); !errors.Is(err, host.ErrRecordInWorkspace) {
				t.Errorf("a record %s: %v", what, err)
			}
		}
	}
	path := filepath.Join(outside, "audit.jsonl")
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{Workspace: workspace, Record: recorder(t, path)})
	said(t, s, do(t, "write", "key", "logs/other.jsonl", "text", "mine"))
	s.Close()
	recordOf(t, path)
}

func TestCallsAtOnceAreRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := open(t, newHost(t, host.Options{}), host.SessionOptions{Extensions: []string{"probe"}, Record: recorder(t, path)})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if _, err := s.Call(ctx, do(t, "overlap", "n", 16)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.Close()
	entries := recordOf(t, path)
	if len(entries) != 9 {
		t.Fatalf("%d entries", len(entries))
	}
	for _, e := range entries[1:] {
		if len(e.Effects) != 32 {
			t.Errorf("%d effects", len(e.Effects))
		}
	}
}
