// Package satellite holds one running artifact: it launches it in the jail with
// one end of a socket pair, calls into it one invocation at a time, and hands
// every effect the artifact asks for to a function.
//
// The satellite is foreign. It may write anything, at any rate, at any time, or
// nothing at all, and it may die at any instruction. Whatever it does, a call
// to [Satellite.Invoke] ends within its deadline and [deadlineGrace] more, and
// costs this process bounded memory.
//
// The package restarts nothing, queues nothing, checks no argument against a
// schema and judges no effect. A session that wants several calls at once, or a
// fresh process after a crash, builds that on top.
//
// Invariants:
//
//   - What runs are the bytes that were held against the digest, whatever becomes of
//     the file they came from.
//   - At most one invocation is open. A second one is refused as busy.
//   - Every invocation has a token of its own. An effect is authorized by the
//     token alone, judged when its frame is read, in the order the frames came.
//     The token is good from the call's frame until the result arrives, the
//     deadline passes or the satellite ends, and never again.
//   - A satellite that breaks the protocol, misses its deadline or does not heed
//     a cancellation is destroyed with its whole process group, once. It takes
//     no further call: it is gone.
//   - A satellite at rest that keeps the processor busy is destroyed.
//   - Everything that can wait for the satellite is ended by its destruction,
//     and one timer sees to the destruction.
package satellite

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
)

const (
	// deadlineGrace is how long past its deadline an invocation is waited for,
	// so that an honest "out of time" arrives before the axe.
	deadlineGrace = 250 * time.Millisecond
	// cancelGrace is what a cancelled invocation has to answer in.
	cancelGrace = 500 * time.Millisecond
	// exitGrace is what a process has to exit in after its channel closed, and
	// what a channel has to run dry in after its process exited.
	exitGrace = time.Second
	// closeGrace is what a satellite has to exit in that was asked to.
	closeGrace = 500 * time.Millisecond
	// reapGrace is how long the kernel may take to end a killed process before
	// the caller gets its answer anyway.
	reapGrace = 2 * time.Second
	// idleWindow is how often a satellite at rest is looked at, and idleCPU the
	// processor time that it may use in between: the garbage collector and a timer or
	// two of an honest one use a hundredth of it.
	idleWindow = 30 * time.Second
	idleCPU    = 3 * time.Second
	// DefaultDeadline is the deadline of an invocation that names none.
	DefaultDeadline = time.Minute
	// DefaultMemory is the budget of a satellite whose limits name none, on top
	// of what the Go runtime needs to start: what small tools use, tenfold.
	DefaultMemory = 64 << 20
)

const (
	socketVariable = "LOOM_CAP_SOCK"
	socketValue    = "fd:3" // the first of jail.Spec.Files
	// argumentZero says nothing about the host's files.
	argumentZero = "/loom_satellite"
)

// Config is one artifact and what it may use.
type Config struct {
	// Image is the program. Many launches may share one; its owner closes it once
	// no further launch wants it.
	Image *jail.Image
	// Artifact and Digest are the program where there is no Image: its absolute
	// path, and the "sha256:<64 hex>" that its bytes must have. It is read once, and
	// what was held against the digest is what runs.
	Artifact, Digest string
	// Env are further variables as NAME=value. The ones this package sets
	// itself (LOOM_*, TZ, GOMEMLIMIT, GOTRACEBACK, GOMAXPROCS) may not be among them.
	Env []string
	// Limits bound the process. DataBytes is jail.DataFloor plus the budget;
	// unset, the budget is DefaultMemory.
	Limits jail.Limits
	// Jail says how the jail behaves on this machine.
	Jail jail.Options
	// Effects serves the cap_calls of invocations that bring none of their own. Nil serves none.
	Effects Effects
	// OutputCap is how much of the program's output is kept; see StderrCap of
	// jail.Spec.
	OutputCap int
	// Output, if not nil, takes all of the program's output as it comes; see Stderr
	// of jail.Spec.
	Output io.Writer

	idleWindow, idleCPU time.Duration // zero is the constant; for tests
}

// Satellite is one running artifact. Its methods may be called at any time by
// many goroutines.
type Satellite struct {
	command *jail.Command
	traced  bool
	channel *channel
	serve   Effects
	timer   *time.Timer // calls expire
	done    chan struct{}
	closing sync.Once

	answers chan answer    // one place, filled once for every open invocation
	running sync.WaitGroup // effects
	abandon func()         // abandonOpen, made once
	busy    atomic.Bool    // somebody is in Invoke
	baton   chan struct{}  // one place: the right to use frames; see reader.go
	input   metered

	idleWindow, idleCPU time.Duration
	frames              *wire.Reader // of input

	mu      sync.Mutex
	fate    *Error        // why it was destroyed, set once
	lost    bool          // its end of the channel is closed
	ended   bool          // the process is gone, and no clock runs any more
	closed  bool          // Close was called
	armed   time.Time     // when the timer fires; zero when it is at rest
	exitBy  time.Time     // when a process whose channel closed is destroyed
	reapBy  time.Time     // when a destroyed process is not waited for any longer
	keeping bool          // the keeper has the baton
	resting bool          // the timer is to look at restAt
	restAt  time.Time     // when the keeper takes up the baton
	lookAt  time.Time     // when the processor time of its rest is judged
	rested  time.Duration // processor time when the rest, or this window of it, began
	restID  int64         // the last call when restAt was set
	open    bool
	call    invocation        // the open one, or the last
	effects map[int64]*effect // by the id of their cap_call
	charged int64             // memory the open effects hold, at most
	unread  unread            // results that are being written
}

