package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
)

// callOptions are the flags of one call.
type callOptions struct {
	args    string
	strand  string
	timeout time.Duration
	asJSON  bool
}

func (c *cli) callCommand() *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:   "call <name> <tool>",
		Short: "Run one tool of an installed extension",
		Long: `call checks the arguments against the tool's schema, starts a satellite, runs the tool once
and prints its result: text blocks as text, JSON blocks as JSON (indented on a terminal,
compact elsewhere). What the tool reports on its way goes to standard error as it comes.

A call is a session of its own. What the tool asks for is served as far as it was granted, by
the rules of config.toml; an artifact that it emits is kept, and its file named. On a terminal
the extension's text is escaped; a file or a pipe gets the bytes.

--timeout shortens the time the manifest gives the tool; it does not extend it, because the
longer time was not approved.

A satellite that makes a system call which the jail refuses dies of it, and the failure names
the call. With --trace it dies with a stack trace that shows where the call was made.
--best-effort makes do with a weaker jail where this machine lacks a wall.

Exit statuses: 0; 2 usage, which includes a tool that the extension does not have; 3 refused;
4 crashed; 5 deadline; 6 gone or off protocol; 7 arguments; 9 config.toml is at
fault; 16 not installed, or damaged, or the record cannot be written; 18 the satellite cannot be
started. See "loomext help exitcodes".`,
		Example: `  loomext call units convert --args '{"value": 72, "from": "°F", "to": "°C"}'
  loomext call units convert --args @request.json --timeout 2s
  echo '{"value": 1, "from": "nmi", "to": "m"}' | loomext call units convert --args - --json
  loomext call units convert --trace`,
		Args:              exactly("name", "tool"),
		ValidArgsFunction: c.completeCall,
	}
	c.addBestEffort(cmd)
	c.addSession(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&c.jail.Trace, "trace", false, "show where a system call is made that the jail refuses")
	flags.StringVar(&o.args, "args", "{}", "the arguments: JSON, @file, or - for standard input")
	flags.StringVar(&o.strand, "strand", "", "the strand the call belongs to")
	flags.DurationVar(&o.timeout, "timeout", 0, "at most this long (default: the tool's own timeout)")
	flags.BoolVar(&o.asJSON, "json", false, "print the result or the failure as JSON")
	cmd.RunE = ran(func(cmd *cobra.Command, args []string) error {
		if err := c.checkSession(cmd); err != nil {
			return err
		}
		if cmd.Flags().Changed("timeout") && o.timeout < time.Millisecond {
			return usagef("--timeout %s: a call needs at least 1ms", o.timeout)
		}
		return c.call(cmd.Context(), args[0], args[1], o)
	})
	return cmd
}

func (c *cli) call(ctx context.Context, name, toolName string, o callOptions) error {
	raw, err := c.readDocument(ctx, "--args", o.args)
	if err != nil {
		return err
	}
	store, err := c.store()
	if err != nil {
		return err
	}
	installed, err := store.LoadImage(ctx, name)
	if err != nil {
		return meant(store, name, err)
	}
	defer installed.Close()
	return c.callOn(ctx, installed, toolName, raw, o)
}

// callOn calls a tool of an extension that is loaded, in a session of its own.
func (c *cli) callOn(ctx context.Context, installed *install.Installed, toolName string, raw []byte, o callOptions) error {
	name := installed.Record.Name
	tool, ok := installed.Record.Tool(toolName)
	if !ok {
		for _, hook := range installed.Record.Hooks {
			if hook.Event == toolName {
				return usagef("%s is a hook of %s and no tool; call runs tools, and loomext fire %s %s fires a hook", toolName, name, name, toolName)
			}
		}
		return usagef("%s has no tool %q; it has %s", name, toolName, toolNames(installed.Record))
	}
	call := host.Call{
		Extension: name, Tool: toolName, Args: raw, Strand: o.strand,
		Timeout: c.deadline(toolName, time.Duration(tool.TimeoutMS)*time.Millisecond, o.timeout),
	}
	var outcome host.Outcome
	used, err := c.inSession(ctx, installed, func(s *host.Session, report func(host.Report)) (err error) {
		call.Report = report
		outcome, err = s.Call(ctx, call)
		return err
	})
	result := callResult{Name: name, Tool: toolName, Content: []callBlock{}, Artifacts: used.artifacts, JailLevel: used.level}
	if err != nil {
		return c.failCall(result, err, o.asJSON)
	}
	return c.printOutcome(result, outcome, o.asJSON)
}

// readDocument resolves the value of a flag to the JSON text that it is or names: a document,
// @file, or - for standard input.
func (c *cli) readDocument(ctx context.Context, flag, arg string) ([]byte, error) {
	var from io.Reader = strings.NewReader(arg)
	switch path, isFile := strings.CutPrefix(arg, "@"); {
	case arg == "-":
		from = c.in
	case isFile:
		f, err := openInput(path)
		if err != nil {
			return nil, usagef("%s: %s; name a file that can be read", flag, err)
		}
		defer f.Close()
		from = f
	}
	if f, ok := from.(*os.File); ok {
		in, err := newInput(ctx, f)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		from = in
	}
	raw, err := io.ReadAll(io.LimitReader(from, manifest.MaxArguments+1))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, usagef("%s: %s", flag, err)
	case len(raw) > manifest.MaxArguments:
		return nil, usagef("%s: more than %d bytes; pass less", flag, manifest.MaxArguments)
	}
	return raw, nil
}

