package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// read is a command that reads a record, and what it says.
func (w world) read(args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	status = exitCode(cmd.Run())
	return out.String(), errs.String(), status
}

// A host that is killed leaves a record that is read up to there, and the next one continues it.
func TestARecordOutlivesAHostThatIsKilled(t *testing.T) {
	w := newWorld(t, sharedCache)
	w.must("install", filepath.Join(w.ext, "demo"), "--yes")
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w.must("call", "demo", "say", "--args", `{"name":"before"}`, "--record", path)
	var stderr watched
	cmd := w.command("call", "demo", "faults", "--args", `{"how":"spin"}`, "--record", path)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the call is in the record", func() bool {
		out, _, _ := w.read("audit", path)
		return strings.Contains(out, "no answer") && strings.Contains(out, "report.emit")
	})
	_ = cmd.Process.Kill()
	if got := exitCode(cmd.Wait()); got != -1 {
		t.Errorf("status %d", got)
	}
	eventually(t, "the end of its satellite", func() bool { return len(childrenOf(os.Getpid())) == 0 })
	out, errs, status := w.read("audit", path)
	if status != 0 || strings.Count(out, "  demo ") != 2 || strings.Count(out, "no answer") != 1 {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-20], 0o600); err != nil { // as of a write that was cut short
		t.Fatal(err)
	}
	if _, errs, status := w.read("audit", path); status != 0 || !strings.Contains(errs, "the last line was cut off") {
		t.Errorf("status %d: %s", status, errs)
	}
	w.must("call", "demo", "say", "--args", `{"name":"after"}`, "--record", path)
	out, errs, status = w.read("audit", path, "--calls")
	if status != 0 || strings.Count(out, "  demo say") != 2 || !strings.Contains(errs, "cannot be read") || strings.Contains(errs, "cut off") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	out, errs, status = w.read("replay", path)
	if status != 0 || !strings.Contains(out, "not replayed: the record ends before its answer") || !strings.Contains(errs, "2 the same, 0 different, 1 not replayed") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	assertNothingLeft(t, w.home)
}

// lacksTheKey wants the key in no file of a directory, and in no text as it is decoded.
func lacksTheKey(t *testing.T, dir string) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		mustLack(t, path, text)
		for line := range bytes.Lines(text) {
			var any any
			if json.Unmarshal(line, &any) == nil {
				lackIn(t, path, any)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

// lackIn looks into every text of a document, and at what stands there in base64.
func lackIn(t *testing.T, where string, document any) {
	t.Helper()
	switch v := document.(type) {
	case string:
		mustLack(t, where, []byte(v))
		if b, err := base64.StdEncoding.DecodeString(v); err == nil {
			mustLack(t, where, b)
		}
	case []any:
		for _, item := range v {
			lackIn(t, where, item)
		}
	case map[string]any:
		for key, item := range v {
			mustLack(t, where, []byte(key))
			lackIn(t, where, item)
		}
	}
}

// A session with a secret is recorded, and the secret is in neither the record nor the bodies beside it, in no spelling: not
// where it goes to the server, and not where the server gives it back.
func TestNoSecretIsInARecord(t *testing.T) {
	s := newSearching(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	search := func() int {
		cmd := s.command("call", "websearch", "web_search", "--args", `{"query": "gopher burrow", "count": 2}`, "--record", path)
		cmd.Env = append(cmd.Env, "BRAVE_API_KEY="+canary)
		return exitCode(cmd.Run())
	}
	reflect := func(title string, padding int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Seen", r.Header.Get("X-Subscription-Token"))
			_ = json.NewEncoder(w).Encode(map[string]any{"web": map[string]any{"results": []any{
				map[string]any{"title": title, "url": "https://one.example/", "description": strings.Repeat("long ", padding)},
			}}})
		}
	}
	s.origin.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, found) })
	if status := search(); status != 0 {
		t.Errorf("status %d", status)
	}
	for _, answer := range []http.HandlerFunc{
		reflect("fine", 0), reflect(canary, 0), reflect(canary, 4000), reflect(base64.StdEncoding.EncodeToString([]byte("key: "+canary)), 4000),
		reflect(url.QueryEscape(canary), 0),
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.test/?k="+url.QueryEscape(canary), http.StatusFound)
		},
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		s.origin.serve(answer)
		search()
		if len(s.origin.requests()) == 0 || s.origin.requests()[0].Header.Get("X-Subscription-Token") != canary {
			t.Error("the key was not sent, so nothing was tried")
		}
	}
	s.origin.serve(func(w http.ResponseWriter, _ *http.Request) { // a long body that is kept beside the record
		_ = json.NewEncoder(w).Encode(map[string]any{"web": map[string]any{"results": []any{
			map[string]any{"title": "long", "url": "https://one.example/", "description": strings.Repeat("long ", 4000)},
		}}})
	})
	if status := search(); status != 0 {
		t.Errorf("status %d", status)
	}
	if files := lacksTheKey(t, dir); files < 2 {
		t.Errorf("%d files were looked at; none is a body", files)
	}
	out, errs, status := s.read("audit", path, "--json")
	mustLack(t, "audit", []byte(out+errs))
	if n := strings.Count(out, `"cap":"net.request"`); status != 0 || n < 10 {
		t.Errorf("status %d, %d requests", status, n)
	}
	before := s.origin.connections.Load()
	out, errs, status = s.read("replay", path) // without the key, and without the server
	if status != 0 || !strings.Contains(errs, ": 10 the same, 0 different, 0 not replayed") || s.origin.connections.Load() != before {
		t.Errorf("status %d, %d connections\n%s%s", status, s.origin.connections.Load()-before, out, errs)
	}
}

