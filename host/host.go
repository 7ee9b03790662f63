// Package host is the harness's side of loomext: it opens a [Session] on
// installed extensions, keeps one jailed satellite process for each of them, and
// calls their tools and hooks.
//
//	h, err := host.New(host.Options{})
//	s, err := h.Open(ctx, host.SessionOptions{})
//	outcome, err := s.Call(ctx, host.Call{Extension: "units", Tool: "convert", Args: args})
//
// A [Host] is what the sessions of one program share: the operator's
// configuration, the broker that serves the effects of extensions, and the
// programs in memory.
//
// The package knows no concrete harness, no model and no transcript. It decides
// nothing about what an extension may do: that is the broker's, by what was
// approved. Which hooks are called at which moment, and what their answers mean,
// is the business of whoever calls [Session.Fire].
//
// Invariants:
//
//   - An extension that cannot be loaded is a [Status] with its reason. It never
//     keeps a session from opening.
//   - At most one invocation of an extension is open in a session. Callers queue,
//     in the order they came, each under its own context; what is spent in the
//     queue is no fault of the extension's.
//   - Every invocation ends within its time and the satellite's grace, whatever the
//     extension does.
//   - A satellite that ended is started again by the next call, at most
//     [MaxRestarts] times where the extension is to blame and [StrikeTime] has not made
//     good for it. Then the extension is out, and says why.
//   - What answers is one generation of an extension, with its own record, grant, scratch
//     and strikes. [Session.Refresh] puts another in its place and changes none.
//   - After [Session.Close] nothing of the session is left: no process, no
//     goroutine, no scratch.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/loomext/loomext/broker"
	"github.com/loomext/loomext/broker/artifact"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host/satlog"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
)

// Options are what the sessions of one program have in common.
type Options struct {
	// Home is the store's directory; empty is that of [install.DefaultHome].
	Home string
	// Config is the operator's; nil is what config.toml of the home says. A ceiling that
	// is zero is the default.
	Config *config.Config
	// Jail says how the jail behaves on this machine.
	Jail jail.Options
	// Logger is told of satellites that start and end, and at debug level of every
	// invocation and effect. Nothing that an extension or a caller wrote is logged
	// there but names and codes. Nil logs nothing.
	Logger *slog.Logger
}

// Host opens sessions. Its methods may be called from many goroutines.
type Host struct {
	home    string
	store   *install.Store
	config  config.Config
	jail    jail.Options
	logger  *slog.Logger
	broker  *broker.Broker
	storage *artifact.Store
	watcher *watcher
	now     func() time.Time // by which strikes are forgiven

	mu       sync.Mutex
	closed   bool
	programs map[string]*program    // by the directory of their generation
	logs     map[string]*satlog.Log // by the name of the extension
	sessions map[*Session]struct{}
}

// ErrClosed is the error of a host or session that was closed.
var ErrClosed = errors.New("closed")

// New reads the operator's configuration and makes a host. It starts nothing and
// writes nothing.
func New(o Options) (*Host, error) {
	h := &Host{
		home: o.Home, jail: o.Jail, logger: o.Logger, now: time.Now,
		programs: map[string]*program{}, logs: map[string]*satlog.Log{}, sessions: map[*Session]struct{}{},
	}
	var err error
	if h.home == "" {
		if h.home, err = install.DefaultHome(); err != nil {
			return nil, err
		}
	}
	if h.logger == nil {
		h.logger = slog.New(slog.DiscardHandler)
	}
	if o.Config != nil {
		h.config = *o.Config
	} else if h.config, err = config.Load(h.home); err != nil {
		return nil, err
	}
	ceilings, usual := &h.config.Ceilings, config.Default().Ceilings
	ceilings.Timeout = cmp.Or(ceilings.Timeout, usual.Timeout)
	ceilings.MaxResponseBytes = cmp.Or(ceilings.MaxResponseBytes, usual.MaxResponseBytes)
	h.store = install.Open(h.home)
	h.watcher = &watcher{look: h.store.Generations, every: lookEvery}
	h.storage = artifact.Open(filepath.Join(h.home, artifact.DirName))
	if h.broker, err = broker.New(broker.Options{Config: h.config, Artifacts: h.storage, Logger: h.logger}); err != nil {
		return nil, err
	}
	return h, nil
}

// Artifacts is where the artifacts are that extensions emit.
func (h *Host) Artifacts() *artifact.Store { return h.storage }

// Close closes the sessions that are open and lets go of what they shared.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	open := make([]*Session, 0, len(h.sessions))
	for s := range h.sessions {
		open = append(open, s)
	}
	h.mu.Unlock()
	for _, s := range open {
		s.Close()
	}
	h.broker.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, log := range h.logs {
		if err := log.Close(); err != nil {
			h.logger.Warn("a log has lost lines", "extension", name, "error", err)
		}
		delete(h.logs, name)
	}
}

// log is the log of an extension's satellites.
func (h *Host) log(name string) *satlog.Log {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.logs[name] == nil {
		h.logs[name] = satlog.Open(filepath.Join(h.home, satlog.DirName), name)
	}
	return h.logs[name]
}

// program is an extension as it was loaded and sealed, shared by the sessions that
// run it.
type program struct {
	*install.Installed
	users int
	owned bool // closed with its last user
}

// load checks an installed extension, as every session does, and shares its
// program with the sessions that run the same generation.
func (h *Host) load(ctx context.Context, name string) (*program, error) {
	installed, err := h.store.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	if p := h.known(installed.Dir); p != nil {
		return p, installed.Close()
	}
	installed.Image, err = jail.Seal(installed.Artifact, installed.Record.ArtifactDigest)
	if err != nil {
		_ = installed.Close()
		return nil, &install.Error{Layer: install.LayerJail, Err: err}
	}
	return h.share(&program{Installed: installed, owned: true})
}

// known is the program of a generation, with one user more, or nil.
func (h *Host) known(dir string) *program {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.programs[dir]
	if p != nil {
		p.users++
	}
	return p
}

// share makes a program known. Of two that were loaded at once the first stays.
func (h *Host) share(p *program) (*program, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if first := h.programs[p.Dir]; first != nil {
		first.users++
		return first, p.Close()
	}
	p.users = 1
	h.programs[p.Dir] = p
	return p, nil
}

// release is the end of one use of a program.
func (h *Host) release(p *program) {
	if !p.owned {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(h.programs, p.Dir)
		if err := p.Close(); err != nil {
			h.logger.Warn("a program was not let go", "extension", p.Record.Name, "error", err)
		}
	}
}

// once is an error where a session is to be opened on an extension twice, which is a
// caller's mistake.
func once(o SessionOptions) error {
	seen := map[string]bool{}
	for _, name := range o.Extensions {
		if seen[name] {
			return fmt.Errorf("host: %s is asked for twice; name each extension once", name)
		}
		seen[name] = true
	}
	for _, installed := range o.Loaded {
		name := installed.Record.Name
		if seen[name] {
			return fmt.Errorf("host: %s is asked for twice; name each extension once", name)
		}
		seen[name] = true
	}
	return nil
}
