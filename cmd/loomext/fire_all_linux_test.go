package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loomext/loomext/hookbus"
)

// waiter has a gate that does not answer.
const (
	waiterManifest = `[extension]
name        = "waiter"
version     = "1.0.0"
description = "Waits."
license     = "Apache-2.0"
tier        = "jailed"
requests    = []

[[hook]]
event = "tool_call"
entry = "wait"
`
	waiterSource = `package wait

import (
	"context"

	"github.com/loomext/loomext/prelude/ext/hook"
)

func OnToolCall(ctx context.Context, _ hook.Call) (hook.Verdict, error) { select {} }
`
)

// A session that waits for a gate is running for whoever asks, and a signal ends it at once.
func TestSignalEndsAGateThatIsWaitedFor(t *testing.T) {
	w := newWorld(t, sharedCache)
	source := t.TempDir()
	if err := os.Mkdir(filepath.Join(source, "wait"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"extension.toml": waiterManifest, "wait/wait.go": waiterSource} {
		if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.must("install", source, "--yes")
	cmd := w.command("fire", "--all", "tool_call", "--timeout", "20s")
	var stdout, stderr watched
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	state := func() hookbus.SnapshotState {
		all, damaged, err := hookbus.Snapshots(w.home)
		if err != nil || len(damaged) > 0 {
			t.Fatal(damaged, err)
		}
		if len(all) == 0 {
			return ""
		}
		if all[0].PID != cmd.Process.Pid || all[0].Extensions[0].Events[0].Asked != 1 {
			t.Errorf("%+v", all[0])
		}
		return all[0].State
	}
	eventually(t, "the session", func() bool { return state() == hookbus.Running })
	_ = cmd.Process.Signal(syscall.SIGINT)
	if got := exitCode(cmd.Wait()); got != 128+int(syscall.SIGINT) || stdout.String() != "" || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("status %d, stdout %q, stderr %q", got, stdout.String(), stderr.String())
	}
	if got := state(); got != hookbus.Ended {
		t.Errorf("the session is %s", got)
	}
}

func TestAnOutcomeForPeople(t *testing.T) {
	for want, o := range map[string]struct {
		event string
		fireAllOutcome
	}{
		"allowed":                        {"tool_call", fireAllOutcome{Verdict: &fireVerdict{Allowed: true}}},
		`blocked: no\x1b` + "\n  result": {"tool_call", fireAllOutcome{Verdict: &fireVerdict{Reason: "no\x1b\nresult"}}},
		"blocked by x: no":               {"tool_call", fireAllOutcome{Verdict: &fireVerdict{By: "x", Reason: "no"}}},
		"no notes":                       {"before_compact", fireAllOutcome{}},
		"2 injections\n  a\n  b":         {"before_agent_start", fireAllOutcome{Injections: []fireText{{"x", "a"}, {"y", "b"}}}},
		`1 message: ["\u202e<"]`:         {"context", fireAllOutcome{Messages: []json.RawMessage{json.RawMessage(`"` + "\u202e" + `<"`)}}},
		"told x, y":                      {"usage", fireAllOutcome{Told: []string{"x", "y"}}},
	} {
		if got := o.text(o.event, false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
