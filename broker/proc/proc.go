// Package proc runs the commands of the capability proc: programs of the system, over a session's workspace, for an
// extension that cannot start a process itself.
//
// A [Runner] is one extension's in one session. It has the [Terms] that the extension was approved under, the session's
// workspace and what the operator lets commands read. [Runner.Run] takes one command, holds it against the terms, runs it in a jail of
// its own and gives what it wrote.
//
// It is not a shell: nothing stands between the words of a command and its program. It does not judge what a command does
// with its words; a prefix is as powerful as what the command accepts after it. Who may run commands at all, and what becomes
// of an error on its way to the extension, is for package broker.
//
// Invariants:
//
//   - A command begins with one of the lists of words of its terms, word by word, and its program is a bare name that is
//     looked up in the directories of [Runner.Path] and nowhere else.
//   - It runs in the jail with namespaces, or not at all.
//   - It sees the system's programs, what the operator added, its workspace and a /tmp of its own. Neither the user's home
//     nor loomext's is in a workspace that a Runner is made for: package apart is the judge.
//   - When Run returns, no process of the command lives.
//   - Nothing of the host's environment is in the command's, but for the variables that its terms name.
package proc

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/loomext/loomext/jail"
)

// The bounds of a command. [docs/proc.md] repeats them for authors and operators.
const (
	// MaxArguments is how many words a command has: a list of files that a linter takes.
	MaxArguments = 1024
	// MaxArgumentBytes is what its words may have together, in bytes; the kernel's own bound for one word is as much.
	MaxArgumentBytes = 128 << 10
	// MaxStdin is what it may be given to read, in bytes.
	MaxStdin = 1 << 20
	// MaxOutput is what is kept of each of its two outputs, in bytes: both fit a frame many times over.
	MaxOutput = 1 << 20
	// MaxFlood is what it may write in all, in bytes. What is beyond what is kept costs the host the reading of it; what
	// writes more is a loop.
	MaxFlood = 64 << 20
	// MaxTimeout is the longest that a command runs: as long as an invocation may take.
	MaxTimeout = 10 * time.Minute
	// maxLanes is how many commands of one Runner run at once. What is beyond waits.
	maxLanes = 4
)

// The limits of its processes.
const (
	dataLimit       = 2 << 30 // private memory of each: a compiler's, with room
	fileLimit       = 1 << 30 // a file's size
	descriptorLimit = 1024
	stderrKept      = 4 << 10 // for what the jail reads of it
)

// Terms are what an extension was approved for.
type Terms struct {
	// Commands are the lists of words that a command may begin with.
	Commands [][]string
	// Env are names of variables whose values, in the host's environment, a command gets. What [manifest.NotForCommands] refuses is
	// refused here as well.
	Env []string
	// Write lets commands write in the workspace.
	Write bool
}

// Options are what a Runner is made of.
type Options struct {
	Terms Terms
	// Workspace is the session's directory, open. It stays the caller's, who keeps it open.
	Workspace *os.File
	// Protected are paths in the workspace that no command writes, whatever the terms, by slash path.
	Protected []string
	// Readable are directories and files outside the workspace that commands may read and execute, absolute. The bin
	// directory of each, or else the directory itself, joins the path.
	Readable []string
	// Home is loomext's own home, which no command sees; empty where there is none.
	Home string
	// Jail is what the jail needs to know of the host.
	Jail jail.Options
}

// Runner runs the commands of one extension in one session. It is for use by many goroutines and needs no closing.
type Runner struct {
	terms     Terms
	workspace *os.File
	protected []string
	readable  []string
	path      []string
	env       []string
	jail      jail.Options
	lanes     chan struct{}
	refusal   error // why it runs nothing
}

// New makes a Runner, and judges the workspace and what is readable. Where no command may run over these, the session can do
// without: [Runner.Run] says so each time, and [Runner.Err] now.
func New(o Options) *Runner {
	r := &Runner{terms: o.Terms, workspace: o.Workspace, protected: o.Protected, jail: o.Jail, lanes: make(chan struct{}, maxLanes)}
	if r.refusal = judgeWorkspace(o.Workspace, o.Home); r.refusal == nil {
		r.refusal = r.reach(o.Readable, o.Home)
	}
	if r.refusal == nil {
		r.refusal = r.environment()
	}
	return r
}

