package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/cmd/loomext/internal/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/satellite"
)

// hookDeadline is what one event has. A manifest gives hooks no time of their own, and an agent
// stands still while a gate answers.
const hookDeadline = 20 * time.Second

// fireOptions are the flags of one event.
type fireOptions struct {
	payload string
	given   bool // --payload was
	timeout time.Duration
	asJSON  bool
}

func (c *cli) fireCommand() *cobra.Command {
	var (
		o      fireOptions
		sample bool
	)
	cmd := &cobra.Command{
		Use:   "fire <name> <event>",
		Short: "Run one hook of an installed extension with an event",
		Long: `fire starts a satellite, hands it one event as a harness would and prints the document that
its hook answers with (indented on a terminal, compact elsewhere). What the hook reports on its
way goes to standard error as it comes.

The payload is checked before anything starts: every field that the event has must be there with
its type, and no other. Without --payload it is an empty object where the event takes one, and
the event's sample otherwise: "loomext fire --sample <event>" prints it, to be edited.

A hook that blocks a tool call has done its work: the answer says so, and the exit status is 0.
A hook serves no effect but reports, and has 20 seconds; --timeout shortens them.

The events: ` + strings.Join(eventNames(), ", ") + `.

Exit statuses: 0; 2 usage, which includes an event that the extension does not declare; 3
refused; 4 crashed; 5 deadline; 6 gone or off protocol; 7 payload; 16 not installed, or damaged;
18 the satellite cannot be started. See "loomext help exitcodes".`,
		Example: `  loomext fire gate tool_call --payload '{"op_id": "op-1", "tool": "bash", "arguments": {"command": "rm -rf /"}, "source_index": 0}'
  loomext fire --sample tool_call > call.json
  loomext fire gate tool_call --payload @call.json --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if sample {
				return exactly("event")(cmd, args)
			}
			return exactly("name", "event")(cmd, args)
		},
		ValidArgsFunction: c.completeFire,
	}
	c.addBestEffort(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&c.jail.Trace, "trace", false, "show where a system call is made that the jail refuses")
	flags.StringVar(&o.payload, "payload", "", "the payload: JSON, @file, or - for standard input (default: {} or the event's sample)")
	flags.DurationVar(&o.timeout, "timeout", 0, "at most this long (default 20s)")
	flags.BoolVar(&o.asJSON, "json", false, "print the answer or the failure as JSON")
	flags.BoolVar(&sample, "sample", false, "print a payload of the event, and run nothing")
	cmd.RunE = ran(func(cmd *cobra.Command, args []string) error {
		if sample {
			return c.printSample(args[0])
		}
		if cmd.Flags().Changed("timeout") && o.timeout < time.Millisecond {
			return usagef("--timeout %s: an event needs at least 1ms", o.timeout)
		}
		o.given = cmd.Flags().Changed("payload")
		return c.fire(cmd.Context(), args[0], args[1], o)
	})
	return cmd
}

// printSample prints a payload that the event takes.
func (c *cli) printSample(name string) error {
	event, ok := eventNamed(name)
	if !ok {
		return usagef("there is no event %q; there are %s", name, strings.Join(eventNames(), ", "))
	}
	return c.printf("%s\n", layoutJSON([]byte(event.sample), true))
}

func (c *cli) fire(ctx context.Context, name, eventName string, o fireOptions) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	installed, err := store.LoadImage(ctx, name)
	if err != nil {
		return err
	}
	defer installed.Close()
	return c.fireOn(ctx, installed, eventName, o)
}

// fireOn fires an event at an extension that is loaded.
func (c *cli) fireOn(ctx context.Context, installed *install.Installed, eventName string, o fireOptions) error {
	name := installed.Record.Name
	event, err := declaredEvent(installed.Record, eventName)
	if err != nil {
		return err
	}
	payload := []byte(event.empty())
	if o.given {
		if payload, err = c.readDocument(ctx, "--payload", o.payload); err != nil {
			return err
		}
	}
	result := fireResult{Name: name, Event: event.name}
	if err := event.checkPayload(name, payload); err != nil {
		return c.failFire(result, err, o.asJSON)
	}
	result.Answer, result.JailLevel, err = c.answered(ctx, installed, event, payload, o.timeout)
	if err != nil {
		return c.failFire(result, err, o.asJSON)
	}
	if o.asJSON {
		result.OK = true
		return c.printJSON(result)
	}
	return c.printAnswer(result.Answer)
}

// answered fires one event in a satellite of its own.
func (c *cli) answered(ctx context.Context, installed *install.Installed, event event, payload []byte, asked time.Duration) (answer json.RawMessage, level jail.Level, err error) {
	level, err = c.inSatellite(ctx, installed, func(sat *satellite.Satellite) error {
		raw, err := sat.Event(ctx, event.name, payload, c.hookDeadline(asked))
		if err != nil {
			return err
		}
		answer = raw
		return event.checkAnswer(raw)
	})
	if err != nil {
		return nil, level, err
	}
	return answer, level, nil
}

// hookDeadline is the time an event has: less than the usual where that is asked for.
func (c *cli) hookDeadline(asked time.Duration) time.Duration {
	if asked > hookDeadline {
		c.tell(fmt.Sprintf("host: --timeout %s is longer than the %s that a hook has; it has %s", asked, hookDeadline, hookDeadline))
	}
	if asked == 0 || asked > hookDeadline {
		return hookDeadline
	}
	return asked
}

// printAnswer prints the document a hook answered with.
func (c *cli) printAnswer(answer json.RawMessage) error {
	return writeShown(c.out, string(layoutJSON(answer, isTerminal(c.out)))+"\n", escape.JSON)
}

// declaredEvent is the event of that name, where the extension has a hook for it.
func declaredEvent(record install.Record, name string) (event, error) {
	var has []string
	for _, hook := range record.Hooks {
		if hook.Event == name {
			if found, ok := eventNamed(name); ok {
				return found, nil
			}
		}
		has = append(has, hook.Event)
	}
	hooks := "it has no hook"
	if len(has) > 0 {
		hooks = "it has hooks for " + strings.Join(has, ", ")
	}
	if _, ok := record.Tool(name); ok {
		return event{}, usagef("%s is a tool of %s and no event; loomext call %s %s runs it, and %s", name, record.Name, record.Name, name, hooks)
	}
	if _, ok := eventNamed(name); !ok {
		return event{}, usagef("there is no event %q; %s", name, hooks)
	}
	return event{}, usagef("%s has no hook for %s; %s", record.Name, name, hooks)
}

// fireResult is what fire --json prints. docs/cli.md describes it.
type fireResult struct {
	OK        bool            `json:"ok"`
	Name      string          `json:"name"`
	Event     string          `json:"event"`
	Answer    json.RawMessage `json:"answer"`
	JailLevel jail.Level      `json:"jail_level"`
	Error     *callFailure    `json:"error"`
}

// failFire is [cli.failCall] for an event.
func (c *cli) failFire(result fireResult, err error, asJSON bool) error {
	failure, err := c.failure(result.Name, result.Event, err)
	if failure == nil || !asJSON {
		return err
	}
	result.Error = failure
	return errors.Join(err, c.printJSON(result))
}

// offProtocol is an answer that is not the event's.
func offProtocol(event string, what string) error {
	return &satellite.Error{Code: wire.CodeProtocol, Msg: fmt.Sprintf("the answer is none to %s: %s", event, what), Host: true}
}
