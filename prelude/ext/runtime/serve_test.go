//go:build unix

package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap/kv"
	capruntime "github.com/loomext/loomext/prelude/cap/runtime"
	"github.com/loomext/loomext/prelude/ext"
	"github.com/loomext/loomext/prelude/ext/hook"
	"github.com/loomext/loomext/prelude/ext/runtime"
)

// childEnv makes this test binary play a satellite. Its value is the declaration.
const childEnv = "LOOMEXT_TEST_DECLARATION"

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(childEnv); ok {
		if text != "none" {
			runtime.Declare(text)
		}
		runtime.Serving(tools, hooks)
	}
	goleak.VerifyTestMain(m)
}

type config struct {
	Results int `json:"results"`
}

var tools = []runtime.NamedTool{
	{Name: "echo", Tool: func(_ ext.Ctx, raw json.RawMessage) (ext.Outcome, error) {
		return ext.Outcome{Content: []ext.Content{ext.JSONContent{Value: raw}}}, nil
	}},
	{Name: "config", Tool: func(ext.Ctx, json.RawMessage) (ext.Outcome, error) {
		c, err := ext.Config[config]()
		if err != nil {
			return ext.Outcome{}, err
		}
		return ext.JSON(c)
	}},
	{Name: "remember", Tool: func(ctx ext.Ctx, raw json.RawMessage) (ext.Outcome, error) {
		ctx.Report("writing")
		if err := kv.Set(ctx, "k", raw); err != nil {
			var e *kv.Error
			return ext.Outcome{}, ext.Refuse("%w (%t)", err, errors.As(err, &e))
		}
		return ext.Text("done"), nil
	}},
	{Name: "nil"},
	{Name: "panic", Tool: func(ext.Ctx, json.RawMessage) (ext.Outcome, error) { panic("torn") }},
	{Name: "wait", Tool: func(ctx ext.Ctx, _ json.RawMessage) (ext.Outcome, error) {
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		<-child.Done()
		return ext.Outcome{}, child.Err()
	}},
}

var hooks = []runtime.Declared{
	{Event: "tool_call", Hook: hook.OnToolCall(func(context.Context, hook.Call) (hook.Verdict, error) { return hook.Allow, nil })},
}

// patience bounds what a test waits for.
const patience = 20 * time.Second

// satellite starts this binary as one and gives its host's end.
func satellite(t *testing.T, declaration string) (net.Conn, *wire.Reader, func() (int, string)) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	ours.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = []string{childEnv + "=" + declaration, capruntime.EnvSock + "=fd:3"}
	cmd.ExtraFiles = []*os.File{theirs}
	var stderr, stdout bytes.Buffer
	cmd.Stderr, cmd.Stdout = &stderr, &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	conn.SetDeadline(time.Now().Add(patience))
	waited := false
	wait := func() (int, string) {
		t.Helper()
		waited = true
		cmd.Wait()
		if stdout.Len() > 0 {
			t.Errorf("stdout holds %q", stdout.String())
		}
		return cmd.ProcessState.ExitCode(), stderr.String()
	}
	t.Cleanup(func() {
		conn.Close()
		if !waited {
			cmd.Wait()
		}
		cancel()
	})
	return conn, wire.NewReader(conn, wire.Host), wait
}

func ask(t *testing.T, conn net.Conn, id int64, kind, name string, args wire.Value, deadlineMS int64) {
	t.Helper()
	b, err := wire.AppendHookCall(nil, id, wire.HookCall{Token: []byte("token"), Kind: kind, Name: name, Args: args, DeadlineMS: deadlineMS})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
}

func toolArgs(text string) wire.Value {
	return wire.Map(wire.Field{Key: "args", Value: wire.String(text)}, wire.Field{Key: "strand", Value: wire.String("s")})
}

func result(t *testing.T, in *wire.Reader, id int64) wire.Result {
	t.Helper()
	f, err := in.Read()
	if err != nil || f.Kind != wire.KindHookResult || f.ID != id {
		t.Fatalf("got %+v, %v; want the result of %d", f, err, id)
	}
	return f.Result
}

