package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/jail"
)

// fireAllResult is what fire --all --json prints. docs/cli.md describes it.
type fireAllResult struct {
	OK         bool           `json:"ok"`
	Event      string         `json:"event"`
	Session    string         `json:"session"`
	Extensions []string       `json:"extensions"` // in load order
	Answers    []fireAnswer   `json:"answers"`    // of those that declare the event, in load order
	Result     fireAllOutcome `json:"result"`
	Error      *callFailure   `json:"error"`
}

// fireAnswer is the event at one extension.
type fireAnswer struct {
	Extension string          `json:"extension"`
	Answer    json.RawMessage `json:"answer"` // as it came
	TookUS    int64           `json:"took_us"`
	JailLevel jail.Level      `json:"jail_level"`
	Error     *callFailure    `json:"error"` // why the answer counts for nothing

	took time.Duration
}

// fireAllOutcome is what a harness would have got. One member of it means something, which
// one is the event's to say.
type fireAllOutcome struct {
	Verdict    *fireVerdict      `json:"verdict"`
	Injections []fireText        `json:"injections"`
	Notes      []fireText        `json:"notes"`
	Messages   []json.RawMessage `json:"messages"`
	Message    json.RawMessage   `json:"message"`
	Told       []string          `json:"told"`
}

type fireVerdict struct {
	Allowed bool   `json:"allowed"`
	By      string `json:"by"`
	Reason  string `json:"reason"`
	Reply   string `json:"reply"`
}

type fireText struct {
	Extension string `json:"extension"`
	Text      string `json:"text"` // in its fence
}

func emptyOutcome() fireAllOutcome {
	return fireAllOutcome{Injections: []fireText{}, Notes: []fireText{}, Messages: []json.RawMessage{}, Told: []string{}}
}

// kindDiscarded is the kind, and the code, of an answer that the bus took for none.
const kindDiscarded = "discarded"

// allExtensions stands where a line names an extension and none is meant.
const allExtensions = "--all"

// fireAll fires an event at everything installed, or at those in only, by way of the bus.
func (c *cli) fireAll(ctx context.Context, eventName string, only []string, o fireOptions) error {
	event, ok := eventNamed(eventName)
	if !ok {
		return usagef("there is no event %q; there are %s", eventName, strings.Join(eventNames(), ", "))
	}
	payload := []byte(event.empty())
	if o.given {
		var err error
		if payload, err = c.readDocument(ctx, "--payload", o.payload); err != nil {
			return err
		}
	}
	result := fireAllResult{Event: event.name, Extensions: []string{}, Answers: []fireAnswer{}, Result: emptyOutcome()}
	drive, err := driven(event, payload)
	if err != nil {
		failure, err := c.failure(err)
		if failure == nil || !o.asJSON {
			return err
		}
		result.Error = failure
		return errors.Join(err, c.printJSON(result))
	}
	if event.name == "session_start" && o.given {
		c.tell("host: a session tells its extensions of its start by itself; the payload is not what they get")
	}
	if err := c.fireOver(ctx, event, drive, only, o.timeout, &result); err != nil {
		return err
	}
	result.OK = true
	if len(result.Answers) == 0 {
		c.errorf("no extension has a hook for %s; a harness gets what is below without asking anyone\n", event.name)
	}
	if o.asJSON {
		return c.printJSON(result)
	}
	return c.printFireAll(result)
}

// fireOver opens a session, fires the event over a bus and fills the result in.
func (c *cli) fireOver(ctx context.Context, event event, drive drive, only []string, timeout time.Duration, result *fireAllResult) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	for _, name := range only {
		if err := wantInstalled(ctx, store, name); err != nil {
			return err
		}
	}
	h, err := host.New(host.Options{Home: store.Home(), Jail: c.jail, Logger: slog.New(warnings{c: c})})
	if err != nil {
		return err
	}
	defer h.Close()
	slices.Sort(only)
	s, closeSession, err := c.openSession(ctx, h, host.SessionOptions{Extensions: slices.Compact(only)})
	if err != nil {
		return err
	}
	defer closeSession()
	defer context.AfterFunc(ctx, s.Close)() // a signal waits for no deadline
	var fired firings
	bus := hookbus.New(s, hookbus.Options{Deadline: map[string]time.Duration{event.name: c.hookDeadline(timeout)}, Watch: fired.add})
	defer bus.Close()
	result.Session = s.ID()
	drive(ctx, bus, &result.Result)
	if err := bus.Flush(ctx); ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil {
		return err
	}
	levels := map[string]jail.Level{}
	for _, status := range s.Status() {
		levels[status.Name] = status.Jail.Level
		if status.Jail.Level != "" {
			c.noteJail(status.Jail)
		}
	}
	for _, x := range bus.Status() {
		result.Extensions = append(result.Extensions, x.Name)
		for _, f := range fired.of(x.Name) {
			result.Answers = append(result.Answers, fireAnswer{
				Extension: f.Extension, Answer: f.Answer, TookUS: f.Took.Microseconds(), JailLevel: levels[x.Name], Error: c.answerFailure(f.Err), took: f.Took,
			})
			if f.Err == nil && event.answer == ignored {
				result.Result.Told = append(result.Result.Told, x.Name)
			}
		}
	}
	return nil
}

// firings are what a bus showed of what it fired.
type firings struct {
	mu  sync.Mutex
	all []hookbus.Fired
}

func (f *firings) add(fired hookbus.Fired) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, fired)
}

// of is what was fired at one extension.
func (f *firings) of(extension string) []hookbus.Fired {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.all), func(x hookbus.Fired) bool { return x.Extension != extension })
}

// answerFailure is why an answer counts for nothing, or nil.
func (c *cli) answerFailure(err error) *callFailure {
	if err == nil {
		return nil
	}
	if failure, _ := c.failure(err); failure != nil {
		return failure
	}
	failure := &callFailure{Kind: kindDiscarded, Code: kindDiscarded, Msg: err.Error(), Faults: noFaults}
	var (
		discarded *hookbus.Discarded
		fault     *host.Error
	)
	switch {
	case errors.As(err, &discarded):
		failure.Msg = discarded.Why
	case errors.As(err, &fault): // it could not be loaded, or started
		failure.Kind, failure.Code, failure.Msg = fault.Kind, fault.Code, fault.Msg
	}
	return failure
}
