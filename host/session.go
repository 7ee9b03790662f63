package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/record"
	"github.com/loomext/loomext/satellite"
)

// SessionOptions are what one session is opened on.
type SessionOptions struct {
	// ID names the session in logs and with artifacts: up to 64 of the letters, digits
	// and -_ . Empty mints one.
	ID string
	// Extensions are the names of installed extensions. None is all that is
	// installed, unless Loaded has some.
	Extensions []string
	// Loaded are extensions that the caller has loaded with their images. They stay
	// the caller's, to be closed after the session.
	Loaded []*install.Installed
	// Ahead starts every satellite at once, in the background, so that a first call
	// does not wait. Otherwise a satellite starts with its first call.
	Ahead bool
	// Lazy opens on the records of the installed extensions alone: a record is held against
	// its digest, and all else is checked when an extension is first used. What fails
	// then puts the extension out, as an opening would, unless it fails through the machine
	// alone: then the next call tries again.
	Lazy bool
	// Workspace is the directory whose files the extensions work on, as far as each was
	// granted it. Empty is none: what they ask of files and commands is denied.
	Workspace string
	// Record, if not nil, takes every invocation and every effect of the session. One that lies in
	// the workspace is refused as [ErrRecordInWorkspace]. It stays the caller's, to be closed after the session. An invocation that cannot be recorded is
	// not made, and fails with kind [Unrecorded].
	Record *record.Writer
}

// maxSessionID keeps a session's name short enough for a log line.
const maxSessionID = 64

// Session is one run of a harness, with its own satellites and its own scratch. Its
// methods may be called from many goroutines.
type Session struct {
	host    *Host
	id      string
	lazy    bool
	ahead   bool
	record  *record.Session // nil: there is none
	work    *workroom       // nil: there is none
	all     bool            // it is on whatever is installed
	ctx     context.Context // ends with the session
	end     context.CancelFunc
	closing sync.Once
	closed  chan struct{} // when nothing is left
	refresh chan struct{} // one place, for who refreshes

	running sync.WaitGroup // satellites that are watched, and those that start

	mu         sync.Mutex              // guards the start of what runs, and what follows
	extensions []*extension            // by name; a change makes another slice
	retired    map[*extension]struct{} // replaced or removed, and still answering
	replaced   []string                // since the last Refresh, by a load
}

// Open gives a session on extensions, and loads them unless it is lazy. An extension that
// is refused, because it is not installed, was tampered with or cannot be sealed, is
// in [Session.Status] with its reason. ctx is that of the opening; the session
// lives until [Session.Close].
func (h *Host) Open(ctx context.Context, o SessionOptions) (*Session, error) {
	if o.ID == "" {
		o.ID = strings.ToLower(rand.Text()[:12])
	} else if !isSessionID(o.ID) {
		return nil, fmt.Errorf("host: %q is no name of a session; use up to %d letters, digits, - and _", o.ID, maxSessionID)
	}
	if err := once(o); err != nil {
		return nil, err
	}
	s := &Session{
		host: h, id: o.ID, lazy: o.Lazy, ahead: o.Ahead, all: len(o.Extensions)+len(o.Loaded) == 0,
		closed: make(chan struct{}), refresh: make(chan struct{}, 1), retired: map[*extension]struct{}{},
	}
	var err error
	if s.work, err = h.openWorkroom(o.Workspace, o.Record); err != nil {
		return nil, err
	}
	if o.Record != nil {
		if s.record, err = o.Record.Session(s.id, Version()); err != nil {
			s.work.close()
			return nil, err
		}
	}
	s.ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if s.extensions, err = s.first(ctx, o.Extensions); err != nil {
		s.abandon()
		return nil, err
	}
	for _, installed := range o.Loaded {
		s.extensions = append(s.extensions, s.lent(installed))
	}
	slices.SortFunc(s.extensions, byName)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		s.abandon()
		return nil, fmt.Errorf("host: %w", ErrClosed)
	}
	h.sessions[s] = struct{}{}
	h.mu.Unlock()
	if o.Ahead {
		s.Start()
	}
	return s, nil
}

// abandon lets go of what an opening that failed had loaded.
func (s *Session) abandon() {
	s.end()
	for _, x := range s.extensions {
		x.release()
	}
	s.work.close()
	s.endRecord()
}

// endRecord notes the end of the session in its record, where there is one.
func (s *Session) endRecord() {
	if s.record == nil {
		return
	}
	if err := s.record.End(); err != nil {
		s.host.logger.Warn("the record of a session has no end", "session", s.id, "error", err)
	}
}

