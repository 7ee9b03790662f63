package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/record"
)

const (
	// settleTime is how long after a change the session looks whether that was all, and
	// retryTime when it looks again after it could not: that the store is whole again is told
	// before.
	settleTime = 250 * time.Millisecond
	retryTime  = 5 * time.Second
	// closeWithin bounds the wait for a client that takes nothing more in. Its answers
	// are lost then; satellites are gone before.
	closeWithin = 2 * time.Second
)

// Options are how a bridge serves.
type Options struct {
	// Only and Except choose what is served: names of extensions, or of one tool as
	// <extension>__<tool>. An empty Only is all. A prompt and a resource are served
	// where their tool is.
	Only, Except []string
	// Version is that of loomext, which clients are told.
	Version string
	// Logger is told what is left out and why, in names and figures. Nil logs nothing.
	Logger *slog.Logger
	// Warm starts the satellites of what is served ahead of need.
	Warm bool
	// Workspace and Record are those of the session; see host.SessionOptions.
	Workspace string
	Record    *record.Writer

	warned *warned // of all bridges of one server; nil is its own
}

// Bridge is one session of a host, as a server of the protocol.
type Bridge struct {
	host    *host.Host
	session *host.Session
	server  *sdk.Server
	choice  choice
	logger  *slog.Logger
	warm    bool

	catalog   catalog
	schemas   sync.Map // of the tools that are served, by name, as json.RawMessage
	artifacts artifacts
	watched   watched
	warned    *warned
	known     map[string]install.Record // of what is served, for the goroutine that watches

	ctx     context.Context // ends with the bridge
	end     context.CancelFunc
	running sync.WaitGroup
	closing sync.Once
	closed  chan struct{}
}

// New opens a session of the host and a server for it, which offers what is
// installed from now on. It starts no satellite, unless o.Warm.
func New(h *host.Host, o Options) (*Bridge, error) {
	chosen, err := newChoice(o.Only, o.Except)
	if err != nil {
		return nil, err
	}
	b := &Bridge{host: h, choice: chosen, logger: o.Logger, warm: o.Warm, warned: cmp.Or(o.warned, new(warned)), closed: make(chan struct{})}
	if b.logger == nil {
		b.logger = slog.New(slog.DiscardHandler)
	}
	b.ctx, b.end = context.WithCancel(context.Background())
	changed, unwatch := h.Watch()
	b.session, err = h.Open(b.ctx, host.SessionOptions{
		Extensions: chosen.extensions(), Lazy: true, Workspace: o.Workspace, Record: o.Record,
	})
	if err != nil {
		unwatch()
		b.end()
		return nil, fmt.Errorf("mcp: %w", err)
	}
	records := b.records()
	b.server = sdk.NewServer(&sdk.Implementation{Name: "loomext", Title: "loomext", Version: o.Version}, b.serverOptions(records))
	b.server.AddReceivingMiddleware(b.guard)
	b.apply(records)
	b.running.Go(func() {
		defer unwatch()
		b.watch(changed)
	})
	b.ahead(names(records))
	return b, nil
}

// Server is the server, for a handler of HTTP.
func (b *Bridge) Server() *sdk.Server { return b.server }

// connection is the key of the context of a connection, in that of its requests:
// the SDK hands its values on, and not its end.
type connection struct{}

// Serve serves one connection until its end or that of ctx, which both end what was
// called over it. The error is that of the connection, or of ctx. [Bridge.Close] is the
// caller's.
func (b *Bridge) Serve(ctx context.Context, t sdk.Transport) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session, err := b.server.Connect(context.WithValue(ctx, connection{}, ctx), t, nil)
	if err != nil {
		return fmt.Errorf("mcp: the connection: %w", err)
	}
	defer b.forget(session)
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-lasted(t):
		cancel() // what is open has had its time
		if unread(t) {
			return nil // a write into a pipe that nobody reads cannot be called off
		}
		select {
		case err = <-ended:
		case <-time.After(closeWithin):
		}
	case <-ctx.Done():
		go session.Close() // it waits for answers to go out
		select {
		case <-ended:
		case <-time.After(closeWithin):
		}
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("mcp: the connection: %w", err)
	}
	return nil
}

// errClosed is why calls end with their bridge.
var errClosed = errors.New("the bridge was closed")

// lasting is a request's context that ends with its connection and with the bridge
// as well.
func (b *Bridge) lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := context.AfterFunc(b.ctx, func() { cancel(errClosed) })
	gone := func() bool { return true }
	if life, ok := ctx.Value(connection{}).(context.Context); ok {
		gone = context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	}
	return ctx, func() {
		stopped()
		gone()
		cancel(nil)
	}
}

// Close ends every call and leaves no satellite and no goroutine of the bridge. It
// may be called again.
func (b *Bridge) Close() {
	b.closing.Do(func() {
		b.end()
		b.session.Close()
		done := make(chan struct{})
		go func() {
			b.running.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(closeWithin): // a line that a client does not take in
		}
		close(b.closed)
	})
	<-b.closed
}

// watch keeps what is offered at what is installed.
func (b *Bridge) watch(changed <-chan struct{}) {
	var again <-chan time.Time
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-changed:
		case <-again:
		}
		again = nil
		if wait := b.refresh(); wait > 0 {
			again = time.After(wait)
		}
	}
}

// refresh takes in what has changed, and says when to look again; zero is with the next change.
func (b *Bridge) refresh() (again time.Duration) {
	changes, err := b.session.Refresh(b.ctx)
	switch {
	case b.ctx.Err() != nil:
		return 0
	case err != nil:
		if b.warned.first("store", err.Error()) {
			b.logger.Warn("the store cannot be read; what was installed is served on", "error", err)
		}
		return retryTime
	case changes.None():
		return 0
	}
	b.apply(b.records())
	for _, name := range changes.Replaced {
		b.updated(name)
	}
	b.ahead(slices.Concat(changes.Added, changes.Replaced))
	return settleTime
}

// records are those of what is installed, by name. What cannot be loaded, or has ended too
// often, keeps its place: whoever calls it is told that, and not that there is no such tool.
func (b *Bridge) records() []install.Record {
	records := b.session.Records()
	known := map[string]install.Record{}
	for _, r := range records {
		known[r.Name] = r
	}
	for _, s := range b.session.Status() {
		_, there := known[s.Name]
		if was, ok := b.known[s.Name]; ok && !there && !errors.Is(s.Err, install.ErrNotInstalled) {
			known[s.Name] = was
			records = append(records, was)
		}
	}
	b.known = known
	slices.SortFunc(records, func(a, b install.Record) int { return cmp.Compare(a.Name, b.Name) })
	return records
}

// ahead starts the satellites of those extensions, in the background, where they are
// to be started ahead of need.
func (b *Bridge) ahead(names []string) {
	if !b.warm {
		return
	}
	if names = slices.DeleteFunc(names, func(name string) bool { return !b.catalog.has(name) }); len(names) > 0 {
		b.session.Start(names...)
	}
}

// warned are the warnings that were given, so that each is given once and not by every session.
type warned struct {
	mu    sync.Mutex
	given map[string]bool
}

// first reports whether the warning was not given yet. It is from now on.
func (w *warned) first(words ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.given == nil {
		w.given = map[string]bool{}
	}
	key := strings.Join(words, "\x00")
	again := w.given[key]
	w.given[key] = true
	return !again
}
