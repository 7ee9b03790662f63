package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/record"
	"github.com/loomext/loomext/replay"
)

func TestWhatComesFromTheHostReplaysTheSame(t *testing.T) {
	path := of(t,
		call("echo", "text", "hello"), call("now", "n", 16), call("now", "n", 8), call("set", "key", "k", "text", strings.Repeat("long ", record.InlineMax)),
		call("get", "key", "k"), call("again", "key", "k", "n", 20), call("refuse", "text", "no"), call("panic", "text", "at the disco"),
		call("fetch", "text", "https://elsewhere.example.com/"), call("read", "key", "a"), call("count"), call("die", "text", "now"), call("count"), call("count"),
	)
	results, summary := played(t, path, replay.Options{})
	same(t, results)
	if want := (replay.Summary{Same: 16}); summary != want { // and two session_starts
		t.Errorf("%+v, want %+v", summary, want)
	}
	again, _ := played(t, path, replay.Options{})
	same(t, again)
}

// What a program keeps in memory is there again, and gone again, as it was: a satellite that the record lost to its caller
// is lost in a replay, too, though its last invocation is none of it.
func TestMemoryIsWhatItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	r := recorded(t, path, config.Default(), host.SessionOptions{ID: "one-name"})
	for _, op := range []string{"count", "count"} {
		if _, err := r.do(op); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	_, _ = r.session.Call(ctx, call("spin"))
	cancel()
	ctx, cancel = context.WithCancel(t.Context())
	held := call("hold")
	held.Report = func(host.Report) { cancel() }
	_, _ = r.session.Call(ctx, held)
	if got, err := r.do("count"); err != nil || got != "1 of start 1" {
		t.Errorf("%s %v", got, err)
	}
	r.end()
	r = recorded(t, path, config.Default(), host.SessionOptions{ID: "one-name"}) // of another process, say
	if got, err := r.do("count"); err != nil || got != "1 of start 0" {
		t.Errorf("%s %v", got, err)
	}
	r.end()
	results, summary := played(t, path, replay.Options{})
	if summary.Different != 0 || summary.Skipped != 1 {
		t.Errorf("%+v", summary)
	}
	for _, result := range results {
		if result.Skipped == "" && !result.Same() {
			t.Error(describe(result))
		}
		if result.Skipped != "" && result.Skipped != "its caller gave up" {
			t.Error(result.Skipped)
		}
	}
}

func TestEachDifferenceIsShown(t *testing.T) {
	path := of(t,
		call("echo", "text", "hello"), call("set", "key", "k", "text", "v"), call("get", "key", "k"), call("now", "n", 8), call("refuse", "text", "no"), call("count"),
	)
	results, summary := played(t, path, replay.Options{Against: from(t, home2)})
	if summary.Same != 2 || summary.Different != 5 { // session_start and count
		t.Errorf("%+v", summary)
	}
	want := []string{
		"",
		`"text":"hello"`, `; changed kv.set was {"key":"k","value":{"$base64":"dg=="}} now {"key":"other k","value":{"$base64":"dg=="}}`,
		`; new kv.get now {"key":"more"}`, "; gone clock.now was {", "null refused: no / null refused: no: no", "",
	}
	for i, r := range results {
		if got := describe(r); !strings.Contains(got, want[i]) || (got == "") != (want[i] == "") {
			t.Errorf("%d: %q, want %q", i, got, want[i])
		}
	}
	if len(results) != len(want) {
		t.Errorf("%d results", len(results))
	}
}

// docs/record.md names both.
func TestWhatTheHostHasNoPartInIsShownAsADifference(t *testing.T) {
	dice := of(t, call("dice"))
	if _, summary := played(t, dice, replay.Options{}); summary.Different != 1 {
		t.Errorf("a random number of its own: %+v", summary)
	}
	calls := make([]host.Call, 20)
	for i := range calls {
		calls[i] = call("order")
	}
	if _, summary := played(t, of(t, calls...), replay.Options{}); summary.Different == 0 {
		t.Errorf("the order of a map, twenty times: %+v", summary)
	}
}

