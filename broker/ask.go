package broker

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/loomext/loomext/internal/wire"
)

// The ceilings on what one invocation asks. Each question takes somebody's time or a model's.
const (
	// maxAsks is how often an invocation may ask: a form that leads from page to page. A tool that needs more is no tool.
	maxAsks = 8
	// maxAskRequests is how much one call asks at once: more forms than anybody fills in together.
	maxAskRequests = 8
	// maxAskKey is the length of a key, in bytes: it is a name, and no place for data.
	maxAskKey = 64
	// maxAskParams is the size of one request, in bytes of JSON: a long form, or a page for the model to read.
	maxAskParams = 64 << 10
	// maxAskAnswers is what the answers of one call may have together, in bytes: eight long texts of a model.
	maxAskAnswers = 1 << 20
	// maxAskReason is how much an extension hears of why it has no answer, in bytes: a sentence.
	maxAskReason = 512
)

// AskRequest is one thing that an extension asks whoever runs the agent.
type AskRequest struct {
	// Key names the request: [a-z][a-z0-9_]*, at most 64 bytes. Of what one invocation has asked and had answered, each
	// has another.
	Key string
	// Kind is AskUser, AskModel or AskRoots.
	Kind string
	// Params are a JSON object of at most a few hundred KiB, with the fields that docs/wire.md gives the kind, each of its
	// type and once. What the texts say, and the schema of a form, are the extension's: foreign.
	Params json.RawMessage
}

// Asker gets the answers to what an extension asks, one JSON document for each request and in their order, of the shapes
// that docs/wire.md gives the kinds; together they have at most 1 MiB. It may wait for people, and returns soon after ctx
// ends, with which the call ends as cancelled or out of time. Any other error means that there is no answer: the extension
// is told its text, shortened to one line, as unavailable. It is called from many goroutines where an invocation asks
// several things at once.
type Asker func(ctx context.Context, requests []AskRequest) ([]json.RawMessage, error)

// asks is what one invocation has asked.
type asks struct {
	mu    sync.Mutex
	count int
	keys  map[string]bool // answered, or being asked
}

// open begins one call. Without an answer, its keys may be used again.
func (s *asks) open(requests []AskRequest) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count >= maxAsks {
		return policy("this invocation has asked " + strconv.Itoa(maxAsks) + " times, and more it may not; ask several things at once")
	}
	for n, r := range requests {
		if s.keys[r.Key] {
			return invalid(askPlace(n) + ".key is " + quoted(r.Key) + ", under which this invocation has asked before; give it another")
		}
	}
	s.count++
	if s.keys == nil {
		s.keys = make(map[string]bool)
	}
	for _, r := range requests {
		s.keys[r.Key] = true
	}
	return nil
}

func (s *asks) forget(requests []AskRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range requests {
		delete(s.keys, r.Key)
	}
}

func (i *Invocation) askInput(ctx context.Context, a *arguments) (wire.Value, *refusal) {
	requests, refused := askRequests(a)
	if refused != nil {
		return wire.Value{}, refused
	}
	if i.asker == nil {
		return wire.Value{}, unavailable("nobody can be asked here; do without an answer")
	}
	if refused := i.asks.open(requests); refused != nil {
		return wire.Value{}, refused
	}
	answers, refused := i.ask(ctx, requests)
	if refused != nil {
		i.asks.forget(requests)
		return wire.Value{}, refused
	}
	return wire.Map(wire.Field{Key: "answers", Value: wire.List(answers...)}), nil
}

// ask has the requests answered and judges the answers, which come from outside as well.
func (i *Invocation) ask(ctx context.Context, requests []AskRequest) ([]wire.Value, *refusal) {
	answers, err := i.asker(ctx, requests)
	if err != nil {
		if refused := over(ctx, "ask.input"); refused != nil {
			return nil, refused
		}
		return nil, unavailable(askReason(err))
	}
	if len(answers) != len(requests) {
		return nil, unavailable(strconv.Itoa(len(answers)) + " answers came to " + strconv.Itoa(len(requests)) + " requests")
	}
	values, size := make([]wire.Value, 0, len(answers)), 0
	for n, answer := range answers {
		if size += len(answer); size > maxAskAnswers {
			return nil, unavailable("the answers have more than " + strconv.Itoa(maxAskAnswers>>20) + " MiB together; ask for less")
		}
		if !json.Valid(answer) || !utf8.Valid(answer) {
			return nil, unavailable("what came for " + quoted(requests[n].Key) + " is no JSON")
		}
		values = append(values, wire.Text(answer))
	}
	return values, nil
}

// askReason is an asker's error as an extension hears it: one short line, whatever text it is.
func askReason(err error) string {
	line := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(err.Error(), "?"))
	line = strings.TrimSpace(line)
	if line == "" {
		return "there was no answer"
	}
	if len(line) > maxAskReason {
		line = strings.ToValidUTF8(line[:maxAskReason], "") + "…" // a rune that was cut in two
	}
	return line
}
