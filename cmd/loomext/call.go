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

	"github.com/loomext/loomext/cmd/loomext/internal/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/satellite"
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

A call serves no effect but those reports: whatever else the tool asks for is answered
"unavailable". On a terminal the extension's text is escaped; a file or a pipe gets the bytes.

--timeout shortens the time the manifest gives the tool; it does not extend it, because the
longer time was not approved.

A satellite that makes a system call which the jail refuses dies of it, and the failure names
the call. With --trace it dies with a stack trace that shows where the call was made.
--best-effort makes do with a weaker jail where this machine lacks a wall.

Exit statuses: 0; 2 usage, which includes a tool that the extension does not have; 3 refused;
4 crashed; 5 deadline; 6 gone or off protocol; 7 arguments; 16 not installed, or damaged;
18 the satellite cannot be started. See "loomext help exitcodes".`,
		Example: `  loomext call units convert --args '{"value": 72, "from": "°F", "to": "°C"}'
  loomext call units convert --args @request.json --timeout 2s
  echo '{"value": 1, "from": "nmi", "to": "m"}' | loomext call units convert --args - --json
  loomext call units convert --trace`,
		Args:              exactly("name", "tool"),
		ValidArgsFunction: c.completeCall,
	}
	c.addBestEffort(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&c.jail.Trace, "trace", false, "show where a system call is made that the jail refuses")
	flags.StringVar(&o.args, "args", "{}", "the arguments: JSON, @file, or - for standard input")
	flags.StringVar(&o.strand, "strand", "", "the strand the call belongs to")
	flags.DurationVar(&o.timeout, "timeout", 0, "at most this long (default: the tool's own timeout)")
	flags.BoolVar(&o.asJSON, "json", false, "print the result or the failure as JSON")
	cmd.RunE = ran(func(cmd *cobra.Command, args []string) error {
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
		return err
	}
	defer installed.Close()
	return c.callOn(ctx, installed, toolName, raw, o)
}

// callOn calls a tool of an extension that is loaded.
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
	result := callResult{Name: name, Tool: toolName, Content: []callBlock{}}
	if err := checkArguments(installed, tool, raw); err != nil {
		return c.failCall(result, err, o.asJSON)
	}
	outcome, level, err := c.invoke(ctx, installed, tool, raw, o)
	result.JailLevel = level
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

// checkArguments holds arguments against the schema that the load compiled, before anything
// starts.
func checkArguments(installed *install.Installed, tool install.RecordTool, raw []byte) error {
	schema, ok := installed.Manifest.Schema(tool.Name)
	if !ok {
		return &install.Error{Layer: install.LayerRecord, Err: fmt.Errorf("the installed manifest has no tool %s; install %s again", tool.Name, installed.Record.Name)}
	}
	if faults := documentFaults(schema, raw); len(faults) > 0 {
		return &argumentsError{extension: installed.Record.Name, target: tool.Name, what: "arguments", faults: faults}
	}
	return nil
}

// documentFaults is what is wrong with a document that is to fit a schema.
func documentFaults(schema *manifest.Schema, raw []byte) []manifest.SchemaFault {
	if !json.Valid(raw) {
		var any any
		return []manifest.SchemaFault{{Msg: fmt.Sprintf("not one JSON value: %v", json.Unmarshal(raw, &any))}}
	}
	return schema.Check(raw)
}

// invoke runs one tool in a satellite of its own. The level is that of its jail.
func (c *cli) invoke(ctx context.Context, installed *install.Installed, tool install.RecordTool, raw []byte, o callOptions) (outcome satellite.ToolOutcome, level jail.Level, err error) {
	level, err = c.inSatellite(ctx, installed, func(sat *satellite.Satellite) error {
		var err error
		outcome, err = sat.Tool(ctx, tool.Name, raw, o.strand, c.deadline(tool.Name, time.Duration(tool.TimeoutMS)*time.Millisecond, o.timeout))
		return err
	})
	return outcome, level, err
}

// inSatellite launches a satellite for one invocation, shows what it reports and sees to its
// end. The level is that of its jail.
func (c *cli) inSatellite(ctx context.Context, installed *install.Installed, invoke func(*satellite.Satellite) error) (jail.Level, error) {
	reports := c.newReports()
	c.reports = reports
	defer reports.end() // after the satellite's own end
	sat, err := satellite.Launch(ctx, satellite.Config{
		Image:   installed.Image,
		Limits:  installed.Record.Limits(),
		Effects: satellite.ReportOnly(reports.show),
		Jail:    c.jail,
	})
	if err != nil {
		return "", &install.Error{Layer: install.LayerJail, Err: err}
	}
	defer sat.Close()
	report := sat.Report()
	c.noteJail(report)
	return report.Level, invoke(sat)
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
	OK        bool         `json:"ok"`
	Name      string       `json:"name"`
	Tool      string       `json:"tool"`
	Content   []callBlock  `json:"content"`
	Terminate bool         `json:"terminate"`
	JailLevel jail.Level   `json:"jail_level"`
	Error     *callFailure `json:"error"`
}

// callBlock is one block of a result: of type "text" with text, or of type "json" with json.
type callBlock struct {
	Type string          `json:"type"`
	Text *string         `json:"text,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`
}

