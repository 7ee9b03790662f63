package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
