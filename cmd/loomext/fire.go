package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
)

// fireOptions are the flags of one event.
type fireOptions struct {
	payload string
	given   bool // --payload was
	timeout time.Duration
	asJSON  bool
}

func (c *cli) fireCommand() *cobra.Command {
	var (
		o           fireOptions
		sample, all bool
		only        []string
	)
	cmd := &cobra.Command{
		Use:   "fire <name> <event> | --all <event>",
		Short: "Run one hook of an installed extension with an event, or those of all",
		Long: `fire starts a satellite, hands it one event as a harness would and prints the document that
its hook answers with (indented on a terminal, compact elsewhere). What the hook reports on its
way goes to standard error as it comes.

The payload is checked before anything starts: every field that the event has must be there with
its type, and no other. Without --payload it is an empty object where the event takes one, and
the event's sample otherwise: "loomext fire --sample <event>" prints it, to be edited.

A hook that blocks a tool call has done its work: the answer says so, and the exit status is 0.
What the hook asks for is served as far as it was granted. It has 20 seconds; --timeout shortens
them.

With --all the event goes to everything installed, or to the extensions of --only, the way a harness
sends it: in load order, by the deadlines and gates of config.toml. Each answer is printed with its
time, and then what a harness would have got of all of them. Nothing that an extension does then is
an error: a block, a gate without a verdict and an answer that is discarded are shown, and the exit
status is 0. "loomext status" shows the session afterwards.

The events: ` + strings.Join(eventNames(), ", ") + `.

Exit statuses: 0; 2 usage, which includes an event that the extension does not declare; 3
refused; 4 crashed; 5 deadline; 6 gone or off protocol; 7 payload; 9 config.toml is at
fault; 16 not installed, or damaged; 18 the satellite cannot be started. See "loomext help exitcodes".`,
		Example: `  loomext fire gate tool_call --payload '{"op_id": "op-1", "tool": "bash", "arguments": {"command": "rm -rf /"}, "source_index": 0}'
  loomext fire --sample tool_call > call.json
  loomext fire gate tool_call --payload @call.json --json
  loomext fire --all context --payload @conversation.json
  loomext fire --all tool_call --payload @call.json --only gate,audit --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case sample && all:
				return usagef("--sample runs nothing, and --all runs everything; give one of them")
			case !all && cmd.Flags().Changed("only"):
				return usagef("--only is for --all; without it name the extension before the event")
			case all && len(args) != 1:
				return usagef("--all wants an event and no extension; there are %s, and --only names extensions", strings.Join(eventNames(), ", "))
			case all:
				return nil
			case sample && len(args) != 1:
				return usagef("--sample wants an event and no extension; there are %s", strings.Join(eventNames(), ", "))
			case sample:
				return nil
			case len(args) == 3 && strings.HasPrefix(args[2], "{"):
				return usagef("a payload is the value of --payload; write loomext fire %s %s --payload '…'", args[0], args[1])
			}
			return exactly("name", "event")(cmd, args)
		},
		ValidArgsFunction: c.completeFire,
	}
	c.addBestEffort(cmd)
	c.addSession(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&c.jail.Trace, "trace", false, "show where a system call is made that the jail refuses")
	flags.StringVar(&o.payload, "payload", "", "the payload: JSON, @file, or - for standard input (default: {} or the event's sample)")
	flags.DurationVar(&o.timeout, "timeout", 0, "at most this long (default 20s; with --all what config.toml says, or 5s)")
	flags.BoolVar(&o.asJSON, "json", false, "print the answer or the failure as JSON")
	flags.BoolVar(&sample, "sample", false, "print a payload of the event, and run nothing")
	flags.BoolVar(&all, "all", false, "fire the event at everything installed, as a harness does")
	flags.StringSliceVar(&only, "only", nil, "with --all: only these extensions (a comma list; repeatable)")
	must(cmd.RegisterFlagCompletionFunc("only", c.completeOnly))
	cmd.RunE = ran(func(cmd *cobra.Command, args []string) error {
		if err := c.checkSession(cmd); err != nil {
			return err
		}
		if sample {
			return c.printSample(args[0])
		}
		if cmd.Flags().Changed("timeout") && o.timeout < time.Millisecond {
			return usagef("--timeout %s: an event needs at least 1ms", o.timeout)
		}
		o.given = cmd.Flags().Changed("payload")
		if all {
			if cmd.Flags().Changed("only") {
				if only = commaList(strings.Join(only, ",")); len(only) == 0 {
					return usagef("--only names no extension; leave it out for all")
				}
			}
			return c.fireAll(cmd.Context(), args[0], only, o)
		}
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
		return meant(store, name, err)
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
	result := fireResult{Name: name, Event: event.name, Artifacts: []callArtifact{}}
	if err := event.checkPayload(name, payload); err != nil {
		return c.failFire(result, err, o.asJSON)
	}
	answer, used, err := c.answered(ctx, installed, event, payload, o.timeout)
	result.Answer, result.Artifacts, result.JailLevel = answer, used.artifacts, used.level
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
func (c *cli) answered(ctx context.Context, installed *install.Installed, event event, payload []byte, asked time.Duration) (answer json.RawMessage, u used, err error) {
	name := installed.Record.Name
	fired := host.Event{Extension: name, Name: event.name, Document: payload, Timeout: c.hookDeadline(asked)}
	u, err = c.inSession(ctx, installed, func(s *host.Session, report func(host.Report)) (err error) {
		fired.Report = report
		answer, err = s.Fire(ctx, fired)
		return err
	})
	if err == nil {
		err = event.checkAnswer(name, answer)
	}
	if err != nil {
		return nil, u, err
	}
	return answer, u, nil
}

// hookDeadline is the time that is asked for an event, with a word where a hook does not have as
// much.
func (c *cli) hookDeadline(asked time.Duration) time.Duration {
	if asked > host.HookTimeout {
		c.tell(fmt.Sprintf("host: --timeout %s is longer than the %s that a hook has; it has %s", asked, host.HookTimeout, host.HookTimeout))
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
	hooks := "has no hook"
	if len(has) > 0 {
		hooks = "has hooks for " + strings.Join(has, ", ")
	}
	if _, ok := record.Tool(name); ok {
		return event{}, usagef("%s is a tool of %s and no event; loomext call %s %s runs it, and it %s", name, record.Name, record.Name, name, hooks)
	}
	if _, ok := eventNamed(name); !ok {
		return event{}, usagef("there is no event %q; %s %s, and the events are %s", name, record.Name, hooks, strings.Join(eventNames(), ", "))
	}
	return event{}, usagef("%s has no hook for %s; it %s", record.Name, name, hooks)
}

// fireResult is what fire --json prints. docs/cli.md describes it.
type fireResult struct {
	OK        bool            `json:"ok"`
	Name      string          `json:"name"`
	Event     string          `json:"event"`
	Answer    json.RawMessage `json:"answer"`
	Artifacts []callArtifact  `json:"artifacts"`
	JailLevel jail.Level      `json:"jail_level"`
	Error     *callFailure    `json:"error"`
}

// failFire is [cli.failCall] for an event.
func (c *cli) failFire(result fireResult, err error, asJSON bool) error {
	failure, err := c.failure(err)
	if failure == nil || !asJSON {
		return err
	}
	result.Error = failure
	return errors.Join(err, c.printJSON(result))
}
