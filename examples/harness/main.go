// Command harness is an agent harness without an agent: it opens a session on installed
// extensions, prints the tools that it would offer a model, and plays a script in the model's
// place. It is written to be read; docs/embedding.md explains it part by part.
//
//	harness [extension…] < script
//
// A script is JSON values, each a call of a tool or an event:
//
//	{"tool": "units__convert", "args": {"value": 26.2, "from": "mi", "to": "km"}}
//	{"event": "agent_end", "document": {"op_id": "op-1"}}
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/loomext/loomext/escape"
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
	h, err := host.New(host.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer h.Close()

	session, err := h.Open(ctx, host.SessionOptions{Extensions: names, Ahead: true}) // no names: all that is installed
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
	t := &transcript{out: out, session: session}
	for _, tool := range session.Tools() { // a model is given the name, Description and Schema
		t.say("offer %s: %s", tool.QualifiedName(), shown(tool.PromptSnippet))
	}
	err = t.play(ctx, script)
	t.say("")
	for _, s := range session.Status() {
		t.say("%s", shown(s.Name+" is "+string(s.State)+"\n"+s.Reason))
	}
	return err
}

// shown is foreign text as a terminal may have it, with its further lines indented.
func shown(text string) string { return escape.Indented(strings.TrimSpace(text), "    ") }

// transcript carries out a script and writes down what happens.
type transcript struct {
	out     io.Writer
	session *host.Session
	calls   int
}

func (t *transcript) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// model says what the model would read.
func (t *transcript) model(text string) { t.say("  → %s", shown(text)) }

// step is one value of a script.
type step struct {
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"`
	Event    string          `json:"event"`
	Document json.RawMessage `json:"document"`
	err      error
}

// play carries out a script. The reading is left alone at an interrupt, because the read of a
// terminal cannot be given up.
func (t *transcript) play(ctx context.Context, script io.Reader) error {
	steps := make(chan step)
	go func() {
		for decoder := json.NewDecoder(script); ; {
			var s step
			s.err = decoder.Decode(&s)
			select {
			case steps <- s:
			case <-ctx.Done():
			}
			if s.err != nil || ctx.Err() != nil {
				return
			}
		}
	}()
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
		case s.Event != "":
			t.fire(ctx, s.Event, s.Document)
		default:
			t.call(ctx, s.Tool, s.Args)
		}
	}
}

// call makes one call, if the gates allow it.
func (t *transcript) call(ctx context.Context, name string, args json.RawMessage) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	t.calls++
	t.say("\ncall %s %s", shown(name), shown(string(args)))
	if reason := t.blocked(ctx, name, args); reason != "" {
		t.model(reason)
		return
	}
	extension, tool, ok := host.SplitName(name)
	if !ok { // none of an extension's: a harness looks among its own
		t.model("there is no tool " + name)
		return
	}

	partials, written := make(chan string, 64), make(chan struct{})
	go func() {
		defer close(written)
		for line := range partials {
			t.say("  … %s", shown(line))
		}
	}()
	outcome, err := t.session.Call(ctx, host.Call{
		Extension: extension, Tool: tool, Args: args,
		Report: func(r host.Report) {
			line := string(r.Data) // a copy: Data is not ours to keep
			if r.ID != "" {
				line = r.Name + " is kept as artifact " + r.ID
			}
			select {
			case partials <- line:
			default: // a line may be lost, but must not hold the extension up
			}
		},
	})
	close(partials) // once Call has returned, nothing is reported
	<-written

	if err != nil {
		t.failed(err)
		return
	}
	for _, block := range outcome.Content {
		t.model(string(block.Body)) // text or JSON, as block.Type says
	}
	if outcome.Terminate {
		t.say("  the tool asks to end the run")
	}
}

// blocked asks every gate about a call, and is the reason of the first that does not allow it. A
// gate that cannot answer has not allowed.
func (t *transcript) blocked(ctx context.Context, tool string, args json.RawMessage) (reason string) {
	document, err := json.Marshal(map[string]any{"op_id": fmt.Sprint("op-", t.calls), "tool": tool, "arguments": args, "source_index": 0})
	if err != nil {
		return err.Error()
	}
	for _, gate := range t.session.Hooks("tool_call") {
		answer, err := t.session.Fire(ctx, host.Event{Extension: gate, Name: "tool_call", Document: document})
		if err != nil {
			t.say("  %s: no verdict: %s", gate, shown(err.Error()))
			return "not called: " + gate + " gave no verdict"
		}
		var verdict struct{ Verdict, Reason string }
		if err := json.Unmarshal(answer, &verdict); err != nil || verdict.Verdict != "allow" {
			t.say("  %s: block", gate)
			return "not called: " + verdict.Reason
		}
		t.say("  %s: allow", gate)
	}
	return ""
}

// failed says what became of a call without an outcome. Some failures are for the model, which can
// call differently. The others are for the operator, and the model learns that there was one.
func (t *transcript) failed(err error) {
	e, ok := errors.AsType[*host.Error](err)
	if !ok { // which Call does not give
		e = &host.Error{Msg: err.Error()}
	}
	switch e.Kind {
	case host.Cancelled: // by ourselves
		t.say("  cancelled")
		return
	case host.Refused, host.Arguments, host.Unhandled: // for the model alone
	default: // Deadline, Crashed, Protocol: the next call has a new satellite. Gone: it has none.
		t.say("  %s: %s", e.Kind, shown(e.Msg+"\n"+e.Output))
	}
	t.model(e.Reply())
}

// fire fires an event at every extension with a hook for it.
func (t *transcript) fire(ctx context.Context, event string, document json.RawMessage) {
	t.say("\nevent %s", shown(event))
	for _, name := range t.session.Hooks(event) {
		answer, err := t.session.Fire(ctx, host.Event{Extension: name, Name: event, Document: document})
		if err != nil {
			answer = []byte(err.Error())
		}
		t.say("  %s: %s", name, shown(string(answer)))
	}
}
