package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/host/satlog"
)

// watching is a dev under way.
type watching struct {
	t        *testing.T
	w        world
	dir      string
	out, err watched
	seen     int // of what out had
	said     int // of what err had
	pid      *os.Process
	wait     func() error
}

func startDev(t *testing.T, args ...string) *watching {
	t.Helper()
	w := newWorld(t, sharedCache)
	return startDevOf(w, filepath.Join(w.ext, "demo"), args...)
}

func startDevOf(w world, dir string, args ...string) *watching {
	t := w.t
	t.Helper()
	d := &watching{t: t, w: w, dir: dir}
	cmd := d.w.command(append([]string{"dev", d.dir}, args...)...)
	cmd.Stdout, cmd.Stderr = &d.out, &d.err
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.pid, d.wait = cmd.Process, cmd.Wait
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return d
}

// answer waits for something new on standard output, and says for something new on standard error.
func (d *watching) answer(want string) { d.t.Helper(); d.await(&d.out, &d.seen, want) }
func (d *watching) says(want string)   { d.t.Helper(); d.await(&d.err, &d.said, want) }

func (d *watching) await(w *watched, at *int, want string) {
	d.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		if i := strings.Index(w.String()[*at:], want); i >= 0 {
			*at += i + len(want)
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("%q did not come; stdout:\n%s\nstderr:\n%s", want, d.out.String(), d.err.String())
		}
	}
}

func (d *watching) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// edit replaces in a file as editors do, by a rename.
func (d *watching) edit(name, old, next string) {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		d.t.Fatalf("%s has no %q: %v", name, old, err)
	}
	if err := os.WriteFile(path+"~", []byte(strings.Replace(string(text), old, next, 1)), 0o644); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		d.t.Fatal(err)
	}
}

func (d *watching) end(s syscall.Signal, want int) {
	d.t.Helper()
	_ = d.pid.Signal(s)
	if got := exitCode(d.wait()); got != want {
		d.t.Errorf("status %d, want %d; stderr:\n%s", got, want, d.err.String())
	}
	if told := strings.Contains(d.err.String(), "loomext: stopped by "); told != (s != syscall.SIGINT) { // Ctrl-C is how it ends
		d.t.Errorf("after %s: stderr:\n%s", s, d.err.String())
	}
	assertNothingLeft(d.t, d.w.home)
	assertEmpty(d.t, filepath.Join(sharedCache, "loomext", "staging"))
	entries, _ := os.ReadDir(d.w.home)
	for _, entry := range entries {
		if entry.Name() != satlog.DirName { // the calls are real, and so is their log; nothing is installed
			d.t.Errorf("dev made %s in the store", entry.Name())
		}
	}
}

