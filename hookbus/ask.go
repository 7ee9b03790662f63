package hookbus

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/loomext/loomext/host"
)

// slack is what a question may take beyond its two deadlines: the satellite's own grace
// for an honest "too late", and the end of one that did not heed it.
const slack = time.Second

// asks says whether there is anyone to ask.
func (b *Bus) asks(e event) bool { return len(b.declared[e]) > 0 && !b.closed.Load() }

// ask asks one extension and waits for its answer, which nobody has read yet.
func (b *Bus) ask(ctx context.Context, m *member, e event, document json.RawMessage) Fired {
	m.questionBegins()
	defer m.questionEnds()
	began := time.Now()
	m.tallies[e].asked(began)
	b.keeper.changed()
	f := Fired{Extension: m.name, Event: names[e], Document: document}
	// A notification that is being answered has its own deadline, and the question that
	// long to wait at least.
	wait := max(b.deadline[e], m.occupied())
	f.Answer, f.Err = b.session.Fire(ctx, host.Event{Extension: m.name, Name: names[e], Document: document, Limit: b.deadline[e], Wait: wait})
	f.Took = time.Since(began)
	return f
}

// settle counts an event that is over, and shows it. blocked is a verdict's.
func (b *Bus) settle(m *member, e event, f Fired, blocked bool) {
	m.tallies[e].over(f, blocked)
	b.keeper.changed()
	if f.Err != nil {
		code := "discarded"
		var fault *host.Error
		if errors.As(f.Err, &fault) {
			code = fault.Code
		}
		b.logger.Warn("no answer of use", "extension", m.name, "session", b.session.ID(), "event", f.Event, "code", code, "took", f.Took)
	}
	if b.watch != nil {
		b.watch(f)
	}
}

// discard is an answer that counts for nothing.
func (m *member) discard(e event, why string) error {
	return &Discarded{Extension: m.name, Event: names[e], Why: why}
}
