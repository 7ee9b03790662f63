package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/install"
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
}

// maxSessionID keeps a session's name short enough for a log line.
const maxSessionID = 64

// Session is one run of a harness, with its own satellites and its own scratch. Its
// methods may be called from many goroutines.
type Session struct {
	host       *Host
	id         string
	ctx        context.Context // ends with the session
	end        context.CancelFunc
	extensions []*extension // by name
	closing    sync.Once
	closed     chan struct{} // when nothing is left

	mu      sync.Mutex     // guards the start of what runs
	running sync.WaitGroup // satellites that are watched, and those that start
}

// Open loads the extensions and gives a session on them. An extension that is
// refused, because it is not installed, was tampered with or cannot be sealed, is
// in [Session.Status] with its reason. ctx is that of the opening; the session
// lives until [Session.Close].
func (h *Host) Open(ctx context.Context, o SessionOptions) (*Session, error) {
	if o.ID == "" {
		o.ID = strings.ToLower(rand.Text()[:12])
	} else if !isSessionID(o.ID) {
		return nil, fmt.Errorf("host: %q is no name of a session; use up to %d letters, digits, - and _", o.ID, maxSessionID)
	}
	names, err := h.names(o)
	if err != nil {
		return nil, err
	}
	s := &Session{host: h, id: o.ID, closed: make(chan struct{})}
	s.ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, name := range names {
		p, err := h.load(ctx, name)
		if ctx.Err() != nil {
			err = ctx.Err()
			s.abandon(p)
			return nil, err
		}
		s.extensions = append(s.extensions, s.newExtension(name, p, err))
	}
	for _, installed := range o.Loaded {
		s.extensions = append(s.extensions, s.newExtension(installed.Record.Name, &program{Installed: installed}, nil))
	}
	slices.SortFunc(s.extensions, func(a, b *extension) int { return cmp.Compare(a.name, b.name) })
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		s.abandon(nil)
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
func (s *Session) abandon(last *program) {
	s.end()
	if last != nil {
		s.host.release(last)
	}
	for _, x := range s.extensions {
		x.release()
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

// Start starts every satellite that is not running, in the background.
func (s *Session) Start() {
	for _, x := range s.extensions {
		if x.program != nil {
			s.spawn(x.startAhead)
		}
	}
}

// Begin starts the satellite of one extension that has had none in this session, and
// gives what its session_start answered. Where it has had one, or one is being
// started, it was told by the host, and Begin is false without an error. The event's
// Name and Document are not read.
func (s *Session) Begin(ctx context.Context, e Event) (answer json.RawMessage, began bool, err error) {
	x := s.extension(e.Extension)
	if x == nil {
		return nil, false, unknown(e.Extension, eventSessionStart)
	}
	if x.wasStarted() {
		return nil, false, nil
	}
	if err := x.enter(ctx, eventSessionStart, e.Wait); err != nil {
		return nil, false, err
	}
	if x.wasStarted() {
		x.leave()
		return nil, false, nil
	}
	call := satellite.EventCall(eventSessionStart, []byte("{}"))
	given := x.allow(cmp.Or(e.Limit, HookTimeout), e.Timeout, e.Wait)
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
		for _, x := range s.extensions {
			satellites.Go(x.close)
		}
		satellites.Wait()
		s.running.Wait()
		for _, x := range s.extensions {
			x.release()
		}
		s.host.mu.Lock()
		delete(s.host.sessions, s)
		s.host.mu.Unlock()
		close(s.closed)
	})
	<-s.closed
}

// Status is how every extension of the session stands, by name.
func (s *Session) Status() []Status {
	all := make([]Status, len(s.extensions))
	for i, x := range s.extensions {
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
	for _, x := range s.extensions {
		if x.status().State == StateOut {
			continue
		}
		for _, t := range x.program.Record.Tools {
			tools = append(tools, Tool{
				Extension: x.name, Name: t.Name, Description: t.Description, PromptSnippet: t.PromptSnippet,
				Schema: slices.Clone(t.Schema), Timeout: x.ceiling(time.Duration(t.TimeoutMS) * time.Millisecond),
			})
		}
	}
	return tools
}

// Hooks are the names of the extensions that declare a hook for an event, sorted.
// Those that are out are among them: a gate that cannot be asked has not allowed
// anything, and [Session.Fire] says so.
func (s *Session) Hooks(event string) []string {
	var names []string
	for _, x := range s.extensions {
		if x.hooks(event) {
			names = append(names, x.name)
		}
	}
	return names
}

// extension finds one by name.
func (s *Session) extension(name string) *extension {
	at, found := slices.BinarySearchFunc(s.extensions, name, func(x *extension, name string) int { return cmp.Compare(x.name, name) })
	if !found {
		return nil
	}
	return s.extensions[at]
}