func isSessionID(id string) bool {
	return len(id) <= maxSessionID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// ID is the session's name in logs and with artifacts.
func (s *Session) ID() string { return s.id }

// Home is the directory that the host was made on.
func (s *Session) Home() string { return s.host.home }

// Config is the operator's configuration, as the host was made with it. It is shared,
// and not to be changed.
func (s *Session) Config() config.Config { return s.host.config }

// Start starts the satellites of those extensions that are not running, in the background;
// without a name those of all. An extension that was not loaded yet is loaded for that. A name
// that is not in the session is passed over.
func (s *Session) Start(names ...string) {
	for _, x := range s.members() {
		if len(names) == 0 || slices.Contains(names, x.name) {
			s.spawn(x.startAhead)
		}
	}
}

// Begin starts the satellite of one extension that has had none in this session, and
// gives what its session_start answered. Where it has had one, or one is being
// started, it was told by the host, and Begin is false without an error. The event's
// Name and Document are not read.
func (s *Session) Begin(ctx context.Context, e Event) (answer json.RawMessage, began bool, err error) {
	for {
		x := s.extension(e.Extension)
		if x == nil {
			return nil, false, unknown(e.Extension, eventSessionStart)
		}
		if answer, began, err = x.begin(ctx, e); !errors.Is(err, errReplaced) {
			return answer, began, err
		}
	}
}

func (x *extension) begin(ctx context.Context, e Event) (answer json.RawMessage, began bool, err error) {
	if x.wasStarted() {
		return nil, false, nil
	}
	given := x.allow(cmp.Or(e.Limit, HookTimeout), e.Timeout, e.Wait)
	given.asker, given.output = e.Ask, e.Output
	if err := x.load(ctx, eventSessionStart, given.start()); err != nil {
		return nil, false, err
	}
	if err := x.enter(ctx, eventSessionStart, e.Wait); err != nil {
		return nil, false, err
	}
	if x.wasStarted() {
		x.leave()
		return nil, false, nil
	}
	call := satellite.EventCall(eventSessionStart, []byte("{}"))
	sat, err := x.ready(ctx, call, given.start())
	if err != nil {
		return nil, false, err
	}
	v, fault := x.ask(ctx, sat, call, given, e.Report)
	x.leave()
	if fault != nil {
		return nil, true, fault
	}
	if answer, err = satellite.Document(v); err != nil {
		return nil, true, x.misshapen(eventSessionStart, err)
	}
	return answer, true, nil
}

func (x *extension) wasStarted() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.starts > 0
}

// spawn runs something that Close waits for. It is false, and nothing runs, once the
// session is closing.
func (s *Session) spawn(run func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.running.Go(run)
	return true
}

// Close ends the session: calls that are open end as cancelled, those that wait as
// gone, and all of its satellites exit or are killed. It returns when nothing of
// the session is left; calling it again is harmless.
func (s *Session) Close() {
	s.closing.Do(func() {
		s.mu.Lock()
		s.end()
		s.mu.Unlock()
		var satellites sync.WaitGroup
		for _, x := range s.everyone() {
			satellites.Go(x.close)
		}
		satellites.Wait()
		s.running.Wait()
		for _, x := range s.everyone() {
			x.release()
		}
		s.work.close()
		s.endRecord()
		s.host.mu.Lock()
		delete(s.host.sessions, s)
		s.host.mu.Unlock()
		close(s.closed)
	})
	<-s.closed
}

// members are the extensions of the session as they are now. The slice is not changed.
func (s *Session) members() []*extension {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.extensions
}

// everyone is the members, and those that were and have not ended.
func (s *Session) everyone() []*extension {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.AppendSeq(slices.Clone(s.extensions), maps.Keys(s.retired))
}

// Status is how every extension of the session stands, by name.
func (s *Session) Status() []Status {
	members := s.members()
	all := make([]Status, len(members))
	for i, x := range members {
		all[i] = x.status()
	}
	return all
}

// Tool is a tool as a harness offers it to a model.
type Tool struct {
	Extension     string
	Name          string
	Description   string
	PromptSnippet string          // one line for the harness's own prompt
	Schema        json.RawMessage // of the arguments, JSON Schema 2020-12
	Timeout       time.Duration   // of one call, after the operator's ceiling
}

// separator joins an extension's and a tool's name. Neither can hold it.
const separator = "__"

// QualifiedName is one name for the tool, unique among those of all extensions and
// at most 50 bytes long: "units__convert".
func (t Tool) QualifiedName() string { return t.Extension + separator + t.Name }

// SplitName is the extension and the tool of a [Tool.QualifiedName].
func SplitName(qualified string) (extension, tool string, ok bool) {
	return strings.Cut(qualified, separator)
}

// Tools are the tools of all extensions that are not out, by extension and name.
// They come from the records: nothing is started for them.
func (s *Session) Tools() []Tool {
	var tools []Tool
	for _, x := range s.members() {
		if x.isOut() {
			continue
		}
		for _, t := range x.record.Tools {
			tools = append(tools, Tool{
				Extension: x.name, Name: t.Name, Description: t.Description, PromptSnippet: t.PromptSnippet,
				Schema: slices.Clone(t.Schema), Timeout: x.ceiling(time.Duration(t.TimeoutMS) * time.Millisecond),
			})
		}
	}
	return tools
}

// Records are the records of the extensions that are not out, by name: what was approved,
// by the generation that a call would reach. They are shared, and not to be changed.
func (s *Session) Records() []install.Record {
	var records []install.Record
	for _, x := range s.members() {
		if !x.isOut() {
			records = append(records, x.record)
		}
	}
	return records
}

// Hooks are the names of the extensions that declare a hook for an event, sorted.
// Those that are out are among them: a gate that cannot be asked has not allowed
// anything, and [Session.Fire] says so.
func (s *Session) Hooks(event string) []string {
	var names []string
	for _, x := range s.members() {
		if x.hooks(event) {
			names = append(names, x.name)
		}
	}
	return names
}

// extension finds one by name.
func (s *Session) extension(name string) *extension {
	members := s.members()
	if at, found := find(members, name); found {
		return members[at]
	}
	return nil
}

func byName(a, b *extension) int { return cmp.Compare(a.name, b.name) }

// find is where a name is among extensions, or belongs.
func find(members []*extension, name string) (at int, found bool) {
	return slices.BinarySearchFunc(members, name, func(x *extension, name string) int { return cmp.Compare(x.name, name) })
}
