package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
)

func TestExitStatus(t *testing.T) {
	fault := func(kind host.Kind) error { return &invocationError{&host.Error{Kind: kind}} }
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, 0},
		{"anything else", errors.New("x"), 1},
		{"usage", usagef("x"), 2},
		{"a grant that is not requested", &install.GrantError{Capability: "net"}, 2},
		{"refused", fault(host.Refused), 3},
		{"crashed", fault(host.Crashed), 4},
		{"deadline", fault(host.Deadline), 5},
		{"gone", fault(host.Gone), 6},
		{"protocol", fault(host.Protocol), 6},
		{"unhandled", fault(host.Unhandled), 6},
		{"arguments", fault(host.Arguments), 7},
		{"cancelled", fault(host.Cancelled), 1},
		{"the operator's configuration", fmt.Errorf("wrapped: %w", configFaulty(t)), 9},
		{"declined", fmt.Errorf("no terminal: %w", install.ErrDeclined), 20},
		{"fetch", &install.Error{Layer: install.LayerFetch, Err: errors.New("x")}, 10},
		{"vetting", fmt.Errorf("wrapped: %w", &install.Error{Layer: install.LayerVetting, Err: errors.New("x")}), 13},
		{"host", &install.Error{Layer: install.LayerHost, Err: errors.New("x")}, 19},
		{"printed already", &statusError{status: 17}, 17},
		{"a result that could not be written", &install.Error{Layer: install.LayerRecord, Err: &outputError{syscall.ENOSPC}}, 1},
		{"a reader who left", fmt.Errorf("write: %w", syscall.EPIPE), 141},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitStatus(t.Context(), tt.err); got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
		})
	}
}

// configFaulty is the error of a config.toml with a fault.
func configFaulty(t *testing.T) error {
	t.Helper()
	_, err := config.Decode([]byte("[egres]\n"), t.TempDir())
	if err == nil {
		t.Fatal("no fault")
	}
	return err
}

func TestExitStatusOfASignalWins(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&signalError{signal: syscall.SIGTERM})
	err := &install.Error{Layer: install.LayerCompile, Err: context.Canceled}
	if got := exitStatus(ctx, err); got != 143 {
		t.Errorf("status %d, want 143", got)
	}
	if got := exitStatus(ctx, nil); got != 0 {
		t.Errorf("what was done before the signal has status %d, want 0", got)
	}
}

// cliRun runs a command in this process, without a terminal.
func cliRun(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	status = run(t.Context(), append(args, "--home", t.TempDir()), streams{
		in: strings.NewReader(""), out: &out, err: &errs, env: environment(),
	})
	return status, out.String(), errs.String()
}

func TestUsageErrorsSayHowAndExitTwo(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"instal"}, `unknown command "instal"; did you mean install?`},
		{[]string{"installl"}, "did you mean install?"},
		{[]string{"uninstall"}, " or remove?"},
		{[]string{"upgrade"}, "did you mean install?"},
		{[]string{"list", "--no-such-flag"}, "--no-such-flag; see loomext --help"},
		{[]string{"list", "surplus"}, "surplus"},
		{[]string{"install"}, "wants <dir> and has 0 arguments; see loomext install --help"},
		{[]string{"install", "a", "--yes", "--grant", "net"}, "give one of them"},
		{[]string{"verify"}, "or --all"},
		{[]string{"verify", "a", "--all"}, "not both"},
		{[]string{"call", "demo"}, "wants <name> <tool>"},
		{[]string{"call", "demo", "say", "--timeout", "0s"}, "at least 1ms"},
		{[]string{"call", "demo", "say", "--timeout", "soon"}, `usage: --timeout: "soon" is no time; give one with its unit, such as 500ms or 10s` + "\n"},
		{[]string{"logs", "demo", "-n", "x"}, `usage: --lines: "x" is no whole number; give one such as 10` + "\n"},
		{[]string{"logs", "demo", "--follow=x"}, `usage: --follow: "x" is neither true nor false; write the flag alone` + "\n"},
		{[]string{"call", "demo", "say", "--args", "@/no/such/file"}, "/no/such/file"},
		{[]string{"help", "nonsense"}, "no help on"},
		{[]string{"config", "chekc"}, `unknown command "chekc"; did you mean check?`},
		{[]string{"config", "check", "surplus"}, "surplus"},
		{[]string{"completion", "tcsh"}, "bash, zsh and fish"},
		{[]string{"show", "a\x1b[2Jb", "c"}, "wants <name>"},
	} {
		status, stdout, stderr := cliRun(t, tt.args...)
		if status != statusUsage || stdout != "" || !strings.HasPrefix(stderr, "usage: ") || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: status %d, stdout %q, stderr %q; want status 2 and %q", tt.args, status, stdout, stderr, tt.want)
		}
		if strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
			t.Errorf("%q: more than a line: %q", tt.args, stderr)
		}
	}
}

func TestErrorsAreEscaped(t *testing.T) {
	status, _, stderr := cliRun(t, "show", "a\x1b[2J\u202e")
	if status != 16 || strings.ContainsAny(stderr, "\x1b\u202e") {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

func TestEveryCommandHasHelpWithExamplesAndStatuses(t *testing.T) {
	root := (&cli{streams: streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: environment()}}).root()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "exitcodes" || cmd.Name() == "help" {
			continue
		}
		if cmd.Example == "" || !strings.Contains(cmd.Long, "Exit statuses: 0") || !strings.Contains(cmd.Example, "loomext "+cmd.Name()) {
			t.Errorf("%s lacks an example or its exit statuses", cmd.Name())
		}
		status, stdout, stderr := cliRun(t, cmd.Name(), "--help")
		if status != 0 || !strings.Contains(stdout, "Examples:") || stderr != "" {
			t.Errorf("%s --help: status %d, stderr %q", cmd.Name(), status, stderr)
		}
	}
	if status, stdout, _ := cliRun(t, "help", "exitcodes"); status != 0 || !strings.Contains(stdout, "20  the operator said no") {
		t.Errorf("help exitcodes: status %d: %s", status, stdout)
	}
}

// The list that people read has every layer with the status it has in fact.
func TestExitStatusesListEveryLayer(t *testing.T) {
	for _, layer := range install.Layers() {
		if want := fmt.Sprintf("  %d  %s ", layer.ExitStatus(), layer); !strings.Contains(exitStatuses, want) {
			t.Errorf("the list of exit statuses lacks %q", want)
		}
	}
}
