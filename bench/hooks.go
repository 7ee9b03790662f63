package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
)

const (
	roleGate       = "gate"
	roleFold       = "fold"
	roleUndeclared = "undeclared"

	hookedSource = "hooked"

	gateLimit = 2.2
	foldLimit = 1.5

	undeclaredLimit = 200 // ns

	// foldRounds are few: a round takes half a second.
	foldRounds = 25
	foldSize   = 2 << 20
	// The runs that a hooked extension gives messages back for as they were, and with one more.
	runSame, runAdd = "same", "add"

	undeclaredBatch, undeclaredRounds = 1000, 400
)

// hooked are the names under which the extension of testdata/hooked is installed.
var hooked = [...]string{"hooked1", "hooked2", "hooked3"}

// onBus is a bus over a session of its own.
func onBus(ctx context.Context, home string, extensions ...string) (*hosted, *hookbus.Bus, error) {
	h, err := openHosted(ctx, home, config.Default(), extensions...)
	if err != nil {
		return nil, nil, err
	}
	return h, hookbus.New(h.session, hookbus.Options{}), nil
}

// gateOfTwo is the question whether a call may be made, over two that have the hook and three that have not.
func gateOfTwo(ctx context.Context, b *bed) (row, error) {
	s, err := inPinnedChild(ctx, roleGate, b.path("home"))
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(gateLimit), behind(s)), nil
}

func takeGate(ctx context.Context, args []string) (sample, error) {
	if len(args) != 1 {
		return sample{}, errors.New("want a home")
	}
	h, bus, err := onBus(ctx, args[0], hooked[0], hooked[1], echoExtension, callerExtension, forecastTool)
	if err != nil {
		return sample{}, err
	}
	defer h.close()
	defer bus.Close()
	call := hookbus.Call{OpID: "op-1", Tool: "shell", Arguments: json.RawMessage(`{"command":"ls -l"}`)}
	trips := 0
	// The trips go to both by turns: one that is asked again and again has the core's caches to itself.
	return compare(ctx, smallRounds, batches(smallBatch, func() error {
		trips++
		_, err := h.session.Fire(ctx, host.Event{
			Extension: hooked[trips%2], Name: "tool_call",
			Document: json.RawMessage(`{"op_id":"op-1","tool":"shell","arguments":{"command":"ls -l"},"source_index":0}`),
		})
		return err
	}), batches(smallBatch, func() error {
		if v := bus.ToolCall(ctx, call); !v.Allowed {
			return errors.New(v.Reply())
		}
		return nil
	}))
}

// foldFound is a fold in two ways, each against the same passes.
type foldFound struct {
	Added sample // each extension adds a message
	Same  sample // none changes any
}

// foldOfThree is a conversation on its way through three extensions, each of which adds a message to it.
func foldOfThree(ctx context.Context, b *bed) (row, error) {
	var f foldFound
	if err := inChild(ctx, oneCore, roleFold, &f, b.path("home")); err != nil {
		return row{}, err
	}
	return ratioRow(f.Added, most(foldLimit), fmt.Sprintf("%s; %.2f where none changes anything: %s", behind(f.Added), f.Same.ratio(), behind(f.Same))), nil
}

func takeFold(ctx context.Context, args []string) (f foldFound, err error) {
	if len(args) != 1 {
		return f, errors.New("want a home")
	}
	h, bus, err := onBus(ctx, args[0], hooked[:]...)
	if err != nil {
		return f, err
	}
	defer h.close()
	defer bus.Close()
	messages := conversation(foldSize)
	document, err := json.Marshal(map[string]any{"op_id": runSame, "messages": messages})
	if err != nil {
		return f, err
	}
	against := func(run string, more int) (sample, error) {
		return compare(ctx, foldRounds, once(func() error { return passes(document) }), once(func() error {
			if got := bus.Context(ctx, run, messages); len(got) != len(messages)+more {
				return fmt.Errorf("%d of %d messages came out", len(got), len(messages)+more)
			}
			return nil
		}))
	}
	if f.Added, err = against(runAdd, len(hooked)); err != nil {
		return f, err
	}
	f.Same, err = against(runSame, 0)
	return f, err
}

