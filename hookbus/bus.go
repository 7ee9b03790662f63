// Package hookbus carries the moments of an agent's life to a session's extensions,
// and makes one answer of theirs.
//
//	bus := hookbus.New(session, hookbus.Options{})
//	defer bus.Close() // before the session
//	if v := bus.ToolCall(ctx, call); !v.Allowed {
//		return v.Reply() // for the model
//	}
//
// A [Bus] has one method for each event. Some only tell ([Bus.AgentEnd]): they return
// at once, and what they tell is queued for each extension. Some ask
// ([Bus.BeforeAgentStart], [Bus.ToolCall], [Bus.BeforeCompact]): all extensions that
// declare the event, at once, and their answers come in load order. Two hand something
// on ([Bus.Context], [Bus.ToolResult]): from one extension to the next, in load order.
//
// The package decides no moment and knows no message: when to fire what, and what
// becomes of a conversation, is the harness's. It starts no process; that is the
// session's. It holds no authority: what a hook may do is the broker's to judge.
//
// Invariants:
//
//   - An extension is asked only what its record declares. An event that none declares
//     costs a comparison.
//   - No method fails, and none outlasts its deadlines. An extension that gives no
//     answer is counted and shown in [Bus.Status], and asked again the next time.
//   - A gate that gives no verdict blocks, unless the operator set it open.
//   - Whatever an extension says stands under a name that the bus wrote: it can neither
//     forge one nor leave its fence.
//   - No extension sees or changes the harness's own messages, but copies, and what it
//     does not change comes back byte for byte.
//   - A notification never keeps a question waiting, but for the one that its extension
//     is answering.
//   - What a bus leaves of itself in the host's home is how things stand, in one file of
//     [StatusDir]. Nothing waits for it, and nothing fails where it cannot be written.
package hookbus

import (
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomext/loomext/host"
)

const (
	// DefaultDeadline is what a hook has to answer in, where the operator says nothing
	// else: an agent stands still meanwhile.
	DefaultDeadline = 5 * time.Second
	// DefaultAllowance is how many tokens a transform of the context may add: two pages
	// of text, where a conversation has hundreds.
	DefaultAllowance = 2000
	// bytesPerToken is the estimate of the bus: that of English and of code.
	bytesPerToken = 4
)

// Gate is what becomes of a tool call whose gate gives no verdict.
type Gate string

// The settings of a gate. The zero value, and any other, is Closed.
const (
	Closed Gate = "closed" // it is blocked
	Open   Gate = "open"   // it goes through
)

// Options say how a bus differs from what the operator's configuration and the defaults
// make of it. The zero value is those.
type Options struct {
	// Order is the load order: these names first, then the others by name. Names that
	// the session does not have are passed over. Nil is the operator's.
	Order []string
	// Deadline is what an answer may take, by event. An event without one has the
	// operator's, else the [DefaultDeadline]; more than [host.HookTimeout] is that. As
	// long again may pass before the extension is asked.
	Deadline map[string]time.Duration
	// Gate is by extension. One without it has the operator's, else Closed.
	Gate map[string]Gate
	// Allowance is how many tokens a transform may add to the context, and an injection
	// may have, and all notes of one compaction together. 0 is the [DefaultAllowance].
	Allowance int
	// Tokens estimates the tokens of a text, which may be JSON. Nil is a fourth of its
	// bytes. It may be called from several goroutines.
	Tokens func(text []byte) int
	// Logger is told of every answer that counts for nothing and of every notification
	// that is dropped, by names and codes alone. Nil logs nothing.
	Logger *slog.Logger
	// Watch, if not nil, is shown every event that an extension was asked or told, when
	// it is over; those of one question in load order. It is called on the goroutine of
	// the caller or of a queue, so from several at once: it must not block, nor call
	// the bus.
	Watch func(Fired)
}

