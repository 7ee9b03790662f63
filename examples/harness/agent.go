package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
)

// agent is what stands around a model: a conversation, tools, and the moments that extensions learn
// of.
type agent struct {
	session      *host.Session
	bus          *hookbus.Bus
	transcript   *transcript
	conversation []json.RawMessage
	runs         int
	rows         int64    // of the cost ledger
	unseeing     []string // extensions that could not look at the tool's result
}

func (a *agent) keep(m message) { a.conversation = append(a.conversation, m.encode()) }

// watch is shown what became of each event at each extension.
func (a *agent) watch(f hookbus.Fired) {
	if f.Event == "tool_result" && f.Err != nil {
		a.unseeing = append(a.unseeing, f.Extension) // on the goroutine of ToolResult, which is the agent's
	}
	a.transcript.fired(f)
}

func (a *agent) opID() string { return fmt.Sprint("op-", a.runs) }

// run is one run: a prompt, and turns of the model until it calls no tool.
func (a *agent) run(ctx context.Context, prompt string, m *model) {
	a.runs++
	op := a.opID()
	a.transcript.say("\n%s: %s", op, shown(prompt))
	for _, i := range a.bus.BeforeAgentStart(ctx, hookbus.RunStart{OpID: op, Strand: "main"}) {
		a.keep(message{Role: "system", Content: i.Text}) // fenced, under the extension's name
	}
	a.keep(message{Role: "user", Content: prompt})
	for a.turn(ctx, op, m) {
	}
	a.bus.AgentEnd(op)
	a.bus.AgentSettled(op) // at once: this harness leaves nothing running
	a.transcript.flush(ctx, a.bus)
}

// turn has the model read and answer, and makes its calls. It says whether the model is to read on.
func (a *agent) turn(ctx context.Context, op string, m *model) bool {
	messages := a.bus.Context(ctx, op, a.conversation) // for this turn: the conversation stays as it is
	said := m.answer(messages)
	a.transcript.say("  messages to the model: %d", len(messages))
	if said.Text != "" {
		a.transcript.say("  the model says %s", shown(said.Text))
	}
	reply := message{Role: "assistant", Content: said.Text, Calls: said.Calls}
	a.keep(reply)
	a.account(op, tokens(messages...), tokens(reply.encode()))

	on := len(said.Calls) > 0
	for i, c := range said.Calls {
		if ctx.Err() != nil {
			return false
		}
		if ends := a.call(ctx, op, i, c); ends {
			on = false // when the calls beside it are made
		}
	}
	return on && ctx.Err() == nil
}

// account writes a row of the cost ledger, which is kept nowhere, and tells of it.
func (a *agent) account(op string, in, out int64) {
	a.rows++
	a.bus.Usage(hookbus.Usage{
		OpID: op, UsageID: fmt.Sprint("usage-", a.rows), Seq: a.rows, InputTokens: in, OutputTokens: out, TotalTokens: in + out,
	})
}

// call makes one call, if the gates allow it, and keeps what the model reads of it.
func (a *agent) call(ctx context.Context, op string, index int, c call) (ends bool) {
	if len(c.Args) == 0 {
		c.Args = json.RawMessage("{}")
	}
	a.transcript.say("  call %s %s", shown(c.Tool), shown(string(c.Args)))
	verdict := a.bus.ToolCall(ctx, hookbus.Call{OpID: op, Tool: c.Tool, Arguments: c.Args, SourceIndex: index})
	if !verdict.Allowed {
		a.transcript.reads(verdict.Reply())
		a.keep(message{Role: "tool", Tool: c.Tool, Content: verdict.Reply(), IsError: true})
		return false
	}
	outcome, err := a.invoke(ctx, c)
	result := message{Role: "tool", Tool: c.Tool}
	switch {
	case host.KindOf(err) == host.Cancelled: // by ourselves
		a.transcript.say("  cancelled")
		return true
	case err != nil:
		result.Content, result.IsError = a.failed(err), true
	default:
		result.Content = text(outcome)
	}
	a.result(ctx, result)
	if outcome.Terminate {
		a.transcript.say("  the tool asks to end the run")
	}
	return outcome.Terminate
}

// result keeps what a tool answered, as the extensions leave it. One that fails has changed nothing
// and may be the one that takes secrets out, so the model does not read what it did not look at.
func (a *agent) result(ctx context.Context, m message) {
	a.unseeing = nil
	changed := a.bus.ToolResult(ctx, m.encode())
	if len(a.unseeing) > 0 {
		m.Content, m.IsError = "the result is withheld: "+strings.Join(a.unseeing, ", ")+" could not look at it", true
		changed = m.encode()
	}
	a.conversation = append(a.conversation, changed)
	var read struct{ Content any }
	_ = json.Unmarshal(changed, &read) // it is JSON; the content may be any
	a.transcript.reads(fmt.Sprint(read.Content))
}

// invoke calls a tool, and writes down what it says while it works.
func (a *agent) invoke(ctx context.Context, c call) (host.Outcome, error) {
	extension, tool, ok := host.SplitName(c.Tool)
	switch {
	case ok:
	case c.Tool == "echo": // the one tool of this harness itself
		return host.Outcome{Content: []host.Block{{Type: host.BlockJSON, Body: c.Args}}}, nil
	default:
		return host.Outcome{}, errors.New("there is no tool " + c.Tool)
	}

	partials, written := make(chan string, 64), make(chan struct{})
	go func() {
		defer close(written)
		for line := range partials {
			a.transcript.say("  … %s", shown(line))
		}
	}()
	outcome, err := a.session.Call(ctx, host.Call{
		Extension: extension, Tool: tool, Args: c.Args,
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
	return outcome, err
}

// text is what a model reads of an outcome: each block is text or JSON, as its Type says.
func text(o host.Outcome) string {
	var bodies []string
	for _, block := range o.Content {
		bodies = append(bodies, string(block.Body))
	}
	return strings.Join(bodies, "\n")
}

// failed is what the model reads of a call without an outcome. Some failures are for the model, which
// can call differently. The others are for the operator, and the model learns that there was one.
func (a *agent) failed(err error) string {
	e, ok := errors.AsType[*host.Error](err)
	if !ok { // the harness's own
		return err.Error()
	}
	switch e.Kind {
	case host.Refused, host.Arguments, host.Unhandled: // for the model alone
	default: // Deadline, Crashed, Protocol: the next call has a new satellite. Gone: it has none.
		a.transcript.say("  %s: %s", e.Kind, shown(e.Msg+"\n"+e.Output))
	}
	return e.Reply()
}

// compact puts a summary in place of all messages but the last. Its writer would be a model; here it
// is the script.
func (a *agent) compact(ctx context.Context, reason, summary string) {
	const retained = 1
	old := max(len(a.conversation)-retained, 0)
	a.transcript.say("\ncompact %d messages: %s", old, shown(reason))
	notes := a.bus.BeforeCompact(ctx, hookbus.Compaction{
		OpID: a.opID(), Reason: reason, TokensBefore: tokens(a.conversation...),
		SummarizedMessages: int64(old), RetainedMessages: int64(len(a.conversation) - old),
	})
	for _, note := range notes {
		a.transcript.say("  the writer reads %s", shown(note.Text))
	}
	a.transcript.say("  the writer says %s", shown(summary))
	a.conversation = append([]json.RawMessage{message{Role: "system", Content: summary}.encode()}, a.conversation[old:]...)
}
