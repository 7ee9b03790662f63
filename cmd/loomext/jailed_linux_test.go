package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
)

// without is a command in a user namespace that allows no other one in it, as on a machine
// whose administrator forbids them.
func (w world) without(args ...string) *exec.Cmd {
	script := `echo 0 >/proc/sys/user/max_user_namespaces && exec loomext "$@"`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "loomext"}, args...)...)
	cmd.Env = w.env
	mine := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: mine(os.Geteuid()), GidMappings: mine(os.Getegid())}
	return cmd
}

// A machine without user namespaces is refused by the layer, with what the kernel said and what
// to do; --best-effort goes on, and everything that reports success says at which level.
func TestBestEffortIsAskedForAndSaid(t *testing.T) {
	w := newWorld(t, sharedCache)
	if err := w.without("version").Run(); errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EACCES) {
		t.Skipf("skipped layer: namespaces: a user namespace cannot be made here: %v", err)
	}
	demo := filepath.Join(w.ext, "demo")
	const missing = "jail: level no-namespaces: not enforced: namespaces, unprivileged user\n"
	hints := []string{"(no space left on device)", "max_user_namespaces", "loomext doctor", "--best-effort goes on"}
	for _, tt := range []struct {
		args   []string
		status int
		out    []string // in what is printed on standard output
		err    []string // on standard error
	}{
		{[]string{"install", demo, "--yes"}, 18, nil, append(hints, "\njail: ")},
		{[]string{"install", demo, "--yes", "--best-effort"}, 0, []string{"demo 0.1.0 installed", " (jail level no-namespaces)\n"}, []string{missing}},
		{[]string{"install", demo, "--yes", "--best-effort"}, 0, []string{"demo 0.1.0 unchanged", " (jail level no-namespaces)\n"}, nil},
		{[]string{"install", demo, "--yes", "--best-effort", "--json"}, 0, []string{`"jail_level": "no-namespaces"`}, nil},
		{[]string{"call", "demo", "say", "--args", `{"name":"you"}`}, 18, nil, append(hints, "jail: namespaces: ")},
		{[]string{"call", "demo", "say", "--args", `{"name":"you"}`, "--best-effort"}, 0, []string{"hello, you\n"}, []string{missing}},
		{[]string{"call", "demo", "say", "--args", `{"name":"you"}`, "--best-effort", "--json"}, 0, []string{`"jail_level": "no-namespaces"`}, nil},
		{[]string{"verify", "demo"}, 18, []string{"demo 0.1.0: not rebuilt\n", "  jail      ok       level no-namespaces\n"}, hints},
		{[]string{"verify", "demo", "--require-rebuild"}, 18, []string{"demo 0.1.0: not rebuilt\n"}, hints},
		{[]string{"verify", "demo", "--best-effort"}, 0, []string{"demo 0.1.0: ok (jail level no-namespaces)\n", "  jail      ok  level no-namespaces\n", "namespaces: skipped ("}, []string{missing}},
		{[]string{"verify", "demo", "--best-effort", "--json"}, 0, []string{`"jail_level": "no-namespaces"`}, nil},
		{[]string{"verify", "demo", "--no-rebuild"}, 0, []string{"demo 0.1.0: ok\n"}, nil},
		{[]string{"show", "demo"}, 0, []string{"build jail    level no-namespaces\n", "namespaces: skipped ("}, nil},
	} {
		cmd := w.without(tt.args...)
		var out, err bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &err
		if status := exitCode(cmd.Run()); status != tt.status {
			t.Errorf("%q: status %d, want %d", tt.args, status, tt.status)
		}
		for _, want := range tt.out {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: lacks %q on standard output:\n%s", tt.args, want, &out)
			}
		}
		for _, want := range tt.err {
			if !strings.Contains(err.String(), want) {
				t.Errorf("%q: lacks %q on standard error:\n%s", tt.args, want, &err)
			}
		}
		if n := strings.Count(err.String(), missing); n > 1 {
			t.Errorf("%q: the level is said %d times", tt.args, n)
		}
		if tt.status == 18 && tt.args[0] != "verify" && out.Len() > 0 {
			t.Errorf("%q: printed %q", tt.args, &out)
		}
	}
	assertNothingLeft(t, w.home)
}