// Fired is one event at one extension, as it went.
type Fired struct {
	Extension, Event string
	Document         json.RawMessage // what it was told
	Answer           json.RawMessage // as it came; nil where none did
	// Err is why the answer counts for nothing: a [*host.Error] where there was none,
	// else a [*Discarded].
	Err  error
	Took time.Duration // the queue included
}

// Discarded is why an answer counts for nothing.
type Discarded struct {
	Extension, Event string
	Why              string // one sentence, of the bus's own words
}

func (d *Discarded) Error() string {
	return "hookbus: " + d.Extension + ": the answer to " + d.Event + " is discarded: " + d.Why
}

// Bus carries events to the extensions of one session. Its methods may be called from
// many goroutines. It does not own the session.
type Bus struct {
	session   *host.Session
	members   []*member         // in load order
	declared  [events][]*member // those that declare an event, in load order
	deadline  [events]time.Duration
	allowance int
	tokens    func([]byte) int
	logger    *slog.Logger
	watch     func(Fired)

	rounds   rounds
	keeper   *keeper
	closed   atomic.Bool
	closing  chan struct{}
	deliver  sync.WaitGroup // the queues that are being delivered
	shutdown sync.Once
}

// New makes a bus over the extensions of a session, those that are out among them. It
// starts nothing.
func New(s *host.Session, o Options) *Bus {
	operator := s.Config()
	b := &Bus{session: s, allowance: o.Allowance, tokens: o.Tokens, logger: o.Logger, watch: o.Watch, closing: make(chan struct{})}
	if b.allowance <= 0 {
		b.allowance = DefaultAllowance
	}
	if b.tokens == nil {
		b.tokens = func(text []byte) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }
	}
	if b.logger == nil {
		b.logger = slog.New(slog.DiscardHandler)
	}
	for e, name := range names {
		b.deadline[e] = DefaultDeadline
		if d := operator.Hooks.Deadline[name]; d > 0 {
			b.deadline[e] = d
		}
		if d := o.Deadline[name]; d > 0 {
			b.deadline[e] = d
		}
		b.deadline[e] = min(b.deadline[e], host.HookTimeout)
	}
	order := o.Order
	if order == nil {
		order = operator.Hooks.Order
	}
	for _, name := range ordered(s, order) {
		gate, set := o.Gate[name]
		if !set {
			gate = Gate(operator.Extensions[name].Gate)
		}
		b.members = append(b.members, newMember(b, name, gate))
	}
	for e, name := range names {
		declaring := s.Hooks(name)
		for _, m := range b.members {
			if slices.Contains(declaring, m.name) {
				m.tallies[e] = &tally{}
				b.declared[e] = append(b.declared[e], m)
			}
		}
	}
	b.keeper = newKeeper(b)
	return b
}

// ordered is the names of a session's extensions, in load order.
func ordered(s *host.Session, order []string) []string {
	var rest, first []string
	for _, status := range s.Status() { // by name
		rest = append(rest, status.Name)
	}
	for _, name := range order {
		if at := slices.Index(rest, name); at >= 0 {
			first, rest = append(first, name), slices.Delete(rest, at, at+1)
		}
	}
	return append(first, rest...)
}

// Close ends the bus: what waits in a queue is not delivered, and it returns when what
// is being delivered has its answer or is past its deadline. After it questions are not
// asked: gates block, and everything else comes back as it came. Calling it again is
// harmless. Close the bus before its session, or the last notifications are lost in it.
func (b *Bus) Close() {
	b.shutdown.Do(func() {
		b.closed.Store(true)
		close(b.closing)
		for _, m := range b.members {
			m.close()
		}
	})
	b.deliver.Wait()
	b.keeper.close()
}

// member is one extension on a bus.
type member struct {
	bus     *Bus
	name    string
	gate    Gate
	tallies [events]*tally // nil where it does not declare the event
	queue
}

func newMember(b *Bus, name string, gate Gate) *member {
	if gate != Open {
		gate = Closed
	}
	m := &member{bus: b, name: name, gate: gate}
	m.free = sync.NewCond(&m.mu)
	return m
}
