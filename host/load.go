package host

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/loomext/loomext/broker"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/manifest"
)

// first is what a session is opened on, by the store: the names, or all that is installed.
func (s *Session) first(ctx context.Context, names []string) ([]*extension, error) {
	if s.lazy && s.all { // one reading of the store for all
		entries, err := s.host.store.List()
		if err != nil {
			return nil, err
		}
		members := make([]*extension, len(entries))
		for i, entry := range entries {
			members[i] = s.known(entry)
		}
		return members, ctx.Err()
	}
	generations, err := s.host.store.Generations()
	if s.all {
		if err != nil {
			return nil, err
		}
		for name := range generations {
			names = append(names, name)
		}
	} // else each name says for itself what is wrong
	var members []*extension
	for _, name := range names {
		x, err := s.take(ctx, name, generations[name])
		if err != nil {
			return members, err
		}
		members = append(members, x)
	}
	return members, nil
}

// take is an extension as the session takes it in: loaded, or by its record where the
// session is lazy. The generation is the one that is current before. The error is the end
// of ctx; one that is refused is an extension that is out.
func (s *Session) take(ctx context.Context, name, generation string) (*extension, error) {
	if s.lazy {
		return s.known(s.host.store.Entry(name)), ctx.Err()
	}
	p, err := s.host.load(ctx, name)
	if ctx.Err() != nil {
		if p != nil {
			s.host.release(p)
		}
		return nil, ctx.Err()
	}
	x := s.newExtension(name, generation)
	if err == nil {
		x.generation, x.record = filepath.Base(p.Dir), p.Record
	} else {
		x.absent = generation == "" && errors.Is(err, install.ErrNotInstalled)
	}
	x.settle(p, err)
	return x, nil
}

// known is an extension by its record, which is loaded when it is first used. One whose
// record cannot be read is out at once.
func (s *Session) known(entry install.Entry) *extension {
	x := s.newExtension(entry.Name, entry.Generation)
	if entry.Err == nil {
		x.record, x.events = *entry.Record, entry.Record.Events()
		return x
	}
	x.absent = entry.Generation == "" && errors.Is(entry.Err, install.ErrNotInstalled)
	x.settle(nil, entry.Err)
	return x
}

// lent is an extension that the caller has loaded.
func (s *Session) lent(installed *install.Installed) *extension {
	x := s.newExtension(installed.Record.Name, "")
	x.lent, x.record = true, installed.Record
	x.settle(&program{Installed: installed}, nil)
	return x
}

func (s *Session) newExtension(name, generation string) *extension {
	return &extension{
		session: s, name: name, generation: generation,
		loaded: make(chan struct{}), turn: make(chan struct{}, 1), retired: make(chan struct{}),
	}
}

// settle ends the load of an extension: it has its program, or it is out.
func (x *extension) settle(p *program, refusal error) {
	defer close(x.loaded)
	if refusal != nil {
		x.refuse(refusal)
		return
	}
	h := x.session.host
	terms := broker.Terms{Extension: x.name, Requested: p.Record.Requested, Granted: p.Record.Granted}
	if net, ok := p.Manifest.Net(); ok {
		terms.Net = &net
	}
	x.session.work.offer(&terms, p.Installed, h)
	x.scope, x.log = h.broker.Open(terms, x.session.id), h.log(x.name)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.events, x.program = p.Record.Events(), p
	if x.released { // it was replaced while it was loaded
		h.release(p)
	}
}

// refuse puts an extension out that could not be loaded. What it is known to declare it
// still declares: a gate that cannot be asked has allowed nothing.
func (x *extension) refuse(refusal error) {
	record, err := x.session.host.store.Record(x.name)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out, x.reason, x.refusal = true, refusal.Error(), refusal
	switch {
	case err == nil:
		x.events = record.Events()
	case !errors.Is(err, install.ErrNotInstalled):
		x.events = manifest.Events() // nobody can say that it is no gate
	}
	level := slog.LevelWarn
	if errors.Is(refusal, install.ErrNotInstalled) {
		level = slog.LevelInfo // whoever removed it knows, and whoever named it finds it in the status
	}
	x.session.host.logger.Log(x.session.ctx, level, "extension refused", "extension", x.name, "session", x.session.id, "error", refusal)
}