func TestFailureSaysTheBoundAndWhatToDo(t *testing.T) {
	const output = "the satellite's own words\nin two lines"
	for _, tt := range []struct {
		name  string
		fault host.Error
		trace bool
		says  string
	}{
		{"refused call", host.Error{Code: wire.CodeCrashed, Msg: "SIGKILL (system call filter: socket)", Output: output, Signal: "SIGKILL", Bound: jail.BoundSystemCall, SystemCall: "socket"}, false,
			"SIGKILL (system call filter: socket); run it with --trace to see where the call is made"},
		{"refused call, traced", host.Error{Code: wire.CodeCrashed, Msg: "exit status 2 (system call filter: socket)", Output: output, Bound: jail.BoundSystemCall, SystemCall: "socket"}, true,
			"exit status 2 (system call filter: socket)"},
		{"memory", host.Error{Code: wire.CodeGone, Msg: "exit status 2 (memory limit)", Bound: jail.BoundMemory}, false,
			"exit status 2 (memory limit); use less, or ask for more with memory_mb in the manifest"},
		{"processor", host.Error{Code: wire.CodeCrashed, Msg: "SIGKILL (cpu limit)", Signal: "SIGKILL", Bound: jail.BoundCPU}, false, "SIGKILL (cpu limit)"},
		{"none", host.Error{Code: wire.CodeRefused, Msg: "no"}, false, "no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.fault.Extension, tt.fault.Target = "x", "y"
			var out bytes.Buffer
			c := &cli{streams: streams{out: &out, err: &out}, jail: jail.Options{Trace: tt.trace}}
			c.progress = newProgress(&out, 0, func(string) string { return "" })
			err := c.failCall(callResult{Name: "x", Tool: "y", Content: []callBlock{}}, &tt.fault, true)
			want := "host: x y: " + tt.fault.Code + ": " + tt.says
			if tt.fault.Output != "" {
				want += "\n  " + strings.ReplaceAll(output, "\n", "\n  ")
			}
			if err.Error() != want {
				t.Errorf("%q, want %q", err.Error(), want)
			}
			var got struct {
				Error map[string]any `json:"error"`
			}
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			for key, want := range map[string]string{"msg": tt.says, "output": tt.fault.Output, "signal": tt.fault.Signal, "bound": tt.fault.Bound, "system_call": tt.fault.SystemCall} {
				if got.Error[key] != want {
					t.Errorf("%s is %q, want %q", key, got.Error[key], want)
				}
			}
		})
	}
}

func TestHintsOfARefusal(t *testing.T) {
	refused := func(place string) error {
		return &install.Error{Layer: install.LayerJail, Err: fmt.Errorf("wrapped: %w", &jail.Error{Place: place, What: "was refused", Err: unix.EPERM})}
	}
	for _, tt := range []struct {
		name       string
		err        error
		bestEffort bool
		has, not   string
	}{
		{"namespaces", refused("namespaces"), false, "--best-effort", ""},
		{"landlock", refused("landlock"), false, "--best-effort", ""},
		{"a wall that cannot be gone without", refused("system call filter"), false, "loomext doctor", "--best-effort"},
		{"best effort already", refused("namespaces"), true, "loomext doctor", "--best-effort"},
		{"the program", refused("start"), false, "", "doctor"},
		{"another layer", &install.Error{Layer: install.LayerHost, Err: errors.New("x")}, false, "", "doctor"},
	} {
		c := &cli{jail: jail.Options{BestEffort: tt.bestEffort}}
		hint := c.jailHint(tt.err)
		if !strings.Contains(hint, tt.has) || tt.not != "" && strings.Contains(hint, tt.not) || hint != "" && !strings.HasPrefix(hint, "\njail: ") {
			t.Errorf("%s: %q", tt.name, hint)
		}
	}
}