// deadline is the time an invocation has: its own, or less where that is asked for.
func (c *cli) deadline(target string, own, asked time.Duration) time.Duration {
	if asked == 0 || asked == own {
		return own
	}
	if asked > own {
		c.tell(fmt.Sprintf("host: --timeout %s is longer than the %s that were approved for %s; it has %s",
			asked, own, escape.Line(target), own))
		return own
	}
	return asked
}

func toolNames(r install.Record) string {
	names := make([]string, len(r.Tools))
	for i, tool := range r.Tools {
		names[i] = tool.Name
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// callResult is what call --json prints. docs/cli.md describes it.
type callResult struct {
	OK        bool           `json:"ok"`
	Name      string         `json:"name"`
	Tool      string         `json:"tool"`
	Content   []callBlock    `json:"content"`
	Terminate bool           `json:"terminate"`
	Artifacts []callArtifact `json:"artifacts"`
	JailLevel jail.Level     `json:"jail_level"`
	Error     *callFailure   `json:"error"`
}

// callBlock is one block of a result: of type "text" with text, or of type "json" with json.
type callBlock struct {
	Type string          `json:"type"`
	Text *string         `json:"text,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`
}

type callFailure struct {
	Kind   host.Kind              `json:"kind"`
	Code   string                 `json:"code"`
	Msg    string                 `json:"msg"`
	Output string                 `json:"output"` // the satellite's last words
	Faults []manifest.SchemaFault `json:"faults"`
	// How a satellite ended that ended by itself.
	Signal     string `json:"signal"`
	Bound      string `json:"bound"`
	SystemCall string `json:"system_call"`
}

// printOutcome prints the result of a call.
func (c *cli) printOutcome(result callResult, outcome host.Outcome, asJSON bool) error {
	if asJSON {
		result.OK, result.Terminate = true, outcome.Terminate
		for _, block := range outcome.Content {
			result.Content = append(result.Content, jsonBlock(block))
		}
		return c.printJSON(result)
	}
	for _, block := range outcome.Content {
		if err := c.printBlock(block); err != nil {
			return err
		}
	}
	return nil
}

// printBlock prints one block and the newline it may lack. Where stdout is no terminal the
// bytes of text are the extension's own.
func (c *cli) printBlock(block host.Block) error {
	text, escaped := string(block.Body), escape.Block
	if block.Type == host.BlockJSON {
		text, escaped = string(layoutJSON(block.Body, isTerminal(c.out))), escape.JSON
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return writeShown(c.out, text, escaped)
}

// layoutJSON indents or compacts JSON without touching what its tokens say.
func layoutJSON(raw []byte, pretty bool) []byte {
	var out bytes.Buffer
	err := json.Compact(&out, raw)
	if pretty {
		out.Reset()
		err = json.Indent(&out, raw, "", "  ")
	}
	if err != nil {
		return raw
	}
	return out.Bytes()
}

func jsonBlock(block host.Block) callBlock {
	if block.Type == host.BlockJSON {
		return callBlock{Type: block.Type, JSON: block.Body}
	}
	text := string(block.Body)
	return callBlock{Type: block.Type, Text: &text}
}

// failCall reports a failed call: its lines on stderr by way of the error, and the document
// that --json promises on stdout. A failure to load or start has a layer and no document.
func (c *cli) failCall(result callResult, err error, asJSON bool) error {
	failure, err := c.failure(err)
	if failure == nil || !asJSON {
		return err
	}
	result.Error = failure
	return errors.Join(err, c.printJSON(result))
}

// failure is what --json says of an invocation that failed, and the error with its lines. It is
// nil where there was no invocation: a failure to load or start has a layer and no document.
func (c *cli) failure(err error) (*callFailure, error) {
	var (
		fault *host.Error
		layer *install.Error
	)
	switch {
	case !errors.As(err, &fault):
		return nil, err
	case errors.As(fault.Err, &layer):
		return nil, layer
	}
	advised := *fault
	advised.Msg += c.advice(fault)
	failure := &callFailure{
		Kind: fault.Kind, Code: fault.Code, Msg: advised.Msg, Output: fault.Output, Faults: fault.Faults,
		Signal: fault.Signal, Bound: fault.Bound, SystemCall: fault.SystemCall,
	}
	if failure.Faults == nil {
		failure.Faults = []manifest.SchemaFault{}
	}
	return failure, &invocationError{&advised}
}

// advice is what its author can do about the bound that a satellite met.
func (c *cli) advice(fault *host.Error) string {
	switch {
	case fault.Bound == jail.BoundSystemCall && !c.jail.Trace:
		return "; run it with --trace to see where the call is made"
	case fault.Bound == jail.BoundMemory:
		return "; use less, or ask for more with memory_mb in the manifest"
	}
	return ""
}

// invocationError is an invocation that failed, in lines that are fit for a terminal.
type invocationError struct{ fault *host.Error }

func (e *invocationError) Error() string {
	f := e.fault
	at := fmt.Sprintf("host: %s %s: ", f.Extension, escape.Line(f.Target))
	if len(f.Faults) == 0 {
		text := at + escape.Line(f.Code) + ": " + escape.Indented(f.Msg, "  ")
		if f.Output != "" {
			text += "\n  " + escape.Indented(f.Output, "  ")
		}
		return text
	}
	what := "arguments"
	if f.Msg == payloadMisfit {
		what = "payload"
	}
	lines := make([]string, len(f.Faults))
	for i, fault := range f.Faults {
		where := fault.Pointer
		if where != "" {
			where += ": "
		}
		lines[i] = at + what + ": " + where + fault.Msg
	}
	return strings.Join(lines, "\n")
}

func (e *invocationError) Unwrap() error { return e.fault }
