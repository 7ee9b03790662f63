// Command harness is an agent harness with a script in its model's place: it opens a session on
// installed extensions, offers their tools, makes the calls of the model if the gates allow them,
// and fires all nine events at their moments. It is written to be read; docs/embedding.md explains
// it part by part.
//
//	harness [extension…] < script
//
// A script is JSON values. Each is a run of the agent, with what the model answers at each turn, or
// asks for a compaction:
//
//	{"prompt": "How far is a marathon?", "answers": [
//	  {"calls": [{"tool": "units__convert", "args": {"value": 26.2, "from": "mi", "to": "km"}}]},
//	  {"text": "42.2 kilometers."}]}
//	{"compact": "requested", "summary": "We spoke of marathons."}
//
// agent.go has the agent, model.go what stands in for a model, transcript.go what is written down.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/jail"
)

func main() {
	jail.Main() // first of all: the jail is built by this program, started once more
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	switch {
	case ctx.Err() != nil:
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "harness:", shown(err.Error()))
		os.Exit(1)
	}
}

// run is one session, from its opening to its end.
func run(ctx context.Context, names []string, script io.Reader, out io.Writer) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	h, err := host.New(host.Options{Logger: logger})
	if err != nil {
		return err
	}
	defer h.Close()

	session, err := h.Open(ctx, host.SessionOptions{Extensions: names}) // no names: all that is installed
	if err != nil {
		return err
	}
	defer session.Close() // after this no process of the session is left

	for _, s := range session.Status() {
		switch {
		case s.State != host.StateOut:
		case len(names) > 0: // it was asked for by name, and may be the gate
			return fmt.Errorf("%s takes no part: %w", s.Name, s.Err)
		default:
			fmt.Fprintf(out, "without %s: %s\n", s.Name, shown(s.Reason))
		}
	}
	t := &transcript{out: out, told: map[string][]string{}}
	for _, tool := range session.Tools() { // a model is given the name, Description and Schema
		t.say("offer %s: %s", tool.QualifiedName(), shown(tool.PromptSnippet))
	}

	a := &agent{session: session, transcript: t}
	a.bus = hookbus.New(session, hookbus.Options{Logger: logger, Watch: a.watch})
	defer a.bus.Close() // before the session
	a.bus.SessionStart()
	t.flush(ctx, a.bus)
	err = a.play(ctx, script)
	t.say("")
	for _, s := range a.bus.Status() {
		t.say("%s", shown(s.Name+" is "+string(s.State)+"\n"+s.Reason))
		for _, e := range s.Events {
			t.say("    %s: asked %d, answered %d, blocked %d, failed %d", e.Event, e.Asked, e.Answered, e.Blocked, e.Failed)
		}
	}
	return err
}

// shown is foreign text as a terminal may have it, with its further lines indented.
func shown(text string) string { return escape.Indented(strings.TrimSpace(text), "      ") }

// play carries out a script.
func (a *agent) play(ctx context.Context, script io.Reader) error {
	steps := read(ctx, script)
	for {
		var s step
		select {
		case s = <-steps:
		case <-ctx.Done():
			return ctx.Err()
		}
		switch {
		case errors.Is(s.err, io.EOF):
			return nil
		case s.err != nil:
			return fmt.Errorf("script: %w", s.err)
		case s.Compact != "":
			a.compact(ctx, s.Compact, s.Summary)
		default:
			a.run(ctx, s.Prompt, &model{answers: s.Answers})
		}
	}
}
