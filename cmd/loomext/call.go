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

Exit statuses: 0; 2 usage, which includes a tool that the extension does not have; 3 refused;
4 crashed; 5 deadline; 6 gone or off protocol; 7 arguments; 16 not installed, or damaged;
18 the satellite cannot be started. See "loomext help exitcodes".`,
		Example: `  loomext call units convert --args '{"value": 72, "from": "°F", "to": "°C"}'
  loomext call units convert --args @request.json --timeout 2s
  echo '{"value": 1, "from": "nmi", "to": "m"}' | loomext call units convert --args - --json`,
		Args:              exactly("name", "tool"),
		ValidArgsFunction: c.completeCall,
	}
	flags := cmd.Flags()
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
	raw, err := c.readArguments(ctx, o.args)
	if err != nil {
		return err
	}
	installed, err := c.load(ctx, name)
	if err != nil {
		return err
	}
	defer installed.Close()
	tool, ok := installed.Record.Tool(toolName)
	if !ok {
		for _, hook := range installed.Record.Hooks {
			if hook.Event == toolName {
				return usagef("%s is a hook of %s and no tool; call runs tools, and no command of this version runs a hook", toolName, name)
			}
		}
		return usagef("%s has no tool %q; it has %s", name, toolName, toolNames(installed.Record))
	}
	if err := checkArguments(installed, tool, raw); err != nil {
		return c.failCall(name, toolName, err, o.asJSON)
	}
	outcome, err := c.invoke(ctx, installed, tool, raw, o)
	if err != nil {
		return c.failCall(name, toolName, err, o.asJSON)
	}
	return c.printOutcome(name, toolName, outcome, o.asJSON)
}

// readArguments resolves --args to the text it names.
func (c *cli) readArguments(ctx context.Context, arg string) ([]byte, error) {
	var from io.Reader = strings.NewReader(arg)
	switch path, isFile := strings.CutPrefix(arg, "@"); {
	case arg == "-":
		from = c.in
	case isFile:
		f, err := openInput(path)
		if err != nil {
			return nil, usagef("--args: %s; name a file that can be read", err)
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
		return nil, usagef("--args: %s", err)
	case len(raw) > manifest.MaxArguments:
		return nil, usagef("--args: more than %d bytes; pass less", manifest.MaxArguments)
	}
	return raw, nil
}

// checkArguments holds arguments against the schema that the load compiled, before anything
// starts.
func checkArguments(installed *install.Installed, tool install.RecordTool, raw []byte) error {
	fail := &argumentsError{extension: installed.Record.Name, tool: tool.Name}
	if !json.Valid(raw) {
		var any any
		fail.faults = []manifest.SchemaFault{{Msg: fmt.Sprintf("not one JSON value: %v", json.Unmarshal(raw, &any))}}
		return fail
	}
	schema, ok := installed.Manifest.Schema(tool.Name)
	if !ok {
		return &install.Error{Layer: install.LayerRecord, Err: fmt.Errorf("the installed manifest has no tool %s; install %s again", tool.Name, installed.Record.Name)}
	}
	if fail.faults = schema.Check(raw); len(fail.faults) > 0 {
		return fail
	}
	return nil
}

// invoke runs one tool in a satellite of its own.
func (c *cli) invoke(ctx context.Context, installed *install.Installed, tool install.RecordTool, raw []byte, o callOptions) (satellite.ToolOutcome, error) {
	reports := c.newReports()
	c.reports = reports
	defer reports.end() // after the satellite's own end
	sat, err := satellite.Launch(ctx, satellite.Config{
		Artifact: installed.Artifact,
		Limits:   installed.Record.Limits(),
		Effects:  satellite.ReportOnly(reports.show),
	})
	if err != nil {
		return satellite.ToolOutcome{}, &install.Error{Layer: install.LayerJail, Err: err}
	}
	defer sat.Close()
	c.noteJail(sat.Report())
	return sat.Tool(ctx, tool.Name, raw, o.strand, c.deadline(tool, o.timeout))
}

// deadline is the time a call has: the tool's own, or less where that is asked for.
func (c *cli) deadline(tool install.RecordTool, asked time.Duration) time.Duration {
	own := time.Duration(tool.TimeoutMS) * time.Millisecond
	if asked == 0 || asked == own {
		return own
	}
	if asked > own {
		c.tell(fmt.Sprintf("host: --timeout %s is longer than the %s that were approved for %s; it has %s",
			asked, own, escape.Line(tool.Name), own))
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
}

// printOutcome prints the result of a call.
func (c *cli) printOutcome(name, tool string, outcome satellite.ToolOutcome, asJSON bool) error {
	if asJSON {
		result := callResult{OK: true, Name: name, Tool: tool, Content: []callBlock{}, Terminate: outcome.Terminate}
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
func (c *cli) failCall(name, tool string, err error, asJSON bool) error {
	failure := &callFailure{Faults: []manifest.SchemaFault{}}
	var (
		fault *satellite.Error
		args  *argumentsError
	)
	switch {
	case errors.As(err, &args):
		failure.Code, failure.Msg, failure.Faults = wire.CodeBadArguments, "the arguments do not fit the schema", args.faults
	case errors.As(err, &fault):
		failure.Code, failure.Msg = fault.Code, fault.Msg
		err = &invocationError{name: name, tool: tool, fault: fault}
	default:
		return err
	}
	if !asJSON {
		return err
	}
	return errors.Join(err, c.printJSON(callResult{Name: name, Tool: tool, Content: []callBlock{}, Error: failure}))
}

// invocationError is an invocation that failed, with what was invoked.
type invocationError struct {
	name, tool string
	fault      *satellite.Error
}

func (e *invocationError) Error() string {
	return fmt.Sprintf("host: %s %s: %s: %s", e.name, e.tool, escape.Line(e.fault.Code), escape.Indented(e.fault.Msg, "  "))
}

func (e *invocationError) Unwrap() error { return e.fault }