type callFailure struct {
	Code   string                 `json:"code"`
	Msg    string                 `json:"msg"`
	Faults []manifest.SchemaFault `json:"faults"`
	// How a satellite ended that ended by itself.
	Signal     string `json:"signal"`
	Bound      string `json:"bound"`
	SystemCall string `json:"system_call"`
}

// printOutcome prints the result of a call.
func (c *cli) printOutcome(result callResult, outcome satellite.ToolOutcome, asJSON bool) error {
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
func (c *cli) printBlock(block satellite.Block) error {
	text, escaped := string(block.Body), escape.Block
	if block.Type == satellite.BlockJSON {
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

func jsonBlock(block satellite.Block) callBlock {
	if block.Type == satellite.BlockJSON {
		return callBlock{Type: block.Type, JSON: block.Body}
	}
	text := string(block.Body)
	return callBlock{Type: block.Type, Text: &text}
}

// failCall reports a failed call: its lines on stderr by way of the error, and the document
// that --json promises on stdout. A failure to load or start has a layer and no document.
func (c *cli) failCall(result callResult, err error, asJSON bool) error {
	failure, err := c.failure(result.Name, result.Tool, err)
	if failure == nil || !asJSON {
		return err
	}
	result.Error = failure
	return errors.Join(err, c.printJSON(result))
}

// failure is what --json says of an invocation that failed, and the error with its lines. It is
// nil where there was no invocation: a failure to load or start has a layer and no document.
func (c *cli) failure(name, target string, err error) (*callFailure, error) {
	failure := &callFailure{Faults: []manifest.SchemaFault{}}
	var (
		fault *satellite.Error
		args  *argumentsError
	)
	switch {
	case errors.As(err, &args):
		failure.Code, failure.Msg, failure.Faults = wire.CodeBadArguments, args.summary(), args.faults
	case errors.As(err, &fault):
		failure.Code, failure.Msg = fault.Code, c.advised(fault)
		failure.Signal, failure.Bound, failure.SystemCall = fault.Signal, fault.Bound, fault.Call
		err = &invocationError{name: name, target: target, msg: failure.Msg, fault: fault}
	default:
		return nil, err
	}
	return failure, err
}

// advised is the message of a failed invocation with what its author can do about the bound that
// the satellite met, at the end of the first line: what follows is the satellite's own output.
func (c *cli) advised(fault *satellite.Error) string {
	advice := ""
	switch {
	case fault.Bound == jail.BoundSystemCall && !c.jail.Trace:
		advice = "; run it with --trace to see where the call is made"
	case fault.Bound == jail.BoundMemory:
		advice = "; use less, or ask for more with memory_mb in the manifest"
	}
	first, rest, more := strings.Cut(fault.Msg, "\n")
	if more {
		rest = "\n" + rest
	}
	return first + advice + rest
}

// invocationError is an invocation that failed, with what was invoked.
type invocationError struct {
	name, target, msg string
	fault             *satellite.Error
}

func (e *invocationError) Error() string {
	return fmt.Sprintf("host: %s %s: %s: %s", e.name, e.target, escape.Line(e.fault.Code), escape.Indented(e.msg, "  "))
}

func (e *invocationError) Unwrap() error { return e.fault }
