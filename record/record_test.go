package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

var units = Extension{Name: "units", Version: "1.0.0", Fingerprint: "sha256:f", ArtifactDigest: "a", Granted: []string{"kv"}}

func toolCall(args string) Invocation {
	return Invocation{Extension: "units", Kind: wire.CallTool, Name: "convert", Deadline: 20 * time.Second,
		Args: Of(wire.Map(wire.Field{Key: "args", Value: wire.String(args)}, wire.Field{Key: "strand", Value: wire.String("")}))}
}

// kvGet records an effect whole.
func kvGet(c *Call, key string) {
	c.Effect("kv.get", Of(wire.Map(wire.Field{Key: "key", Value: wire.String(key)}))).End(wire.Result{OK: true, Value: wire.Map(wire.Field{Key: "found", Value: wire.Bool(false)})})
}

// must fails the test where something could not be recorded.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// write records two calls, the second with a long body, and leaves a third open.
func write(t *testing.T, path string) {
	t.Helper()
	w := must[*Writer](t)(Open(path))
	s := must[*Session](t)(w.Session("s1", "v1"))
	first := must[*Call](t)(s.Begin(units, toolCall(`{"a": 1}`)))
	second := must[*Call](t)(s.Begin(units, toolCall(strings.Repeat("long ", InlineMax))))
	kvGet(first, "k")
	first.Effect("net.request", Of(wire.Map())).End(wire.Result{Fault: wire.Fault{Code: "denied", Msg: "no"}})
	hanging := first.Effect("proc.run", Of(wire.Map()))
	if err := second.End(Answer{Failed: "refused", Fault: wire.Fault{Code: "refused", Msg: "why"}}); err != nil {
		t.Fatal(err)
	}
	if err := first.End(Answer{OK: true, Value: Of(wire.Bin(make([]byte, 2*InlineMax)))}); err != nil {
		t.Fatal(err)
	}
	hanging.End(wire.Result{OK: true})
	kvGet(first, "late")
	must[*Call](t)(s.Begin(units, toolCall(`{}`)))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, path string) ([]*Entry, *Reader) {
	t.Helper()
	r := must[*Reader](t)(Read(path))
	defer r.Close()
	var all []*Entry
	for {
		e, err := r.Next()
		if err == io.EOF {
			return all, r
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, path)
	all, r := entries(t, path)
	if len(all) != 3 || r.Cut() || len(r.Damage()) > 0 {
		t.Fatalf("%d entries, cut %v, damage %v", len(all), r.Cut(), r.Damage())
	}
	long, first, open := all[0], all[1], all[2]
	if long.Call != 2 || long.Answer.Failed != "refused" || long.Answer.Fault.Msg != "why" || long.Args.Bytes() != 5*InlineMax {
		t.Errorf("second: %+v", long)
	}
	args := must[wire.Value](t)(long.Args.Wire())
	text, _ := args.Get("args")
	if s, _ := text.AsString(); s != strings.Repeat("long ", InlineMax) {
		t.Errorf("the long body has %d bytes", len(s))
	}
	if first.Call != 1 || len(first.Effects) != 3 || !first.Answer.OK || first.Answer.Took <= 0 || first.Deadline != 20*time.Second || first.As.Version != "1.0.0" {
		t.Errorf("first: %+v", first)
	}
	if e := first.Effects[1]; e.OK || e.Fault.Code != "denied" || e.Took <= 0 {
		t.Errorf("effect: %+v", e)
	}
	if e := first.Effects[2]; e.Cap != "proc.run" || e.OK || e.Fault.Code != wire.CodeCancelled {
		t.Errorf("effect that had not ended: %+v", e)
	}
	if open.Answered || open.Call != 3 {
		t.Errorf("open: %+v", open)
	}
}

func TestRecordIsTheOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, path)
	err := filepath.Walk(filepath.Dir(path), func(p string, info os.FileInfo, err error) error {
		if p != filepath.Dir(path) && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", p, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A record that is cut off anywhere gives what stands before, in a prefix of the entries.
func TestRecordThatIsCutOffIsReadUpToThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	write(t, path)
	whole := must[[]byte](t)(os.ReadFile(path))
	cut := filepath.Join(dir, "cut.jsonl")
	if err := os.Symlink(path+BlobsSuffix, cut+BlobsSuffix); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if n > 0 && n < len(`{"t":"session",`) {
			continue // nothing says that this was a record
		}
		all, r := entries(t, cut)
		if at := n > 0 && whole[n-1] != '\n'; r.Cut() != at || len(r.Damage()) > 0 {
			t.Fatalf("cut at %d: cut %v, damage %v", n, r.Cut(), r.Damage())
		}
		for _, e := range all {
			if _, err := e.Args.Wire(); err != nil {
				t.Fatalf("cut at %d: %v", n, err)
			}
		}
	}
}

