package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vet"
)

// streams is what a command reads and writes, and the environment it looks at.
type streams struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
}

// cli is one run of the command: its streams and the flags that every command has.
type cli struct {
	streams
	home string
	// homeSet tells an empty --home, which is a mistake, from none.
	homeSet bool
	jail    jail.Options // by the flags of a command that starts something
	session sessionFlags // by those of one that opens a session

	jailNotice sync.Once
	errLock    sync.Mutex  // one line of standard error at a time
	stuck      atomic.Bool // nobody reads standard error
	progress   *progress
	reports    *reports // of a running call
}

// run carries out one command line and returns its exit status. It leaves no goroutine,
// process or file behind that it does not document.
func run(ctx context.Context, args []string, s streams) int {
	c := &cli{streams: s}
	c.progress = newProgress(s.err, terminalWidth(s.err), s.env)
	root := c.root()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)

	err := root.ExecuteContext(ctx)
	c.progress.clear()
	if err == nil {
		return statusOK
	}
	var ran *ranError
	if !errors.As(err, &ran) {
		// Whatever fails before a command's own function is the command line's fault.
		text := err.Error()
		if !strings.Contains(text, "; ") {
			text += "; see loomext --help, or --help after the command"
		}
		err = usagef("%s", text)
	}
	status := exitStatus(ctx, err)
	c.report(ctx, status, err)
	return status
}

// ranError marks an error of a command's own function.
type ranError struct{ error }

func (e *ranError) Unwrap() error { return e.error }

// ran wraps a command's function so that its errors can be told from those of its flags.
func ran(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f(cmd, args); err != nil {
			return &ranError{err}
		}
		return nil
	}
}

// report prints the lines of an error.
func (c *cli) report(ctx context.Context, status int, err error) {
	var (
		signaled *signalError
		own      *statusError
		hinted   *hintedError
	)
	text := err.Error()
	switch {
	case errors.As(context.Cause(ctx), &signaled):
		if signaled.signal == syscall.SIGINT && errors.As(err, new(*endlessError)) {
			return // Ctrl-C is how it ends
		}
		text = "loomext: " + signaled.Error()
		if errors.As(err, &hinted) {
			text += "; " + hinted.hint
		}
	case status == statusSignal+int(syscall.SIGPIPE), errors.As(err, &own):
		return
	case status == statusUsage:
		text = "usage: " + text
	case status == statusDeclined:
		text = "install: " + text
	case status == statusInternal && !errors.As(err, new(*outputError)):
		text = "internal: " + text
	default:
		text = briefly(err) + c.jailHint(err)
	}
	c.errorf("%s\n", escape.Block(text))
}

// store is the store that --home or the environment names.
func (c *cli) store() (*install.Store, error) {
	home, err := c.home, error(nil)
	if c.homeSet && home == "" {
		return nil, usagef("--home is empty; name a directory, or leave the flag out for $LOOM_HOME or ~/.loom")
	}
	if home == "" {
		home, err = install.DefaultHome()
	} else {
		home, err = filepath.Abs(home)
	}
	if err != nil {
		return nil, &install.Error{Layer: install.LayerRecord, Err: err}
	}
	return install.Open(home), nil
}

// tell writes a line to standard error, among the reports of a call where there is one: there a
// reader who does not read holds up nothing.
func (c *cli) tell(line string) {
	if c.reports != nil {
		c.reports.line(line)
		return
	}
	c.errorf("%s\n", line)
}

// builder builds in the user's cache directory, and tells of the steps that take seconds.
func (c *cli) builder() *build.Builder {
	return &build.Builder{
		Std:    vet.Std(),
		Jail:   c.jail,
		Jailed: c.noteJail,
		Progress: func(line string) {
			c.progress.layer(install.Progress{Layer: install.LayerCompile, Text: strings.TrimPrefix(line, compileNews)})
		},
	}
}

// compileNews begins what a builder says of its own compiling.
const compileNews = "compile: "

// patientBuilder is one that says where nothing is rewritten, too, why the first install takes so long.
func (c *cli) patientBuilder() *build.Builder {
	b := c.builder()
	shown := b.Progress
	b.Progress = func(line string) {
		if what, ok := strings.CutPrefix(line, compileNews); ok && c.progress.width == 0 {
			c.progress.note(install.LayerVetting, "first compiles "+what+", which takes up to a minute; later installs take less")
			return
		}
		shown(line)
	}
	return b
}

// showProgress shows the layers of an install.
func (c *cli) showProgress(news install.Progress) { c.progress.layer(news) }

// showStep shows what is under way on a terminal, and nothing elsewhere: the result of a
// verification lists its checks.
func (c *cli) showStep(news install.Progress) {
	if news.Done {
		c.progress.clear()
	} else if c.progress.width > 0 {
		c.progress.layer(news)
	}
}

// terminalWidth is the number of columns of the terminal that w is, or 0 when it is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		const usual = 80
		return usual
	}
	return width
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