// loadPause is how long after a load that failed through the machine the next begins at the earliest: callers that come again
// and again are answered from the last, and the disk is not.
const loadPause = 100 * time.Millisecond

// attempt is one load of an extension.
type attempt struct {
	over   chan struct{} // closed when it has ended
	failed error         // it says nothing of the extension, and the next may succeed; set before over is closed
	again  time.Time     // not before
}

// load waits until the extension has been loaded or refused, and begins with that where
// nobody has. A load belongs to no caller: one that gives up leaves it to the next. It is
// waited for so long at most where that is not zero. One that fails through no fault of the
// extension's fails the calls that wait for it, and a later one loads again.
func (x *extension) load(ctx context.Context, target string, wait time.Duration) error {
	select {
	case <-x.loaded:
		return x.moved(target)
	default:
	}
	a := x.attempt()
	over, stop := timer(wait)
	defer stop()
	select {
	case <-x.loaded:
	case <-x.retired:
	case <-a.over:
		switch {
		case a.failed != nil:
			return x.gone(target, "it cannot be loaded now: "+a.failed.Error(), a.failed)
		case x.session.ctx.Err() != nil:
			return x.gone(target, "the session was closed", ErrClosed)
		}
	case <-over:
		return x.busy(target, "it was being loaded for "+wait.String())
	case <-ctx.Done():
		return x.notCalled(ctx, target)
	case <-x.session.ctx.Done():
		return x.gone(target, "the session was closed", ErrClosed)
	}
	return x.moved(target)
}

// attempt is the load that is under way or has ended, and another where the last one may be followed by one.
func (x *extension) attempt() *attempt {
	x.mu.Lock()
	defer x.mu.Unlock()
	if a := x.loading; a != nil {
		select {
		case <-a.over:
			if a.failed == nil || time.Now().Before(a.again) {
				return a
			}
		default:
			return a
		}
	}
	a := &attempt{over: make(chan struct{})}
	x.loading = a
	x.session.spawn(func() {
		defer close(a.over)
		x.loadCurrent(a)
	})
	return a
}

// passing reports whether a load failed through the machine, and not through what is installed: for want of descriptors or
// memory, through a disk that does not answer, or one that this process may not read.
func passing(err error) bool {
	if errors.Is(err, install.ErrNotInstalled) {
		return false
	}
	return slices.ContainsFunc([]error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC, syscall.EIO, syscall.EACCES, syscall.EPERM, syscall.ELOOP, syscall.EAGAIN, syscall.EINTR,
	}, func(fault error) bool { return errors.Is(err, fault) })
}

// loadCurrent loads the generation that is current. Where that is another than the one that the
// session knows, the other takes its place: neither its schemas nor what it was granted
// need be the same.
func (x *extension) loadCurrent(a *attempt) {
	s := x.session
	p, err := s.host.load(s.ctx, x.name)
	switch {
	case s.ctx.Err() != nil:
		if p != nil {
			s.host.release(p)
		}
	case err != nil && passing(err):
		a.failed, a.again = err, time.Now().Add(loadPause)
		s.host.logger.Warn("load failed", "extension", x.name, "session", s.id, "error", err)
	case err != nil || filepath.Base(p.Dir) == x.generation:
		x.settle(p, err)
	default:
		next := s.newExtension(x.name, filepath.Base(p.Dir))
		next.record = p.Record
		next.settle(p, nil)
		s.replace(x, next)
	}
}

// release lets go of what the extension holds of the host. It may be called again.
func (x *extension) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.program != nil && !x.released {
		x.session.host.release(x.program)
	}
	x.released = true
}