// passes decodes and encodes a document as often as there are extensions.
func passes(document []byte) error {
	for range hooked {
		var v any
		if err := json.Unmarshal(document, &v); err != nil {
			return err
		}
		if _, err := json.Marshal(v); err != nil {
			return err
		}
	}
	return nil
}

// once is an op that does something once.
func once(do func() error) op {
	return func(context.Context) (time.Duration, error) {
		start := time.Now()
		err := do()
		return time.Since(start), err
	}
}

// conversation is so many bytes of messages at least, as a provider's interface has them.
func conversation(size int) []json.RawMessage {
	text := jsonText(smallArgs)
	var all []json.RawMessage
	for id := 1; size > 0; id++ {
		m := fmt.Appendf(nil, `{"role":"user","id":%d,"content":[{"type":"text","text":%q},{"type":"tool_use","input":%s}]}`, id, "look at this", text)
		all, size = append(all, m), size-len(m)
	}
	return all
}

// undeclaredFound is what the slowest of the nine events takes where no extension has a hook for it.
type undeclaredFound struct {
	Event       string
	Nanoseconds float64
	Allocations float64 // of all nine together
}

// undeclared is an event on a bus over extensions that have no hooks.
func undeclared(ctx context.Context, b *bed) (row, error) {
	var f undeclaredFound
	if err := inChild(ctx, oneCore, roleUndeclared, &f, b.path("home")); err != nil {
		return row{}, err
	}
	return f.row(), nil
}

// row is over the limit where anything is allocated, however fast it is.
func (f undeclaredFound) row() row {
	r := row{
		measured: strconv.FormatFloat(f.Nanoseconds, 'f', 1, 64) + " ns", floors: exact, limit: most(undeclaredLimit).in("ns"),
		verdict: most(undeclaredLimit).judge(f.Nanoseconds), note: fmt.Sprintf("%s, the slowest of nine; %.0f allocations", f.Event, f.Allocations),
	}
	if f.Allocations > 0 {
		r.verdict = verdictOver
	}
	return r
}

func takeUndeclared(ctx context.Context, args []string) (f undeclaredFound, err error) {
	if len(args) != 1 {
		return f, errors.New("want a home")
	}
	h, bus, err := onBus(ctx, args[0], echoExtension, callerExtension, forecastTool)
	if err != nil {
		return f, err
	}
	defer h.close()
	defer bus.Close()
	messages := conversation(smallArgs)
	moments := []struct {
		event string
		fire  func()
	}{
		{"session_start", bus.SessionStart},
		{"before_agent_start", func() { bus.BeforeAgentStart(ctx, hookbus.RunStart{OpID: runSame}) }},
		{"context", func() { bus.Context(ctx, runSame, messages) }},
		{"tool_call", func() { bus.ToolCall(ctx, hookbus.Call{OpID: runSame, Arguments: messages[0]}) }},
		{"tool_result", func() { bus.ToolResult(ctx, messages[0]) }},
		{"agent_end", func() { bus.AgentEnd(runSame) }},
		{"agent_settled", func() { bus.AgentSettled(runSame) }},
		{"before_compact", func() { bus.BeforeCompact(ctx, hookbus.Compaction{OpID: runSame}) }},
		{"usage", func() { bus.Usage(hookbus.Usage{OpID: runSame}) }},
	}
	for _, m := range moments {
		f.Allocations += testing.AllocsPerRun(undeclaredBatch, m.fire)
		var times []time.Duration
		for range undeclaredRounds {
			start := time.Now()
			for range undeclaredBatch {
				m.fire()
			}
			times = append(times, time.Since(start))
		}
		if took := float64(median(times)) / undeclaredBatch; took > f.Nanoseconds {
			f.Event, f.Nanoseconds = m.event, took
		}
	}
	return f, nil
}
