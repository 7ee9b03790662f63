package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loomext/loomext/install"
)

// Changes are the extensions of a session that are other than they were, by name.
type Changes struct {
	Added    []string // installed since
	Removed  []string // not installed any more
	Replaced []string // another generation of them is
}

// None reports whether nothing has changed.
func (c Changes) None() bool { return len(c.Added)+len(c.Removed)+len(c.Replaced) == 0 }

// errReplaced is the error of a caller in the queue of an extension that another
// generation took the place of. Whoever looked the extension up looks again.
var errReplaced = errors.New("replaced")

// Refresh makes the session one on what is installed now, and says what has changed since it
// was opened or last refreshed. Where nothing has, it reads a few links, and may be called
// many times a second. A session that was opened on names is refreshed in these alone;
// what it was lent in Loaded stays.
//
// No invocation is ended or waited for: one that is open ends on the generation that it
// began on, whose satellite is then closed. Callers that wait for it are answered by the
// new one, in no certain order, or fail as [Gone] where there is none. A new generation begins
// anew: with empty scratch, and with no strikes, so that an extension that was out takes part
// again.
//
// With an error nothing has changed.
func (s *Session) Refresh(ctx context.Context) (Changes, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(s.ctx, end)()
	select {
	case s.refresh <- struct{}{}:
		defer func() { <-s.refresh }()
	case <-ctx.Done():
		return Changes{}, s.unrefreshed(ctx.Err())
	}
	if !s.hold() {
		return Changes{}, s.unrefreshed(ErrClosed)
	}
	defer s.running.Done()
	generations, err := s.host.store.Generations()
	if err != nil {
		return Changes{}, s.unrefreshed(err)
	}
	steps, err := s.prepare(ctx, s.differing(generations))
	if err != nil {
		return Changes{}, s.unrefreshed(err)
	}
	return s.apply(steps), nil
}

// unrefreshed is the error of a refresh.
func (s *Session) unrefreshed(err error) error {
	if s.ctx.Err() != nil {
		err = ErrClosed
	}
	return fmt.Errorf("host: the session is as it was: %w", err)
}

// hold has Close wait until running.Done. It is false once the session is closing.
func (s *Session) hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.running.Add(1)
	return true
}

// step is one name whose generation is not the one that the session has.
type step struct {
	name, generation string // empty generation: none, or a link that names none
	installed        bool
	was, next        *extension // nil where it was not, or is no more, of the session
}

// differing are the names whose generation is another, sorted.
func (s *Session) differing(generations map[string]string) []step {
	var steps []step
	members := s.members()
	for _, x := range members {
		generation, installed := generations[x.name]
		if !x.lent && (generation != x.generation || installed == x.absent) {
			steps = append(steps, step{name: x.name, generation: generation, installed: installed, was: x})
		}
	}
	if s.all {
		for _, name := range slices.Sorted(maps.Keys(generations)) {
			if _, found := find(members, name); !found {
				steps = append(steps, step{name: name, generation: generations[name], installed: true})
			}
		}
	}
	return steps
}

// prepare takes in what is new. With an error it has let go of it again.
func (s *Session) prepare(ctx context.Context, steps []step) ([]step, error) {
	for i := range steps {
		one := &steps[i]
		switch {
		case one.installed:
			var err error
			if one.next, err = s.take(ctx, one.name, one.generation); err != nil {
				for _, taken := range steps[:i] {
					taken.drop()
				}
				return nil, err
			}
		case !s.all: // whoever asked for it by name may have no other gate
			one.next = s.without(one.was)
		}
	}
	return steps, nil
}

// drop lets go of what was taken in and has no place.
func (t step) drop() {
	if t.next != nil {
		t.next.release()
	}
}

// without is an extension that was removed from under a session that was opened on it: it is
// out, and declares what it declared.
func (s *Session) without(was *extension) *extension {
	x := s.newExtension(was.name, "")
	x.absent = true
	was.mu.Lock()
	x.events = was.events
	was.mu.Unlock()
	x.settle(nil, &install.Error{Layer: install.LayerRecord, Err: fmt.Errorf("it was removed: %s is %w", was.name, install.ErrNotInstalled)})
	return x
}

// apply puts the new in the place of the old, and tells what has changed.
func (s *Session) apply(steps []step) Changes {
	var changes Changes
	for _, t := range steps {
		if !s.swap(t.was, t.next) {
			t.drop() // the next refresh sees how it stands
			continue
		}
		switch {
		case t.was == nil || t.was.absent:
			changes.Added = append(changes.Added, t.name)
		case t.next == nil || t.next.absent:
			changes.Removed = append(changes.Removed, t.name)
		default:
			changes.Replaced = append(changes.Replaced, t.name)
		}
	}
	s.mu.Lock()
	replaced := s.replaced
	s.replaced = nil
	s.mu.Unlock()
	for _, name := range replaced {
		if !slices.Contains(changes.Removed, name) && !slices.Contains(changes.Added, name) {
			changes.Replaced = append(changes.Replaced, name)
		}
	}
	slices.Sort(changes.Replaced)
	changes.Replaced = slices.Compact(changes.Replaced)
	return changes
}

// replace is a swap that no refresh makes, and that the next one tells of.
func (s *Session) replace(was, next *extension) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.put(was, next) {
		next.release() // a refresh was first
		return
	}
	s.replaced = append(s.replaced, was.name)
}

func (s *Session) swap(was, next *extension) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(was, next)
}

// put puts one extension in the place of another, of the same name; nil is none. It is
// false where the other has lost that place already, or the session is closing. The lock is
// the caller's.
func (s *Session) put(was, next *extension) bool {
	name := cmp.Or(was, next).name
	at, found := find(s.extensions, name)
	if s.ctx.Err() != nil || found != (was != nil) || found && s.extensions[at] != was {
		return false
	}
	after := at
	if found {
		after++
	}
	var placed []*extension
	if next != nil {
		placed = []*extension{next}
	}
	s.extensions = slices.Concat(s.extensions[:at], placed, s.extensions[after:])
	if was != nil {
		was.removed = next == nil || next.absent
		s.retired[was] = struct{}{}
		close(was.retired)
		s.running.Go(was.retire)
	}
	if next != nil && s.ahead {
		s.running.Go(next.startAhead)
	}
	return true
}

// moved is the error of a caller whose extension has lost its place, or nil.
func (x *extension) moved(target string) error {
	select {
	case <-x.retired:
	default:
		return nil
	}
	if x.removed {
		return x.gone(target, "it was removed", install.ErrNotInstalled)
	}
	return errReplaced
}

// retire ends an extension that has lost its place, once what is open has ended.
func (x *extension) retire() {
	s := x.session
	select {
	case x.turn <- struct{}{}:
		defer x.leave() // to who notes the end of the satellite
	case <-s.ctx.Done():
		return // Close sees to it
	}
	x.mu.Lock()
	sat := x.satellite
	x.mu.Unlock()
	if sat != nil {
		why := "another generation of it was installed"
		if x.removed {
			why = "it was removed"
		}
		x.ended(sat, why, false)
		sat.Close()
	}
	x.release()
	s.mu.Lock()
	delete(s.retired, x)
	s.mu.Unlock()
}
