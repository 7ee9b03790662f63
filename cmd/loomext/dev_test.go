package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTypedLines(t *testing.T) {
	for line, want := range map[string]struct {
		ask  devAsk
		word string
		bad  bool
	}{
		"": {word: "again"}, "  ": {word: "again"}, "help": {word: "help"}, "quit": {word: "quit"}, "exit": {word: "quit"},
		`call say`:                      {ask: devAsk{target: "say"}},
		` call  say  {"name": "a  b"} `: {ask: devAsk{target: "say", document: `{"name": "a  b"}`}},
		`fire tool_call @call.json`:     {ask: devAsk{event: true, target: "tool_call", document: "@call.json"}},
		`call`:                          {bad: true}, `call say -`: {bad: true}, `say`: {bad: true},
	} {
		ask, word, err := parseDevLine(line)
		if ask != want.ask || word != want.word || (err != nil) != want.bad {
			t.Errorf("%q: %+v, %q, %v; want %+v", line, ask, word, err, want)
		}
	}
}

func TestAWatchSendsWhatSettled(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.go", "a")
	write("sub/b.go", "b")
	w := &watch{dir: dir}
	if err := w.look(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	edits, over := make(chan []string), make(chan struct{})
	go func() { defer close(over); w.run(ctx, edits) }()
	write("vendor/x.go", "x")
	write(".git/x", "x")
	write("a_test.go", "x")
	write("a.go", "longer")
	if err := os.Remove(filepath.Join(dir, "sub/b.go")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for !slices.Contains(got, "a.go") || !slices.Contains(got, "sub/b.go") {
		got = append(got, <-edits...)
	}
	if len(got) != 2 {
		t.Errorf("got %v", got)
	}
	for _, name := range []string{"c1.go", "c2.go", "c3.go", "c4.go", "c5.go"} {
		write(name, "c")
	}
	if got := <-edits; len(got) == 0 || len(got) > watchNamed+1 {
		t.Errorf("got %v", got)
	}
	cancel()
	<-over
	for _, missing := range []string{filepath.Join(dir, "missing"), filepath.Join(dir, "a.go")} {
		if (&watch{dir: missing}).look() == nil {
			t.Errorf("%s was taken for a source", missing)
		}
	}
}

func TestWhatIsWatchedIsTheSourceAlone(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	if err := os.MkdirAll(filepath.Join(source, "say"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(source, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		source:                               true,
		link:                                 true,
		filepath.Join(source, "calls.jsonl"): true,
		filepath.Join(link, "say", "calls"):  true,
		filepath.Join(source, ".calls"):      false,
		filepath.Join(source, "testdata/x"):  false,
		filepath.Join(dir, "calls.jsonl"):    false,
		dir:                                  false,
		source + "2":                         false,
		"":                                   false,
	} {
		if got := watches(source, path); got != want {
			t.Errorf("%s: %t", path, got)
		}
		if got := watches(link, path); got != want {
			t.Errorf("by its link: %s: %t", path, got)
		}
	}
}
