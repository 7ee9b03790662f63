package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loomext/loomext/broker"
	"github.com/loomext/loomext/host/satlog"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/satellite"
)

const (
	// MaxRestarts is how often a satellite is started again in a session after it ended
	// through its own fault, where that is not forgiven. An extension that dies every time costs a start and a
	// failed call each time, and three are enough to tell an accident from a habit.
	MaxRestarts = 3
	// StrikeTime is how long a satellite has to run without ending through its own fault for one such end to be forgiven. A
	// session may live as long as a server: an extension that fails four times in an hour is broken, and one that fails
	// four times in a month is not.
	StrikeTime = time.Hour
	// HookTimeout is what a hook has to answer an event. A manifest gives hooks no time
	// of their own, and an agent stands still while a gate answers.
	HookTimeout = 20 * time.Second
	// maxWaiting bounds the queue of one extension. A harness whose calls pile up
	// higher than this waits for something that will not come.
	maxWaiting = 1024
)

const eventSessionStart = "session_start"

// extension is one generation of an extension in a session. Another generation is another
// one, with its own turn, scratch and strikes.
type extension struct {
	session    *Session
	name       string
	generation string         // the one that it is, by its base name; empty where there is none
	absent     bool           // it is not installed, and was asked for by name
	lent       bool           // loaded by the caller, who sees to it alone
	record     install.Record // empty where it was refused at once

	loaded  chan struct{} // closed when the next three are set
	program *program      // nil where it was refused
	scope   *broker.Scope
	log     *satlog.Log

	// turn has one place. Who fills it may start the satellite and call it.
	turn    chan struct{}
	printed *printed // by the satellite that was started last; of who has the turn
	// retired is closed when another generation, or none, has taken its place.
	retired chan struct{}
	removed bool // by none; set before retired is closed

	mu        sync.Mutex
	events    []string             // that it declares a hook for
	satellite *satellite.Satellite // nil where none is running
	jail      jail.Report          // of the last that was started
	waiting   int
	starts    int // launched satellites
	strikes   int
	struck    time.Time // since when one of them is being forgiven
	out       bool
	reason    string
	refusal   error
	released  bool     // nothing is to be held for it any more
	loading   *attempt // the last; nil before the first
}

// tool finds one of its tools. It is for after the load.
func (x *extension) tool(name string) (timeout time.Duration, schema *manifest.Schema, ok bool) {
	if x.program == nil {
		return 0, nil, false
	}
	schema, ok = x.program.Manifest.Schema(name)
	if !ok {
		return 0, nil, false
	}
	tool, ok := x.program.Record.Tool(name)
	return time.Duration(tool.TimeoutMS) * time.Millisecond, schema, ok
}

// tools are the names of its tools, for a message.
func (x *extension) tools() string {
	names := make([]string, len(x.record.Tools))
	for i, t := range x.record.Tools {
		names[i] = t.Name
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (x *extension) hooks(event string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Contains(x.events, event)
}

// isOut reports whether it takes no part.
func (x *extension) isOut() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out
}

// refused reports whether it takes no part because it could not be loaded.
func (x *extension) refused() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.refusal != nil
}

// ceiling is a time under the operator's ceiling.
func (x *extension) ceiling(own time.Duration) time.Duration {
	return min(own, x.session.host.config.Ceilings.Timeout)
}

// gone is the error of a call that is not made.
func (x *extension) gone(target, why string, cause error) *Error {
	return &Error{Kind: Gone, Extension: x.name, Target: target, Code: wire.CodeGone, Msg: why, Err: cause}
}

// enter waits for the turn, for so long at most where that is not zero.
func (x *extension) enter(ctx context.Context, target string, wait time.Duration) error {
	select {
	case x.turn <- struct{}{}:
		return x.entered(target)
	default:
	}
	x.mu.Lock()
	if x.waiting >= maxWaiting {
		x.mu.Unlock()
		return x.busy(target, "more than "+strconv.Itoa(maxWaiting)+" calls are waiting for it")
	}
	x.waiting++
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		x.waiting--
		x.mu.Unlock()
	}()
	over, stop := timer(wait)
	defer stop()
	select {
	case x.turn <- struct{}{}:
		return x.entered(target)
	case <-x.retired:
		return x.moved(target)
	case <-over:
		return x.busy(target, "it was answering other calls for "+wait.String())
	case <-ctx.Done():
		return x.notCalled(ctx, target)
	case <-x.session.ctx.Done():
		return x.gone(target, "the session was closed", ErrClosed)
	}
}

// entered has a turn count for nothing where it came too late.
func (x *extension) entered(target string) error {
	err := x.moved(target)
	if err != nil {
		x.leave()
	}
	return err
}

func (x *extension) leave() { <-x.turn }

// timer ends a wait; zero never does.
func timer(wait time.Duration) (over <-chan time.Time, stop func()) {
	if wait <= 0 {
		return nil, func() {}
	}
	t := time.NewTimer(wait)
	return t.C, func() { t.Stop() }
}

func (x *extension) busy(target, why string) *Error {
	return &Error{Kind: Busy, Extension: x.name, Target: target, Code: wire.CodeBusy, Msg: "not called: " + why}
}

// notCalled is the error of a caller whose context ended before its turn came.
func (x *extension) notCalled(ctx context.Context, target string) error {
	e := &Error{Kind: Cancelled, Extension: x.name, Target: target, Code: wire.CodeCancelled, Msg: "not called: the caller gave up while it waited", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Code, e.Msg = Deadline, wire.CodeDeadline, "not called: the caller's time ran out while it waited"
	}
	return e
}