// Every example replays without a difference against itself, and so runs again what it was asked and what it was answered.
func TestReplayOfEachExample(t *testing.T) {
	s := newSearching(t) // with websearch
	s.origin.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, found) })
	workspace := t.TempDir()
	if err := os.WriteFile(filepath.Join(workspace, "main.go"), []byte("package main\n\n// TODO: say hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for example, runs := range map[string][][]string{
		"units": {
			{"call", "units", "convert", "--args", `{"value": 26.2, "from": "mi", "to": "km"}`},
			{"call", "units", "convert", "--args", `{"value": 1, "from": "ton", "to": "kg"}`},
			{"call", "units", "units", "--args", `{"quantity": "temperature"}`},
		},
		"csvtool": {
			{"call", "csvtool", "column_stats", "--args", `{"csv": "city,temp\nBern,3.5\nOslo,-1\n"}`},
			{"call", "csvtool", "column_stats", "--args", `{"csv": "a,b\n1,\"x\n2,y\n3\n"}`},
		},
		"gate": {
			{"fire", "gate", "tool_call"},
			{"fire", "gate", "tool_call", "--payload", `{"op_id": "op-1", "tool": "bash", "arguments": {"command": "sudo rm -rf /*"}, "source_index": 0}`},
			{"fire", "gate", "tool_result", "--payload", `{"message": {"content": "DB_PASSWORD=hunter22", "n": 1.0}}`},
			{"fire", "gate", "before_compact"},
			{"fire", "--all", "tool_call"},
		},
		"websearch": {
			{"call", "websearch", "web_search", "--args", `{"query": "gopher burrow", "count": 2}`},
		},
		"todofix": {
			{"call", "todofix", "find_todos", "--workspace", workspace},
			{"call", "todofix", "fix_todo", "--workspace", workspace, "--args", `{"file": "main.go", "line": "// TODO: say hello", "replacement": "// It says hello."}`},
			{"call", "todofix", "count_todos", "--workspace", workspace, "--args", `{"file": "main.go"}`},
		},
	} {
		t.Run(example, func(t *testing.T) {
			if example != "websearch" {
				s.must("install", "../../examples/"+example, "--yes")
			}
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			for _, args := range runs {
				cmd := s.command(append(args, "--record", path)...)
				cmd.Env = append(cmd.Env, "BRAVE_API_KEY="+canary)
				out, err := cmd.CombinedOutput()
				if status := exitCode(err); status != 0 && status != statusRefused {
					t.Errorf("%q: status %d: %s", args, status, out)
				}
			}
			out, errs, status := s.read("replay", path, "--extension", example)
			if status != 0 || out != "" || !strings.Contains(errs, " 0 different, 0 not replayed") || strings.Contains(errs, "0 invocations") {
				t.Errorf("status %d\n%s%s", status, out, errs)
			}
		})
	}
	assertNothingLeft(t, s.home)
}

// Whoever stops a replay has no satellite left of it.
func TestASignalEndsAReplay(t *testing.T) {
	w := newWorld(t, sharedCache)
	w.must("install", filepath.Join(w.ext, "demo"), "--yes")
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if status := exitCode(w.command("call", "demo", "faults", "--args", `{"how":"spin"}`, "--timeout", "100ms", "--record", path).Run()); status != statusDeadline {
		t.Errorf("status %d", status)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`"deadline_ms":\d+`).ReplaceAll(text, []byte(`"deadline_ms":600000`)) // all the time there is
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := w.command("replay", path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a satellite", func() bool { return len(childrenOf(cmd.Process.Pid)) > 0 })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if got := exitCode(cmd.Wait()); got != 143 {
		t.Errorf("status %d", got)
	}
	assertNothingLeft(t, w.home)
}

// What a record says is shown to a person without being obeyed.
func TestAuditOnATerminal(t *testing.T) {
	w := newWorld(t, sharedCache)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const hostile = `\u001b[2J\u202e\u0007`
	text := strings.NewReplacer("@", hostile).Replace(`{"t":"session","session":"@","format":1}
{"t":"call","session":"@","call":1,"at":"2026-01-02T03:04:05Z","extension":"@","kind":"@","name":"@","deadline_ms":1,"args":{"@":"@"},"bytes":1}
{"t":"effect","session":"@","call":1,"effect":1,"cap":"@","args":["@"],"ok":false,"code":"@","msg":"@"}
{"t":"answer","session":"@","call":1,"ok":false,"failed":"@","code":"@","msg":"@"}
{"t":"@","session":"@"}
`)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"audit", path, "--bodies"}, {"audit", path, "--json"}, {"replay", path}} {
		_, seen := w.on(newTerminal(t), nil, args...)
		for _, obeyed := range []string{"\x1b[2J", "\u202e", "\a"} {
			if strings.Contains(seen, obeyed) {
				t.Errorf("%q shows %q: %q", args, obeyed, seen)
			}
		}
		if !strings.Contains(seen, "[2J") {
			t.Errorf("%q shows nothing: %q", args, seen)
		}
	}
}