func TestASatelliteOverItsChannel(t *testing.T) {
	text := `{"name":"x","version":"0.1.0","revision":"r","tools":[],"hooks":[],"config":{"results":10}}`
	conn, in, wait := satellite(t, fmt.Sprintf("loomext-declaration/1 %08x %s\n", len(text), text))
	steps := []struct{ kind, name, args, want string }{
		{"tool", "echo", `{"a": 1.0}`, `{content:[{type:"json" json:"{\"a\": 1.0}"}] terminate:false}`},
		{"tool", "config", `{}`, `{content:[{type:"json" json:"{\"results\":10}"}] terminate:false}`},
		{"tool", "nil", `{}`, "unknown_tool"},
		{"tool", "none", `{}`, "unknown_tool"},
		{"tool", "panic", `{}`, "crashed"},
		{"tool", "echo", `{`, "bad_arguments"},
		{"event", "tool_call", "", "bad_arguments"}, // its arguments are a map here
		{"event", "usage", "", "unhandled"},
		{"command", "x", "", "unhandled"},
		{"dance", "x", "", "bad_kind"},
		{"tool", "echo", `[]`, `{content:[{type:"json" json:"[]"}] terminate:false}`},
	}
	for i, s := range steps {
		id := int64(i + 1)
		ask(t, conn, id, s.kind, s.name, toolArgs(s.args), 60_000)
		r := result(t, in, id)
		got := r.Fault.Code
		if r.OK {
			got = show(r.Value)
		}
		if got != s.want {
			t.Errorf("%s %s: got %s (%s); want %s", s.kind, s.name, got, r.Fault.Msg, s.want)
		}
	}
	ask(t, conn, 90, "tool", "wait", toolArgs("{}"), 30)
	if f := result(t, in, 90).Fault; f.Code != "refused" || f.Msg != context.DeadlineExceeded.Error() {
		t.Errorf("out of time: %v", f)
	}
	ask(t, conn, 91, "tool", "remember", toolArgs("{}"), 60_000)
	partial, err := in.Read()
	if err != nil || partial.Cap.Cap != "report.emit" {
		t.Fatalf("got %+v, %v", partial, err)
	}
	set, err := in.Read()
	if err != nil || set.Cap.Cap != "kv.set" || string(set.Cap.Token) != "token" {
		t.Fatalf("got %+v, %v", set, err)
	}
	b, err := wire.AppendResult(nil, wire.KindCapResult, set.ID, wire.Result{Fault: wire.Fault{Code: "denied", Msg: "not granted"}})
	if err != nil {
		t.Fatal(err)
	}
	conn.Write(b)
	if f := result(t, in, 91).Fault; f.Code != "refused" || f.Msg != `kv: set "k": denied: not granted (true)` {
		t.Errorf("a denied capability: %v", f)
	}
	conn.Write(wire.AppendCancel(nil, 0))
	if code, stderr := wait(); code != 0 || stderr != "" {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

func TestABadDeclarationFailsTheBoot(t *testing.T) {
	for _, text := range []string{"", "loomext-declaration/1 \n", "loomext-declaration/1 00000002 {}\n"} {
		_, _, wait := satellite(t, text)
		code, stderr := wait()
		if code != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "declaration") {
			t.Errorf("%q: exit %d, stderr %q", text, code, stderr)
		}
	}
}

func TestWithoutADeclarationThereIsNoConfiguration(t *testing.T) {
	conn, in, wait := satellite(t, "none")
	ask(t, conn, 1, "tool", "config", toolArgs("{}"), 60_000)
	if f := result(t, in, 1).Fault; f.Code != "refused" || !strings.Contains(f.Msg, "config") {
		t.Errorf("got %v", f)
	}
	conn.Close()
	if code, stderr := wait(); code != 0 || stderr != "" {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

// This package may not import the wire, so it spells the codes a second time.
func TestTheCodesAreTheProtocols(t *testing.T) {
	for got, want := range map[string]string{
		runtime.RefusedCode: wire.CodeRefused, runtime.UnknownToolCode: wire.CodeUnknownTool, runtime.UnhandledCode: wire.CodeUnhandled,
		runtime.MismatchedHookCode: wire.CodeMismatchedHook, runtime.BadArgumentsCode: wire.CodeBadArguments,
		capruntime.Unencodable: wire.CodeUnencodable,
	} {
		if got != want {
			t.Errorf("%q here is %q there", got, want)
		}
	}
}

// The layer below owns the channel. This one must not be able to reach around it.
func TestImportsNothingBelowCapRuntime(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range file.Imports {
			seen++
			if strings.Contains(imported.Path.Value, "/wire") || strings.Contains(imported.Path.Value, "cap/internal") {
				t.Errorf("%s imports %s", name, imported.Path.Value)
			}
		}
	}
	if seen == 0 {
		t.Error("no imports seen")
	}
}