func TestDevCallsAgainAfterEveryEdit(t *testing.T) {
	d := startDev(t, "--tool", "say", "--args", `{"name": "you"}`)
	d.answer("hello, you\n")
	d.says("dev: granted: clock, because the manifest requests it and the code is yours; an install asks\n")
	d.says("dev: answered in ")

	d.edit("extension.toml", `"hello"`, `"good day"`)
	d.answer("good day, you\n")
	d.says("dev: extension.toml changed\n")

	// What is wrong is told, and the next edit starts over.
	d.edit("say/say.go", "package say", "package say\n\nfunc {")
	d.says("vetting: say/say.go:3:6: ")
	d.edit("say/say.go", "\n\nfunc {", "\n\nimport _ \"os\"\n")
	d.says("vetting: say/say.go:3:")
	d.edit("say/say.go", "\n\nimport _ \"os\"\n", "")
	d.edit("extension.toml", "good day", "good night")
	d.answer("good night, you\n")

	// A file that is deleted, and the whole source, and both back.
	say, err := os.ReadFile(filepath.Join(d.dir, "say/say.go"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(d.dir, "say/say.go")); err != nil {
		t.Fatal(err)
	}
	d.says("manifest: extension.toml:")
	if err := os.Rename(d.dir, d.dir+".away"); err != nil {
		t.Fatal(err)
	}
	d.says("fetch: ")
	if err := os.Rename(d.dir+".away", d.dir); err != nil {
		t.Fatal(err)
	}
	d.write("say/say.go", string(say))
	d.answer("good night, you\n")

	// What no install keeps is no edit.
	d.write("say/say_test.go", "package say\n")
	d.write(".hidden.swp", "x")
	d.edit("extension.toml", "good night", "bye")
	d.answer("bye, you\n")
	if text := d.err.String(); strings.Contains(text, "say_test.go") || strings.Contains(text, ".hidden") {
		t.Errorf("it took up what no install keeps:\n%s", text)
	}
	d.end(syscall.SIGINT, 130)
}

func TestDevReadsItsDocumentAnew(t *testing.T) {
	document := filepath.Join(t.TempDir(), "call.json")
	if err := os.WriteFile(document, []byte(`{"op_id": "", "tool": "x", "arguments": {}, "source_index": 0}`), 0o644); err != nil {
		t.Fatal(err)
	}
	d := startDev(t, "--event", "tool_call", "--payload", "@"+document)
	d.answer(`{"verdict":"allow"}`)
	if err := os.WriteFile(document, []byte(`{"op_id": "", "tool": "forbidden", "arguments": {}, "source_index": 0}`), 0o644); err != nil {
		t.Fatal(err)
	}
	d.answer(`{"verdict":"block","reason":"it is forbidden"}`)
	if err := os.WriteFile(document, []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
	d.says("host: demo tool_call: payload: ")
	d.end(syscall.SIGTERM, 143)
}

func TestDevWorksOnAWorkspaceAndKeepsARecord(t *testing.T) {
	w := newWorld(t, sharedCache)
	source, project := filepath.Join(t.TempDir(), "todofix"), t.TempDir()
	if err := os.CopyFS(source, os.DirFS("../../examples/todofix")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "a.go"), []byte("// TODO: more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "calls.jsonl")
	d := startDevOf(w, source, "--tool", "find_todos", "--workspace", project, "--record", record)
	d.answer(`"text":"// TODO: more"`)
	d.edit("extension.toml", "1.0.0", "1.0.1")
	d.answer(`"text":"// TODO: more"`)
	d.says("answered in ")
	d.end(syscall.SIGINT, 130)
	if text := d.err.String(); strings.Contains(text, "the source lies in the workspace") {
		t.Errorf("it does not:\n%s", text)
	}
	if told, err := w.command("audit", record, "--calls").Output(); err != nil || strings.Count(string(told), "todofix find_todos") != 2 {
		t.Errorf("the record has, %v\n%s", err, told)
	}

	d = startDevOf(w, source, "--workspace", filepath.Dir(source))
	d.says("dev: the source lies in the workspace: ")
	d.end(syscall.SIGINT, 130)
}

// An edit ends the call that it makes obsolete, and so does a signal.
func TestDevEndsWhatRuns(t *testing.T) {
	d := startDev(t, "--tool", "faults", "--args", `{"how": "spin"}`)
	d.says("built in ")
	eventually(t, "the satellite", func() bool { return len(childrenOf(d.pid.Pid)) > 0 })
	d.edit("extension.toml", `"hello"`, `"bye"`)
	d.says("extension.toml changed\n")
	d.says("built in ")
	eventually(t, "the satellite", func() bool { return len(childrenOf(d.pid.Pid)) > 0 })
	d.end(syscall.SIGINT, 130)
}

func TestDevOnATerminal(t *testing.T) {
	w := newWorld(t, sharedCache)
	term := newTerminal(t)
	status, seen := w.on(term, []reply{
		{"built in ", ""},
		{"dev> ", "\n"},
		{"nothing was called yet", ""},
		{"dev> ", "help\n"},
		{"; hooks: tool_call", ""},
		{"dev> ", "call say {\"name\": \"you\"}\n"},
		{"hello, you", ""},
		{"dev> ", "\n"},
		{"hello, you", ""},
		{"dev> ", "fire tool_call\n"},
		{`"verdict": "allow"`, ""},
		{"dev> ", "call nothing\n"},
		{`demo has no tool "nothing"; it has `, ""},
		{"dev> ", "what\n"},
		{`"what" is no command here`, ""},
		{"dev> ", "quit\n"},
	}, "dev", filepath.Join(w.ext, "demo"))
	if status != 0 {
		t.Errorf("status %d\n%s", status, seen)
	}
	assertNothingLeft(t, w.home)
}

// TestDevIsQuick prints the time from an edit to the answer, and wants it within a bound that
// only something broken misses.
func TestDevIsQuick(t *testing.T) {
	d := startDev(t, "--tool", "say", "--args", `{"name": "you"}`)
	d.answer("hello, you\n")
	d.says("answered in ")
	var times []time.Duration
	words := []string{"hello", "one", "two", "three", "four", "five"}
	for i := 1; i < len(words); i++ {
		began := time.Now()
		d.edit("say/say.go", "package say\n", "package say\n\n// "+words[i]+" is new.\n")
		d.edit("extension.toml", `"`+words[i-1]+`"`, `"`+words[i]+`"`)
		d.answer(words[i] + ", you\n")
		times = append(times, time.Since(began).Round(time.Millisecond))
	}
	t.Logf("edit to answer: %v", times)
	if fastest := min(times[1], times[2], times[3], times[4]); fastest > 5*time.Second {
		t.Errorf("the fastest edit took %s to its answer", fastest)
	}
	d.end(syscall.SIGINT, 130)
}