func TestRecordThatWasCutOffIsContinued(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, path)
	whole := must[[]byte](t)(os.ReadFile(path))
	if err := os.WriteFile(path, whole[:len(whole)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	w := must[*Writer](t)(Open(path))
	s := must[*Session](t)(w.Session("s2", "v1"))
	c := must[*Call](t)(s.Begin(units, toolCall(`{}`)))
	if err := errors.Join(c.End(Answer{OK: true}), s.End(), w.Close()); err != nil {
		t.Fatal(err)
	}
	all, r := entries(t, path)
	if len(all) != 3 || all[2].Session != "s2" || len(r.Damage()) != 1 || r.Cut() {
		t.Errorf("%d entries, damage %v", len(all), r.Damage())
	}
}

func TestChangedOrMissingBodyIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, path)
	all, _ := entries(t, path)
	files := must[[]string](t)(filepath.Glob(filepath.Join(path+BlobsSuffix, "*", "*")))
	if len(files) != 2 {
		t.Fatalf("bodies: %v", files)
	}
	for _, file := range files {
		if err := os.WriteFile(file, []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := all[0].Args.Wire(); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("changed: %v", err)
	}
	if err := os.RemoveAll(path + BlobsSuffix); err != nil {
		t.Fatal(err)
	}
	if _, err := all[0].Args.Wire(); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("missing: %v", err)
	}
}

func TestForeignFileIsNeverWrittenTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("my notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "no record") {
		t.Errorf("opened: %v", err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "no record") {
		t.Errorf("read: %v", err)
	}
	if got := must[[]byte](t)(os.ReadFile(path)); string(got) != "my notes" {
		t.Errorf("it has %q", got)
	}
}

func TestAnotherFormatIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(`{"t":"session","session":"s","format":9}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := must[*Reader](t)(Read(path))
	defer r.Close()
	if _, err := r.Next(); err == nil || !strings.Contains(err.Error(), "format 9") {
		t.Errorf("got %v", err)
	}
}

// What cannot be recorded is not to be done: after one failure every invocation is told.
func TestWriterThatCannotWriteTellsEveryone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := must[*Writer](t)(Open(path))
	defer w.Close()
	s := must[*Session](t)(w.Session("s1", "v1"))
	c := must[*Call](t)(s.Begin(units, toolCall(`{}`)))
	if err := w.file.Close(); err != nil { // as a disk that fails
		t.Fatal(err)
	}
	if err := c.Reach(); err == nil {
		t.Error("what led up to an effect was recorded")
	}
	if err := c.End(Answer{OK: true}); err == nil {
		t.Error("the end was recorded")
	}
	if _, err := s.Begin(units, toolCall(`{}`)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the next began: %v", err)
	}
	if w.Err() == nil {
		t.Error("the writer says that nothing is wrong")
	}
}

func TestBodyThatCannotBeKeptEndsTheRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := must[*Writer](t)(Open(path))
	defer w.Close()
	if err := os.WriteFile(path+BlobsSuffix, nil, 0o600); err != nil { // where the directory is to be
		t.Fatal(err)
	}
	s := must[*Session](t)(w.Session("s1", "v1"))
	if _, err := s.Begin(units, toolCall(strings.Repeat("x", 2*InlineMax))); err == nil {
		t.Error("the call began")
	}
}

func TestManyWriteAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := must[*Writer](t)(Open(path))
	const sessions, calls = 4, 50
	var all sync.WaitGroup
	for i := range sessions {
		s := must[*Session](t)(w.Session(fmt.Sprint("s", i), "v1"))
		for range calls {
			all.Go(func() {
				c, err := s.Begin(units, toolCall(`{}`))
				if err != nil {
					t.Error(err)
					return
				}
				var effects sync.WaitGroup
				for range 3 {
					effects.Go(func() { kvGet(c, strings.Repeat("k", 2*InlineMax)) })
				}
				effects.Wait()
				if err := c.End(Answer{OK: true}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, r := entries(t, path)
	if len(got) != sessions*calls || len(r.Damage()) > 0 {
		t.Fatalf("%d entries, damage %v", len(got), r.Damage())
	}
	for _, e := range got {
		if len(e.Effects) != 3 {
			t.Errorf("call %d of %s has %d effects", e.Call, e.Session, len(e.Effects))
		}
	}
}

func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	seed := filepath.Join(dir, "seed")
	w, err := Open(seed)
	if err != nil {
		f.Fatal(err)
	}
	s, _ := w.Session("s", "v")
	c, _ := s.Begin(units, toolCall(`{}`))
	kvGet(c, "k")
	_ = c.End(Answer{OK: true})
	_ = w.Close()
	text, err := os.ReadFile(seed)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(bytes.ReplaceAll(text, []byte(`"call":1`), []byte(`"call":-9`)))
	path := filepath.Join(dir, "fuzzed")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Read(path)
		if err != nil {
			return
		}
		defer r.Close()
		for range len(text) + 1 { // a line gives one entry at most
			e, err := r.Next()
			if err != nil {
				return
			}
			_, _ = e.Args.Wire()
		}
		t.Error("it does not end")
	})
}

func BenchmarkCallWithOneEffect(b *testing.B) {
	w, err := Open(filepath.Join(b.TempDir(), "audit.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	s, err := w.Session("s1", "v1")
	if err != nil {
		b.Fatal(err)
	}
	call := toolCall(strings.Repeat("x", 1024))
	answer := Answer{OK: true, Value: Of(wire.Map(wire.Field{Key: "text", Value: wire.String(strings.Repeat("y", 1024))}))}
	b.ReportAllocs()
	for b.Loop() {
		c, err := s.Begin(units, call)
		if err != nil {
			b.Fatal(err)
		}
		kvGet(c, "key")
		if err := c.End(answer); err != nil {
			b.Fatal(err)
		}
	}
}

// appendLines appends lines to a record as they are.
func appendLines(t *testing.T, path string, lines ...string) {
	t.Helper()
	f := must[*os.File](t)(os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600))
	defer f.Close()
	for _, line := range lines {
		if _, err := io.WriteString(f, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSessionsOfOneNameAreToldApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var lines [2]int
	for i := range lines {
		w := must[*Writer](t)(Open(path))
		s := must[*Session](t)(w.Session("same", "v1"))
		if _, err := w.Session("same", "v1"); err == nil || !strings.Contains(err.Error(), "recorded already") {
			t.Errorf("twice at once: %v", err)
		}
		must[*Call](t)(s.Begin(units, toolCall(`{}`))) // which the process does not live to end
		if i == 1 {
			c := must[*Call](t)(s.Begin(units, toolCall(`{}`)))
			if err := errors.Join(c.End(Answer{OK: true}), s.End()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	all, r := entries(t, path)
	if len(all) != 3 || r.Damaged() > 0 {
		t.Fatalf("%d entries, damage %v", len(all), r.Damage())
	}
	answered, first, second := all[0], all[1], all[2]
	if !answered.Answered || answered.Call != 2 || first.Answered || second.Answered || first.Line > second.Line {
		t.Errorf("%+v\n%+v\n%+v", answered, first, second)
	}
	if first.SessionLine == second.SessionLine || answered.SessionLine != second.SessionLine {
		t.Errorf("sessions from lines %d, %d and %d", answered.SessionLine, first.SessionLine, second.SessionLine)
	}
}

func TestLinesThatMakeNoSenseAreDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, path)
	before, _ := entries(t, path)
	hostile := []string{
		`null`, `[]`, `no JSON`, `{"t":"call"}`, `{"t":"other","session":"s1"}`, `{"t":"call","session":"none","call":1,"extension":"units"}`,
		`{"t":"call","session":"s1","call":99,"extension":7}`, `{"t":"answer","session":"s1","call":99}`,
		`{"t":"call","session":"s1","call":99,"extension":"units","deadline_ms":9223372036854775807}`,
		`{"t":"call","session":"s1","call":99,"extension":"units","deadline_ms":-1}`,
		`{"t":"call","session":"s1","call":99999999999999999999,"extension":"units"}`,
		`{"t":"extension","session":"s1","extension":[]}`, strings.Repeat("[", 1<<20),
	}
	appendLines(t, path, hostile...)
	for range maxDamage {
		appendLines(t, path, "{")
	}
	all, r := entries(t, path)
	if len(all) != len(before) || r.Damaged() != len(hostile)+maxDamage || len(r.Damage()) != maxDamage {
		t.Errorf("%d entries of %d, %d damaged, %d described", len(all), len(before), r.Damaged(), len(r.Damage()))
	}
	for _, d := range r.Damage() {
		if len(d.Why) > 200 {
			t.Errorf("line %d: %d bytes of why", d.Line, len(d.Why))
		}
	}
}

// What a session left open costs nothing when the next begins, and the search for it is no search.
func TestManyOpenCallsAreReadInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const calls = 50_000
	var text strings.Builder
	text.WriteString(`{"t":"session","session":"s","format":1}` + "\n")
	for n := range calls {
		fmt.Fprintf(&text, `{"t":"call","session":"s","call":%d,"extension":"x","kind":"tool","name":"n","args":null}`+"\n", n)
	}
	for n := range calls {
		fmt.Fprintf(&text, `{"t":"answer","session":"s","call":%d,"ok":false}`+"\n", calls-1-n)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, r := entries(t, path); len(all) != calls || r.Damaged() > 0 {
		t.Errorf("%d entries, %d damaged", len(all), r.Damaged())
	}
}

func TestNothingWaitsForAPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	if err := mkfifo(path); err != nil {
		t.Skipf("skipped: no named pipe here: %v", err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("read: %v", err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("opened: %v", err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a directory: %v", err)
	}
	record := filepath.Join(dir, "audit.jsonl")
	write(t, record)
	all, _ := entries(t, record)
	for _, body := range must[[]string](t)(filepath.Glob(filepath.Join(record+BlobsSuffix, "*", "*"))) {
		if err := errors.Join(os.Remove(body), mkfifo(body)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := all[0].Args.Wire(); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a body: %v", err)
	}
}

func TestLineWithoutEndIsNoRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := must[*os.File](t)(os.Create(path))
	defer f.Close()
	if _, err := f.WriteString(`{"t":"session",`); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 30); err != nil { // of which nothing is on the disk
		t.Fatal(err)
	}
	r := must[*Reader](t)(Read(path))
	defer r.Close()
	if _, err := r.Next(); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
}

// A body that cannot be kept ends the record, and what came before it is there.
func TestWhatStandsBeforeALostBodyIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := must[*Writer](t)(Open(path))
	defer w.Close()
	s := must[*Session](t)(w.Session("s1", "v1"))
	if err := os.WriteFile(path+BlobsSuffix, nil, 0o600); err != nil { // where the directory is to be
		t.Fatal(err)
	}
	c := must[*Call](t)(s.Begin(units, toolCall(`{}`)))
	kvGet(c, "short")
	kvGet(c, strings.Repeat("x", 2*InlineMax))
	if c.Err() == nil || c.Reach() == nil {
		t.Error("nobody is told")
	}
	all, _ := entries(t, path)
	if len(all) != 1 || len(all[0].Effects) != 1 {
		t.Errorf("%d entries", len(all))
	}
}

// A record is as long as a session is, and none of it is kept but what is open.
func TestALongRecordIsReadInLittleMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := must[*os.File](t)(os.Create(path))
	out := bufio.NewWriter(f)
	fmt.Fprintln(out, `{"t":"session","session":"s","format":1}`)
	const calls, most = 100_000, 8 << 20
	body := strings.Repeat("x", 300)
	for n := range calls {
		fmt.Fprintf(out, `{"t":"call","session":"s","call":%d,"extension":"x","kind":"tool","name":"n","args":{"args":%q}}`+"\n", n, body)
		fmt.Fprintf(out, `{"t":"answer","session":"s","call":%d,"ok":true,"value":%q}`+"\n", n, body)
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	r := must[*Reader](t)(Read(path))
	defer r.Close()
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	for n := range calls {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if n%(calls/4) == calls/8 {
			if now := held(); now > before+most {
				t.Fatalf("%d MiB more after %d invocations", (now-before)>>20, n)
			}
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("%v", err)
	}
}

// While the body of one is kept, which takes the time of a disk, the others are not held up; its own end waits for it.
func TestALongBodyHoldsNobodyUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := must[*Writer](t)(Open(path))
	keep, kept, release := w.keep, make(chan struct{}), make(chan struct{})
	w.keep = func(body []byte) (string, error) {
		close(kept)
		<-release
		return keep(body)
	}
	s := must[*Session](t)(w.Session("s1", "v1"))
	slow, quick := must[*Call](t)(s.Begin(units, toolCall(`{}`))), must[*Call](t)(s.Begin(units, toolCall(`{}`)))
	var all sync.WaitGroup
	all.Go(func() { kvGet(slow, strings.Repeat("k", 2*InlineMax)) })
	<-kept
	kvGet(quick, "k")
	kvGet(slow, "k")
	if err := errors.Join(slow.Reach(), quick.End(Answer{OK: true})); err != nil {
		t.Error(err)
	}
	all.Go(func() {
		if err := slow.End(Answer{OK: true}); err != nil {
			t.Error(err)
		}
	})
	close(release)
	all.Wait()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	got, r := entries(t, path)
	if len(got) != 2 || got[0].Call != 2 || len(got[0].Effects) != 1 || len(got[1].Effects) != 2 || r.Damaged() > 0 {
		t.Errorf("%d entries, damage %v", len(got), r.Damage())
	}
}

func TestWhatCannotBeOpenedIsNamedOnceWithWhatToDo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "nodir", "x")
	_, open := Open(path)
	_, read := Read(path)
	_, directory := Open(dir)
	for want, err := range map[string]error{
		"record: " + path + ": its directory is not there: no such file or directory; make it, or name a file elsewhere": open,
		"record: " + path + ": it is not there: no such file or directory; name a file that --record wrote":              read,
		"record: " + dir + ": is a directory; name another file":                                                         directory,
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if !errors.Is(open, os.ErrNotExist) || !errors.Is(read, os.ErrNotExist) {
		t.Error("the causes are lost")
	}
}

// A line can name one long body many times. What comes of it is no longer than a frame.
func TestAValueIsNoLongerThanAFrame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	body := bytes.Repeat([]byte("x"), 1<<20)
	digest := must[string](t)(blobsOf(path).put(body))
	for times, fits := range map[int]bool{wire.MaxFrame >> 20: true, wire.MaxFrame>>20 + 1: false} {
		one := `{"$blob":"` + digest + `","bytes":1048576,"type":"str"}`
		v := Value{text: []byte("[" + strings.TrimSuffix(strings.Repeat(one+",", times), ",") + "]"), get: blobsOf(path).get}
		if _, err := v.Wire(); (err == nil) != fits {
			t.Errorf("%d times: %v", times, err)
		}
	}
}
