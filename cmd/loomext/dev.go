package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
)

// devOptions are the flags of a watch.
type devOptions struct {
	first   devAsk
	strand  string
	timeout time.Duration
	sets    []string
}

// devAsk is what is called again after every edit. The zero value calls nothing.
type devAsk struct {
	event    bool   // fire, where it is true
	target   string // a tool, or an event
	document string // JSON or @file; empty is the default of the command
}

func (c *cli) devCommand() *cobra.Command {
	var (
		o              devOptions
		tool, args     string
		event, payload string
	)
	cmd := &cobra.Command{
		Use:   "dev <dir>",
		Short: "Watch a source, and after each edit vet, build and call again",
		Long: `dev watches the directory of an extension. After each edit it vets the source, builds it and
runs once more what was run last, and prints what it finds or the answer. It installs nothing: the
satellite it builds is in memory and gone with the next.

With --workspace the calls work on a directory, a copy of a project for example, and --record keeps
them for loomext audit and replay.

dev grants your code all that its manifest requests, without asking, because it is yours. It is no
way to run somebody else's; install asks. The calls are real: what they ask for is served as in
loomext call, with the network and the secrets of this machine, and artifacts and logs are kept.

What to run is given by --tool with --args, or by --event with --payload. On a terminal it can be
typed as well, a line each:

  call <tool> [JSON or @file]    call a tool
  fire <event> [JSON or @file]   fire an event
  (an empty line)                once more
  help, quit

Findings and errors go to standard error, answers to standard output. An edit that comes while
something runs ends that and starts over. It ends with quit, the end of the input, or Ctrl-C.

Exit statuses: 0 after quit; 2 usage; 10 the directory cannot be read at the start; 128 and the
signal's number otherwise. See "loomext help exitcodes".`,
		Example: `  loomext dev . --tool convert --args '{"value": 1, "from": "mi", "to": "km"}'
  loomext dev ./examples/todofix --tool find_todos --workspace /tmp/project
  loomext dev ./examples/gate --event tool_call --payload @call.json`,
		Args:              exactly("dir"),
		ValidArgsFunction: directories,
	}
	c.addBestEffort(cmd)
	c.addSession(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&c.jail.Trace, "trace", false, "show where a system call is made that the jail refuses")
	flags.StringVar(&tool, "tool", "", "the tool to call")
	flags.StringVar(&args, "args", "", "its arguments: JSON, or @file, which is read and watched (default {})")
	flags.StringVar(&event, "event", "", "the event to fire")
	flags.StringVar(&payload, "payload", "", "its payload: JSON, or @file (default as of fire)")
	flags.StringVar(&o.strand, "strand", "", "the strand the calls belong to")
	flags.DurationVar(&o.timeout, "timeout", 0, "at most this long for each (default: the tool's own timeout)")
	flags.StringArrayVar(&o.sets, "set", nil, "set key=value in the extension's configuration (repeatable)")
	cmd.RunE = ran(func(cmd *cobra.Command, dirs []string) error {
		if err := c.checkSession(cmd); err != nil {
			return err
		}
		changed := cmd.Flags().Changed
		switch {
		case watches(dirs[0], c.session.record):
			return usagef("--record %s lies in the source that is watched, so that each line of it would be an edit; put it elsewhere", c.session.record)
		case changed("tool") && changed("event"):
			return usagef("--tool calls a tool and --event fires an event; give one of them")
		case changed("args") && !changed("tool"), changed("payload") && !changed("event"):
			return usagef("--args goes with --tool, and --payload with --event")
		case args == "-" || payload == "-":
			return usagef("dev does not read a document from standard input; give it as JSON or as @file")
		case changed("timeout") && o.timeout < time.Millisecond:
			return usagef("--timeout %s: a call needs at least 1ms", o.timeout)
		case changed("tool"):
			o.first = devAsk{target: tool, document: args}
		case changed("event"):
			o.first = devAsk{event: true, target: event, document: payload}
		}
		return c.dev(cmd.Context(), dirs[0], o)
	})
	return cmd
}

// devSession is one watch. Its fields belong to the goroutine of run, but for what a round
// owns while it runs.
type devSession struct {
	c       *cli
	dir     string
	o       devOptions
	ask     devAsk
	prompt  *devPrompt         // nil where nobody types
	current *install.Installed // the last that was built, or nil
	granted []string           // what was said to be granted
	said    bool               // that it was
}

func (c *cli) dev(ctx context.Context, dir string, o devOptions) error {
	watch := &watch{dir: dir, documents: o.first.files()}
	if err := watch.look(); err != nil {
		return &install.Error{Layer: install.LayerFetch, Err: fmt.Errorf("%s: %w; name the directory that holds the extension's source", dir, err)}
	}
	if watches(dir, c.session.workspace) || watches(c.session.workspace, dir) {
		c.tellDev("the source lies in the workspace: what a call writes to it is an edit, after which dev calls again")
	}
	s := &devSession{c: c, dir: dir, o: o, ask: o.first}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var err error
	if s.prompt, err = c.newDevPrompt(watching); err != nil {
		return err
	}
	edits, watched := make(chan []string), make(chan struct{})
	go func() {
		defer close(watched)
		watch.run(watching, edits)
	}()
	err = s.run(ctx, edits)
	stop()
	<-watched
	s.prompt.close()
	c.progress.clear()
	if s.current != nil {
		_ = s.current.Close()
	}
	return err
}

// files are the files beside the source that are watched.
func (a devAsk) files() []string {
	if path, isFile := strings.CutPrefix(a.document, "@"); isFile {
		return []string{path}
	}
	return nil
}

