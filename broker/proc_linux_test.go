package broker

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/broker/proc"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	capproc "github.com/loomext/loomext/prelude/cap/proc"
)

func needJail(t *testing.T) {
	t.Helper()
	if layer, _ := jail.Inspect().Layer("namespaces"); layer.State != jail.Enforced {
		t.Skip("skipped layer: namespaces: ", layer.Reason)
	}
}

func commandArgs(argv []string, stdin string, ms int64) []wire.Field {
	var words []wire.Value
	for _, word := range argv {
		words = append(words, wire.String(word))
	}
	return []wire.Field{arg("argv", wire.List(words...)), arg("stdin", wire.Bin([]byte(stdin))), arg("timeout_ms", wire.Int(ms))}
}

func withCommands(t *testing.T, prefixes ...[]string) *Invocation {
	i := open(t, Options{}, nil)
	i.scope.terms.Proc = commands(t, prefixes...)
	return i
}

func TestACommandIsServed(t *testing.T) {
	needJail(t)
	i := withCommands(t, []string{"sh", "-c"})
	v := done(t, serve(i, "proc.run", commandArgs([]string{"sh", "-c", "cat; echo err >&2; exit 3"}, "in", 60_000)...))
	exit, _ := mustGet(t, v, "exit").AsInt()
	stdout, _ := mustGet(t, v, "stdout").AsBin()
	stderr, _ := mustGet(t, v, "stderr").AsBin()
	truncated, _ := mustGet(t, v, "truncated").AsBool()
	if exit != 3 || string(stdout) != "in" || string(stderr) != "err\n" || truncated {
		t.Errorf("%d, %q, %q, %v", exit, stdout, stderr, truncated)
	}
	result, err := capproc.Run(author(t, i), capproc.Command{Argv: []string{"sh", "-c", "kill -TERM $$"}, Timeout: time.Minute})
	if err != nil || result.Exit != 143 {
		t.Errorf("by the prelude: %+v, %v", result, err)
	}
}

func TestACommandIsRefused(t *testing.T) {
	i := withCommands(t, []string{"sh", "-c"}, []string{"absent"})
	for name, c := range map[string]struct {
		args []wire.Field
		code string
		says string
	}{
		"another":            {commandArgs([]string{"sh", "x"}, "", 0), wire.CodeNotAllowed, "begins with none of the commands in [proc]"},
		"none":               {commandArgs(nil, "", 0), wire.CodeInvalidArgument, "argv is empty"},
		"not there":          {commandArgs([]string{"absent"}, "", 0), wire.CodeNotFound, "is in none of"},
		"a negative time":    {commandArgs([]string{"sh", "-c", ""}, "", -1), wire.CodeInvalidArgument, "timeout_ms is -1"},
		"too much to read":   {commandArgs([]string{"sh", "-c", ""}, strings.Repeat("x", proc.MaxStdin+1), 0), wire.CodeTooLarge, "stdin"},
		"too many words":     {commandArgs(make([]string, 100_000), "", 0), wire.CodeInvalidArgument, "1025 words"},
		"words of no UTF-8":  {commandArgs([]string{"sh", "-c", "\xff"}, "", 0), wire.CodeInvalidArgument, "argv[2] is no UTF-8"},
		"words of no text":   {[]wire.Field{arg("argv", wire.List(wire.Int(1))), arg("stdin", wire.Bin(nil)), arg("timeout_ms", wire.Int(0))}, wire.CodeInvalidArgument, "argv[0] is an int; want a str"},
		"a time of too much": {commandArgs([]string{"sh"}, "", 1<<62), wire.CodeNotAllowed, "begins with none"},
	} {
		t.Run(name, func(t *testing.T) { refusedWith(t, serve(i, "proc.run", c.args...), c.code, c.says) })
	}
	refusedWith(t, serve(open(t, Options{}, nil), "proc.run", commandArgs([]string{"sh", "-c", ""}, "", 0)...), wire.CodeDenied, "has no workspace")
}

func TestACommandIsKilledWithItsInvocation(t *testing.T) {
	needJail(t)
	i := withCommands(t, []string{"sh", "-c"})
	args := wire.Map(commandArgs([]string{"sh", "-c", "trap '' TERM; while :; do sleep 60; done"}, "", 0)...)
	limited, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	refusedWith(t, i.Serve(limited, "proc.run", args), wire.CodeDeadline, "of the invocation")
	called, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	refusedWith(t, i.Serve(called, "proc.run", args), wire.CodeCancelled, "killed")
	refusedWith(t, serve(i, "proc.run", commandArgs([]string{"sh", "-c", "sleep 60"}, "", 100)...), wire.CodeDeadline, "longer than 100ms")
	refusedWith(t, serve(i, "proc.run", commandArgs([]string{"sh", "-c", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"}, "", 0)...), wire.CodePolicy, "64 MiB")
}

// Whatever a command cannot be run for is told in words that are the runner's own.
func TestEveryEndOfACommandHasACode(t *testing.T) {
	for kind := proc.Invalid; kind <= proc.Cancelled; kind++ {
		if r := notRun(&proc.Error{Kind: kind, Msg: "why"}); r.Code != commandCodes[kind] || r.Code == "" || r.Msg != "why" {
			t.Errorf("%d: %+v", kind, r)
		}
	}
	if r := notRun(errors.New("c4n4ry")); r.Code != wire.CodeUnavailable || strings.Contains(r.Msg, "c4n4ry") {
		t.Errorf("%+v", r)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	f, err := os.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	i := open(t, Options{}, nil)
	i.scope.terms.Proc = proc.New(proc.Options{Workspace: f})
	refusedWith(t, serve(i, "proc.run", commandArgs([]string{"sh", "-c", ""}, "", 0)...), wire.CodeUnavailable, "user's home")
}