// ready gives the satellite, starting it where none is running. The turn is the
// caller's before, and after where the error is nil; else it has been given up. A
// start is waited for as long as a turn is, where that is not zero.
func (x *extension) ready(ctx context.Context, call satellite.Invocation, wait time.Duration) (*satellite.Satellite, error) {
	target := call.Name
	sat, err := x.live(target)
	if sat != nil || err != nil {
		if err != nil {
			x.leave()
		}
		return sat, err
	}
	// A session_start may take its time, and belongs to no caller: one that gives up
	// leaves it to the next.
	type result struct {
		sat *satellite.Satellite
		err error
	}
	started, abandoned := make(chan result), make(chan struct{})
	if !x.session.spawn(func() {
		sat, err := x.start(call)
		select {
		case started <- result{sat, err}:
		case <-abandoned:
			x.leave()
		}
	}) {
		x.leave()
		return nil, x.gone(target, "the session was closed", ErrClosed)
	}
	over, stop := timer(wait)
	defer stop()
	select {
	case r := <-started:
		if r.err != nil {
			x.leave()
		}
		return r.sat, r.err
	case <-over:
		close(abandoned)
		return nil, x.busy(target, "its satellite was being started for "+wait.String())
	case <-ctx.Done():
		close(abandoned)
		return nil, x.notCalled(ctx, target)
	}
}

// live is the satellite that is running, or nil where one has to be started.
func (x *extension) live(target string) (*satellite.Satellite, error) {
	x.mu.Lock()
	sat, out, reason, refusal := x.satellite, x.out, x.reason, x.refusal
	x.mu.Unlock()
	if sat != nil {
		why := sat.Ended()
		if why == nil {
			return sat, nil
		}
		x.ended(sat, x.failed("", sat, why).summary(), true)
		return x.live(target)
	}
	switch {
	case x.session.ctx.Err() != nil:
		return nil, x.gone(target, "the session was closed", ErrClosed)
	case out:
		return nil, x.gone(target, reason, refusal)
	}
	return nil, nil
}

// start launches a satellite for a call and tells it, where it wants to know, that a
// session began, unless that is what the call is for. The turn is the caller's.
func (x *extension) start(call satellite.Invocation) (*satellite.Satellite, error) {
	h := x.session.host
	output := x.log.Writer(x.session.id)
	x.printed = new(printed)
	output.Tap(x.printed.line)
	sat, err := satellite.Launch(x.session.ctx, satellite.Config{
		Image: x.program.Image, Limits: x.record.Limits(), Jail: h.jail, Output: output,
	})
	if err != nil {
		_ = output.Close()
		if x.session.ctx.Err() != nil {
			return nil, x.gone(call.Name, "the session was closed", ErrClosed)
		}
		return nil, x.unstarted(call.Name, err)
	}
	x.mu.Lock()
	report := sat.Report()
	x.satellite, x.jail = sat, report
	x.starts++
	restarts := x.starts - 1
	x.mu.Unlock()
	h.logger.Info("satellite started", "extension", x.name, "session", x.session.id, "pid", sat.PID(), "jail", string(report.Level), "restarts", restarts)
	x.log.Note(x.session.id, fmt.Sprintf("started: version %s, pid %d, jail level %s, restart %d", x.record.Version, sat.PID(), report.Level, restarts))
	x.session.running.Go(func() { x.watch(sat, output) }) // the one that starts it runs, too
	if !x.hooks(eventSessionStart) || call.Kind == wire.CallEvent && call.Name == eventSessionStart {
		return sat, nil
	}
	return sat, x.greet(sat, restarts)
}

// greet is the session_start of a satellite. One that is refused is the
// extension's affair; one that ends the satellite fails the start.
func (x *extension) greet(sat *satellite.Satellite, restarts int) error {
	document := []byte("{}")
	if restarts > 0 {
		document = fmt.Appendf(nil, `{"restarts": %d}`, restarts)
	}
	given := x.allow(cmp.Or(x.session.host.config.Hooks.Deadline[eventSessionStart], HookTimeout), 0, 0)
	_, err := x.ask(x.session.ctx, sat, satellite.EventCall(eventSessionStart, document), given, nil)
	if err == nil {
		return nil
	}
	x.session.host.logger.Warn("session_start failed", "extension", x.name, "session", x.session.id, "failed", string(err.Kind))
	if sat.Ended() == nil {
		return nil
	}
	return err
}

// watch waits for the end of a satellite. One that ends while nobody calls it is
// noted by the watch, in its turn: a caller knows better why.
func (x *extension) watch(sat *satellite.Satellite, output io.Closer) {
	<-sat.Done()
	_ = output.Close()
	select {
	case x.turn <- struct{}{}:
		defer x.leave()
	case <-x.session.ctx.Done():
	}
	x.ended(sat, x.failed("", sat, sat.Ended()).summary(), true)
}

// startAhead starts the satellite before a call needs it. Where another generation has
// taken its place, that one is started with its own first call.
func (x *extension) startAhead() {
	ctx := x.session.ctx
	if x.refused() || x.load(ctx, "", 0) != nil || x.refused() || x.enter(ctx, "", 0) != nil {
		return
	}
	if _, err := x.ready(ctx, satellite.Invocation{}, 0); err != nil {
		x.session.host.logger.Warn("start ahead of need failed", "extension", x.name, "session", x.session.id, "failed", string(KindOf(err)))
		return
	}
	x.leave()
}

// close ends the satellite, if there is one.
func (x *extension) close() {
	x.mu.Lock()
	sat := x.satellite
	x.mu.Unlock()
	if sat != nil {
		sat.Close()
	}
}