// edited has each line of a record changed that a function changes.
func edited(t *testing.T, path string, change func(line map[string]any) bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	changed := false
	for line := range strings.Lines(string(text)) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if kind := fields["t"]; change(fields) {
			changed = true
			delete(fields, "t")
			rest, _ := json.Marshal(fields)
			line = fmt.Sprintf(`{"t":%q,%s`+"\n", kind, rest[1:])
		}
		out.WriteString(line)
	}
	if !changed {
		t.Fatal("nothing was changed")
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestChangedToolsAndSchemas(t *testing.T) {
	path := of(t, call("echo", "text", "hello"))
	edited(t, path, func(line map[string]any) bool {
		if line["name"] != "do" {
			return false
		}
		line["name"] = "undone"
		return true
	})
	results, summary := played(t, path, replay.Options{})
	if summary.Different != 1 || results[1].Now.Fault.Code != "unknown_tool" {
		t.Errorf("a tool that is not there: %+v: %s", summary, describe(results[1]))
	}
}

// Arguments that fit the old schema and not the new one are not put to the tool, as a session would not.
func TestArgumentsThatNoLongerFit(t *testing.T) {
	path := of(t, call("again", "key", "k", "n", -1))
	results, summary := played(t, path, replay.Options{Against: from(t, home2)})
	if summary.Different != 1 || results[1].Now.Fault.Code != "bad_arguments" || !strings.Contains(results[1].Now.Fault.Msg, "/n") {
		t.Errorf("%+v: %s", summary, describe(results[1]))
	}
}

func TestWhatHasNoAnswerIsNotReplayed(t *testing.T) {
	path := of(t, call("echo", "text", "a"), call("echo", "text", "b"), call("echo", "text", "c"), call("echo", "text", "d"))
	seen := 0
	edited(t, path, func(line map[string]any) bool {
		if line["t"] != "answer" {
			return false
		}
		switch seen++; seen {
		case 2:
			line["ok"], line["failed"], line["code"], line["msg"] = false, "cancelled", "cancelled", ""
		case 3:
			line["ok"], line["failed"], line["code"], line["msg"] = false, "gone", "gone", ""
		case 4:
			line["call"] = 99
		default:
			return false
		}
		return true
	})
	results, summary := played(t, path, replay.Options{})
	if want := (replay.Summary{Same: 2, Skipped: 3}); summary != want {
		t.Errorf("%+v, want %+v", summary, want)
	}
	for i, why := range map[int]string{1: "its caller gave up", 2: "it never reached the extension", 4: "the record ends before its answer"} {
		if results[i].Skipped != why {
			t.Errorf("%d: %q, want %q", i, results[i].Skipped, why)
		}
	}
}

func TestABodyThatIsMissingOrAlteredIsAReason(t *testing.T) {
	long := strings.Repeat("long ", record.InlineMax)
	path := of(t, call("echo", "text", "short"), call("set", "key", "k", "text", long), call("echo", "text", long), call("echo", "text", "short"))
	bodies, err := filepath.Glob(filepath.Join(path+record.BlobsSuffix, "*", "*"))
	if err != nil || len(bodies) < 3 {
		t.Fatalf("%v %v", bodies, err)
	}
	for _, body := range bodies {
		if err := os.WriteFile(body, []byte("altered"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results, summary := played(t, path, replay.Options{})
	if want := (replay.Summary{Same: 3, Skipped: 2, Unread: 2}); summary != want || !strings.Contains(results[2].Skipped, "was changed") {
		t.Errorf("altered: %+v, want %+v; %q", summary, want, results[2].Skipped)
	}
	if err := os.RemoveAll(path + record.BlobsSuffix); err != nil {
		t.Fatal(err)
	}
	if results, summary = played(t, path, replay.Options{}); summary.Skipped != 2 || !strings.Contains(results[2].Skipped, "is missing") {
		t.Errorf("missing: %+v; %q", summary, results[2].Skipped)
	}
}

func TestAnExtensionThatIsNotThereIsAReason(t *testing.T) {
	path := of(t, call("echo"))
	asked := 0
	results, summary := played(t, path, replay.Options{Against: func(string) (*install.Installed, error) {
		asked++
		return nil, io.ErrUnexpectedEOF
	}})
	if summary.Skipped != 2 || results[0].Skipped != io.ErrUnexpectedEOF.Error() || asked != 1 {
		t.Errorf("%+v, asked %d times", summary, asked)
	}
	if results, _ := played(t, path, replay.Options{Only: func(name string) bool { return name != "probe" }}); len(results) != 0 {
		t.Errorf("%d results of what was not asked for", len(results))
	}
}

// A replay performs no effect: not one that the record has, and not one that it has not.
func TestNothingIsPerformed(t *testing.T) {
	var connections atomic.Int64
	c := origin(t, func(w http.ResponseWriter, _ *http.Request) {
		connections.Add(1)
		_, _ = io.WriteString(w, "from the server")
	})
	workspace, path := t.TempDir(), filepath.Join(t.TempDir(), "audit.jsonl")
	r := recorded(t, path, c, host.SessionOptions{Workspace: workspace})
	for _, args := range [][]any{{"fetch", "text", "https://example.com/"}, {"write", "key", "a.txt", "text", "of the session"}, {"read", "key", "a.txt"}} {
		if got, err := r.do(args[0].(string), args[1:]...); err != nil {
			t.Errorf("%v: %s %v", args, got, err)
		}
	}
	r.end()
	file := filepath.Join(workspace, "a.txt")
	if err := os.WriteFile(file, []byte("of the person"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := connections.Load()
	results, _ := played(t, path, replay.Options{})
	same(t, results)
	edited(t, path, func(line map[string]any) bool { // so that the record has none of its effects
		if line["t"] != "effect" {
			return false
		}
		line["cap"] = "other.cap"
		return true
	})
	if _, summary := played(t, path, replay.Options{}); summary.Different != 3 {
		t.Errorf("%+v", summary)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "of the person" {
		t.Errorf("the file has %q, %v", got, err)
	}
	if connections.Load() != before || before != 1 {
		t.Errorf("%d connections, and %d before", connections.Load(), before)
	}
}

// An effect that was under way when the extension, or its time, gave up on it is under way in a replay.
func TestAnEffectThatWasGivenUpIsGivenUpAgain(t *testing.T) {
	release := make(chan struct{})
	c := origin(t, func(http.ResponseWriter, *http.Request) { <-release })
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	r := recorded(t, path, c, host.SessionOptions{})
	if got, err := r.do("impatient", "text", "https://example.com/", "n", 100); got != "gave up: true" {
		t.Errorf("%q %v", got, err)
	}
	short := call("fetch", "text", "https://example.com/")
	short.Timeout = 200 * time.Millisecond
	if _, err := r.session.Call(t.Context(), short); host.KindOf(err) != host.Deadline {
		t.Errorf("%v", err)
	}
	close(release)
	r.end()
	results, _ := played(t, path, replay.Options{})
	same(t, results)
}

func TestSatellitesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const sessions = 70
	w, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	h, err := host.New(host.Options{Home: home, Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	for range sessions {
		s, err := h.Open(t.Context(), host.SessionOptions{Record: w})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Call(t.Context(), call("count")); err != nil {
			t.Error(err)
		}
		s.Close()
	}
	h.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := record.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	most := 0
	summary, err := replay.New(replay.Options{Against: from(t, home)}).Run(t.Context(), r, func(replay.Result) error {
		most = max(most, children(t))
		return nil
	})
	if err != nil || summary.Same != 2*sessions {
		t.Errorf("%+v %v", summary, err)
	}
	if most > 64+1 || most < 32 { // one of the builds may be there still
		t.Errorf("%d processes at once", most)
	}
	if n := children(t); n > 0 {
		t.Errorf("%d processes are left", n)
	}
}

// Whoever reads no further is told no more, and nothing more runs.
func TestAResultThatNobodyTakesEndsTheReplay(t *testing.T) {
	r, err := record.Read(of(t, call("echo"), call("echo"), call("echo")))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	shown := 0
	summary, err := replay.New(replay.Options{Against: from(t, home)}).Run(t.Context(), r, func(replay.Result) error {
		shown++
		return io.ErrClosedPipe
	})
	broken(t, err, io.ErrClosedPipe)
	if shown != 1 || summary.Same != 1 || children(t) != 0 {
		t.Errorf("%d results, %+v", shown, summary)
	}
}

// What a tool says of the end of its time is no answer of its own, in a session and in a replay.
func TestAToolThatGivesUpAtItsDeadlineReplaysTheSame(t *testing.T) {
	late := call("hold")
	late.Timeout = 150 * time.Millisecond
	path := of(t, late, late, late, call("echo"))
	results, _ := played(t, path, replay.Options{})
	same(t, results)
	if got := results[1].Was.Fault.Code; got != "deadline" {
		t.Errorf("the record says %q", got)
	}
}

func TestTheEndOfItsContextLeavesNothing(t *testing.T) {
	path := of(t, call("echo"), call("hold"), call("echo"))
	edited(t, path, func(line map[string]any) bool { // so that the second would have all the time there is
		if line["t"] != "call" || line["call"] != 3.0 {
			return false
		}
		line["deadline_ms"] = 9e12
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		livetest.Eventually(t, "a satellite runs", func() bool { return children(t) > 0 })
		time.Sleep(200 * time.Millisecond)
		cancel()
	})
	_, _, err := play(t, ctx, path, replay.Options{})
	broken(t, err, context.Canceled)
	all.Wait()
	dead, stop := context.WithCancel(t.Context())
	stop()
	_, _, err = play(t, dead, path, replay.Options{})
	broken(t, err, context.Canceled)
}

// What is recorded in the name of a record is what it says, and no program: a hostile one does no more than cost its time.
func TestHostileRecords(t *testing.T) {
	for name, change := range map[string]func(line map[string]any){
		"a deadline of no time":       func(line map[string]any) { line["deadline_ms"] = 0 },
		"a kind that is none":         func(line map[string]any) { line["kind"] = "\x1b[2J" },
		"a kind that is not replayed": func(line map[string]any) { line["kind"] = "command" },
		"arguments of another shape":  func(line map[string]any) { line["args"] = []any{1, "$map", map[string]any{"$map": "x"}} },
		"arguments that are none":     func(line map[string]any) { line["args"] = nil },
		"a name without end":          func(line map[string]any) { line["name"] = strings.Repeat("n", 1<<20) },
		"an extension of another":     func(line map[string]any) { line["extension"] = "../../etc" },
	} {
		t.Run(name, func(t *testing.T) {
			path := of(t, call("echo", "text", "hello"))
			edited(t, path, func(line map[string]any) bool {
				if line["t"] != "call" || line["kind"] != "tool" {
					return false
				}
				change(line)
				return true
			})
			if _, summary := played(t, path, replay.Options{}); summary.Same == 0 || summary.Same+summary.Different+summary.Skipped != 2 {
				t.Errorf("%+v", summary)
			}
		})
	}
}