// run starts a round after every edit and every line, ending the one before.
func (s *devSession) run(ctx context.Context, edits <-chan []string) error {
	now := s.start(ctx)
	defer func() { now.end() }()
	for {
		select {
		case <-ctx.Done():
			return &endlessError{context.Cause(ctx)}
		case err := <-now.left:
			return err
		case names := <-edits:
			now.end()
			s.c.tellDev("%s changed", escape.Line(strings.Join(names, ", ")))
			now = s.start(ctx)
		case line, more := <-s.prompt.lines():
			now.end()
			again, quit := s.typed(line, more)
			switch {
			case quit && ctx.Err() != nil:
				return &endlessError{context.Cause(ctx)}
			case quit:
				return nil
			case again:
				now = s.start(ctx)
			default:
				s.prompt.show()
			}
		}
	}
}

// devRound is one round under way.
type devRound struct {
	cancel context.CancelFunc
	over   chan struct{}
	left   chan error // has an error where there is nobody left to tell anything
}

// end calls a round off and waits for it.
func (r devRound) end() {
	r.cancel()
	<-r.over
}

// start begins a round.
func (s *devSession) start(ctx context.Context) devRound {
	ctx, cancel := context.WithCancel(ctx)
	r := devRound{cancel: cancel, over: make(chan struct{}), left: make(chan error, 1)}
	go func() {
		defer close(r.over)
		err := s.round(ctx)
		s.c.progress.clear()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, syscall.EPIPE):
			r.left <- err
			return
		case err != nil:
			s.c.tellError(err)
		}
		s.prompt.show()
	}()
	return r
}

// round takes the source as it stands to an answer.
func (s *devSession) round(ctx context.Context) error {
	began := time.Now()
	next, err := install.Try(ctx, install.Options{Source: s.dir, Sets: s.o.sets, Progress: s.c.showStep, Builder: s.c.builder()}, s.current)
	if err != nil {
		return err
	}
	if next != s.current {
		if s.current != nil {
			_ = s.current.Close()
		}
		s.current = next
		s.c.progress.clear()
		s.c.tellDev("%s %s built in %s%s", escape.Line(next.Record.Name), escape.Line(next.Record.Version), roundedTime(time.Since(began)), atLevel(next.Record.BuildJail.Level))
		s.sayGranted(next.Record.Granted)
	}
	if s.ask.target == "" {
		return nil
	}
	if err := s.answer(ctx); err != nil {
		return err
	}
	s.c.tellDev("answered in %s", roundedTime(time.Since(began)))
	return nil
}

// answer runs what was asked for.
func (s *devSession) answer(ctx context.Context) error {
	if s.ask.event {
		return s.c.fireOn(ctx, s.current, s.ask.target, fireOptions{payload: s.ask.document, given: s.ask.document != "", timeout: s.o.timeout})
	}
	document := s.ask.document
	if document == "" {
		document = "{}"
	}
	raw, err := s.c.readDocument(ctx, "--args", document)
	if err != nil {
		return err
	}
	return s.c.callOn(ctx, s.current, s.ask.target, raw, callOptions{strand: s.o.strand, timeout: s.o.timeout})
}

// sayGranted says what the code was given, once and whenever it changes.
func (s *devSession) sayGranted(granted []string) {
	if s.said && slices.Equal(granted, s.granted) {
		return
	}
	s.said, s.granted = true, granted
	what := "nothing; the manifest requests no capability"
	if len(granted) > 0 {
		what = escape.Line(strings.Join(granted, ", ")) + ", because the manifest requests it and the code is yours; an install asks"
	}
	s.c.tellDev("granted: %s", what)
}

// typed carries out a line. It reports whether to run again, or to end.
func (s *devSession) typed(line string, more bool) (again, quit bool) {
	if !more {
		return false, true
	}
	ask, word, err := parseDevLine(line)
	switch {
	case err != nil:
		s.c.tellError(err)
	case word == "quit":
		return false, true
	case word == "help":
		s.c.tellDev("call <tool> [JSON or @file], fire <event> [JSON or @file], an empty line for once more, quit")
		if s.current != nil {
			s.c.tellDev("tools: %s; hooks: %s", toolNames(s.current.Record), hookNames(s.current.Record))
		}
	case word == "again" && s.ask.target == "":
		s.c.tellDev("nothing was called yet; type call <tool> [JSON], or help")
	case word == "again":
		return true, false
	default:
		s.ask = ask
		return true, false
	}
	return false, false
}

// parseDevLine reads a line of the prompt: the word is empty where it asks for something.
func parseDevLine(line string) (ask devAsk, word string, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	target, document, _ := strings.Cut(strings.TrimSpace(rest), " ")
	document = strings.TrimSpace(document)
	switch word {
	case "":
		return ask, "again", nil
	case "help", "quit":
		return ask, word, nil
	case "exit":
		return ask, "quit", nil
	case "call", "fire":
		if target == "" {
			return ask, "", usagef("%s what? type %s <name> [JSON or @file]", word, word)
		}
		if document == "-" {
			return ask, "", usagef("give the document as JSON or as @file")
		}
		return devAsk{event: word == "fire", target: target, document: document}, "", nil
	}
	return ask, "", usagef("%q is no command here; type call, fire, help, quit, or an empty line for once more", word)
}

func hookNames(r install.Record) string {
	names := make([]string, len(r.Hooks))
	for i, hook := range r.Hooks {
		names[i] = hook.Event
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// tellDev writes a line of the watch's own.
func (c *cli) tellDev(format string, args ...any) {
	c.tell("dev: " + fmt.Sprintf(format, args...))
}

// tellError writes the lines of an error that does not end the command.
func (c *cli) tellError(err error) {
	var own *statusError
	if errors.As(err, &own) {
		return
	}
	text := briefly(err)
	if errors.As(err, new(*usageError)) {
		text = "dev: " + text
	}
	c.tell(escape.Block(text + c.jailHint(err)))
}