// Err is why the Runner runs nothing, an [*Error], or nil.
func (r *Runner) Err() error { return r.refusal }

// Path is where programs are looked for, in this order.
func (r *Runner) Path() []string { return r.path }

// Request is one command.
type Request struct {
	Argv  []string
	Stdin []byte
	// Timeout is how long it may run; zero leaves it to the context. [MaxTimeout] holds in any case.
	Timeout time.Duration
}

// Result is a command that ran to its end.
type Result struct {
	// Exit is the exit status: 128+n for a program that signal n ended, 126 or 127 for one that could not be started.
	Exit int
	// Stdout and Stderr are what it wrote, the first [MaxOutput] bytes of each.
	Stdout, Stderr []byte
	// Truncated says that it wrote more.
	Truncated bool
}

// Run runs a command and waits for its end. Where ctx ends first, the command and all it started are killed. An error is
// an [*Error]; an exit status other than 0 is none.
func (r *Runner) Run(ctx context.Context, q Request) (Result, error) {
	if r.refusal != nil {
		return Result{}, r.refusal
	}
	program, err := r.judge(q)
	if err != nil {
		return Result{}, err
	}
	timeout := MaxTimeout
	if q.Timeout > 0 {
		timeout = min(timeout, q.Timeout)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case r.lanes <- struct{}{}:
		defer func() { <-r.lanes }()
	case <-limited.Done():
		return Result{}, ended(ctx, limited, timeout)
	}
	workspace := &jail.Workspace{Dir: r.workspace, Writable: r.terms.Write}
	if r.terms.Write {
		g, err := r.guard(limited)
		if err != nil {
			return Result{}, err
		}
		defer g.release()
		workspace.Guarded = g.paths
	}
	stdin, err := input(q.Stdin)
	if err != nil {
		return Result{}, err
	}
	if stdin != nil {
		defer stdin.Close()
	}
	out := newOutput(cancel)
	exit, err := r.run(limited, jail.Spec{
		Path: program, Args: q.Argv[1:], Env: r.env,
		Profile: jail.Proc, Workspace: workspace, ReadOnly: r.readable,
		Stdin: stdin, Stdout: &out.stdout, Stderr: &out.stderr, StderrCap: stderrKept,
		Limits: jail.Limits{
			CPU: timeout * time.Duration(runtime.NumCPU()), DataBytes: dataLimit, FileBytes: fileLimit, Descriptors: descriptorLimit,
		},
	})
	switch {
	case out.flooded():
		return Result{}, flooded()
	case limited.Err() != nil && (err != nil || exit.Killed):
		return Result{}, ended(ctx, limited, timeout)
	case err != nil:
		return Result{}, unavailable(err)
	}
	return Result{Exit: status(exit), Stdout: out.stdout.kept, Stderr: out.stderr.kept, Truncated: out.truncated()}, nil
}

func (r *Runner) run(ctx context.Context, s jail.Spec) (jail.Exit, error) {
	command, err := jail.Start(ctx, s, r.jail)
	if err != nil {
		return jail.Exit{}, err
	}
	return command.Wait()
}

// status is the exit status as a shell counts it. The jail's first process has seen to the command's; its own end by a
// signal is that of the whole.
func status(exit jail.Exit) int {
	if exit.Code < 0 {
		return 128 + killSignal
	}
	return exit.Code
}

// killSignal is the only signal that ends the first process of a process namespace from outside.
const killSignal = 9

// ended is why a command was killed.
func ended(ctx, limited context.Context, timeout time.Duration) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &Error{Cancelled, "nobody waits for the command any longer, and it was killed"}
	case ctx.Err() != nil:
		return &Error{Deadline, "the time of the invocation is over, and the command was killed"}
	}
	return &Error{Deadline, "the command took longer than " + timeout.String() + " and was killed; make it do less, or give it more time"}
}