// unread is results that the satellite has not taken yet.
type unread struct {
	count int
	bytes int64
}

// invocation is the state of one call, guarded by Satellite.mu.
type invocation struct {
	id        int64
	token     [wire.TokenLen]byte
	caller    context.Context // of Invoke
	serve     Effects
	prompt    func(string) bool
	effects   context.Context // made by the first effect, ended with the invocation
	end       context.CancelFunc
	deadline  time.Time
	killAt    time.Time // when the satellite is destroyed for not answering
	sent      bool      // its goroutine has the baton and sends it
	cancelled bool      // by the caller
	unsent    bool      // not one byte of the call was taken
}

// Launch starts an artifact. It does not wait for a sign of life: there is no
// greeting in the protocol, and the first call waits anyway. The satellite is
// destroyed when ctx ends, so ctx is that of a session, not of a call.
func Launch(ctx context.Context, c Config) (*Satellite, error) {
	env, err := environment(c)
	if err != nil {
		return nil, err
	}
	if c.Limits.DataBytes == 0 {
		c.Limits.DataBytes = jail.DataFloor + DefaultMemory
	}
	if c.Image == nil {
		if c.Image, err = c.seal(); err != nil {
			return nil, err
		}
		defer c.Image.Close()
	}
	ch, theirs, err := newChannel()
	if err != nil {
		return nil, err
	}
	command, err := jail.Start(ctx, jail.Spec{
		Path: argumentZero, Image: c.Image, Env: env, Files: []*os.File{theirs}, Joined: true, StderrCap: c.OutputCap, Stderr: c.Output,
		Limits: c.Limits, Profile: jail.Satellite,
	}, c.Jail)
	_ = theirs.Close()
	if err != nil {
		ch.close()
		return nil, err
	}
	s := &Satellite{
		command: command, traced: c.Jail.Trace, channel: ch, serve: c.Effects,
		done: make(chan struct{}), answers: make(chan answer, 1), baton: make(chan struct{}, 1),
		effects: map[int64]*effect{},
	}
	if s.serve == nil {
		s.serve = noEffects
	}
	s.idleWindow, s.idleCPU = cmp.Or(c.idleWindow, idleWindow), cmp.Or(c.idleCPU, idleCPU)
	s.abandon = s.abandonOpen
	s.input.from = ch
	s.frames = wire.NewReader(&s.input, wire.Host)
	s.input.budget.Store(idleBytes)
	s.baton <- struct{}{}
	s.mu.Lock()
	s.timer = time.AfterFunc(time.Hour, s.expire)
	s.rest()
	s.mu.Unlock()
	go s.supervise()
	return s, nil
}

// seal takes the program into memory for one launch.
func (c *Config) seal() (*jail.Image, error) {
	switch {
	case !filepath.IsAbs(c.Artifact):
		return nil, &jail.Error{Place: "program", What: strconv.Quote(c.Artifact) + " is not an absolute path", Fix: "name the program by its absolute path"}
	case c.Digest == "":
		return nil, &jail.Error{Place: "program", What: "there is no digest to hold " + strconv.Quote(c.Artifact) + " against", Fix: "name the one that was approved"}
	}
	return jail.Seal(c.Artifact, c.Digest)
}

// environment is the whole of what the artifact finds in it.
func environment(c Config) ([]string, error) {
	budget := int64(DefaultMemory)
	if c.Limits.DataBytes > jail.DataFloor {
		budget = c.Limits.DataBytes - jail.DataFloor
	}
	env := []string{
		socketVariable + "=" + socketValue,
		"TZ=UTC",
		// Soft, and below the hard bound by the floor: an honest extension
		// collects garbage before it dies.
		"GOMEMLIMIT=" + strconv.FormatInt(budget, 10),
		"GOTRACEBACK=single",
		// One processor, whatever the machine has: a satellite answers one call at
		// a time, starts sooner so, and its threads do not grow with the host.
		"GOMAXPROCS=1",
	}
	own := env
	for _, v := range c.Env {
		name, _, _ := strings.Cut(v, "=")
		taken := slices.ContainsFunc(own, func(set string) bool { return strings.HasPrefix(set, name+"=") })
		if taken || strings.HasPrefix(name, "LOOM_") {
			return nil, &jail.Error{Place: "environment", What: name + " is set by the host itself", Fix: "leave it out"}
		}
		env = append(env, v)
	}
	return env, nil
}

// PID is the process identifier.
func (s *Satellite) PID() int { return s.command.PID() }

// Report is what the jail enforced.
func (s *Satellite) Report() jail.Report { return s.command.Report() }

// Output is what was kept of standard output and standard error, in the order
// written. It is the extension's text: escape it before it reaches a terminal.
func (s *Satellite) Output() string { return s.command.Stderr() }

// Done closes when the process is gone and every effect has returned.
func (s *Satellite) Done() <-chan struct{} { return s.done }

// Close asks the satellite to serve no more and destroys it if it has not
// exited within half a second. An open invocation ends as cancelled. Close
// returns once nothing of the satellite is left; calling it again is harmless.
func (s *Satellite) Close() {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		timer := time.NewTimer(closeGrace)
		defer timer.Stop()
		if s.channel.sayGoodbye(closeGrace) == nil {
			select {
			case <-s.done:
			case <-timer.C:
			}
		}
		s.command.Kill()
	})
	<-s.done
}
