package broker

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/loomext/loomext/broker/artifact"
	"github.com/loomext/loomext/internal/wire"
)

// The name and the content type that make a report a partial: a line of progress, shown and not kept.
const (
	partialName = "partial"
	partialType = "text/plain"
)

// The ceilings on what one invocation reports.
const (
	// maxPartial is the size of one partial, in bytes: a screen of text.
	maxPartial = 64 << 10
	// maxPartials is how many there may be: ten a second for the longest call a manifest may declare.
	maxPartials = 6_000
	// maxPartialBytes is what they may have together: more than anybody reads.
	maxPartialBytes = 4 << 20
	// maxArtifacts is how many artifacts one invocation may leave, each a file for somebody to look at.
	maxArtifacts = 64
	// maxArtifactBytes is what they may have together: a quarter of what a store keeps for one extension.
	maxArtifactBytes = 64 << 20
)

// Report is something that an extension shows while it answers. Data aliases a frame: it may be kept, not changed.
type Report struct {
	Name, ContentType string
	Data              []byte
	ID                string // of the artifact; empty for a partial, whose name is "partial" and whose type "text/plain"
}

// reports counts what one invocation has reported. Its lock is held while a report is handed over, which keeps them in
// order.
type reports struct {
	mu                  sync.Mutex
	partials, artifacts meter
}

// meter counts pieces and their bytes.
type meter struct{ count, bytes int }

func (m *meter) spend(what string, size, count, bytes int) *refusal {
	switch {
	case m.count >= count:
		return policy("this invocation has reported " + strconv.Itoa(count) + " " + what + ", and more it may not; report less often")
	case m.bytes+size > bytes:
		return policy("the " + what + " of this invocation would have more than " + strconv.Itoa(bytes>>20) + " MiB together; report less")
	}
	m.count++
	m.bytes += size
	return nil
}

func (i *Invocation) reportEmit(_ context.Context, a *arguments) (wire.Value, *refusal) {
	r := Report{Name: a.text("name"), ContentType: a.text("content_type"), Data: a.bytes("bytes")}
	if refused := a.refused(); refused != nil {
		return wire.Value{}, refused
	}
	if refused := line("name", r.Name, artifact.MaxName); refused != nil {
		return wire.Value{}, refused
	}
	if refused := line("content_type", r.ContentType, artifact.MaxContentType); refused != nil {
		return wire.Value{}, refused
	}
	i.reports.mu.Lock()
	defer i.reports.mu.Unlock()
	take := i.keep
	if r.Name == partialName && r.ContentType == partialType {
		take = i.show
	}
	id, refused := take(r)
	if refused != nil {
		return wire.Value{}, refused
	}
	return wire.Map(wire.Field{Key: "id", Value: wire.String(id)}), nil
}

// show hands a partial over. Its id names nothing but its place.
func (i *Invocation) show(r Report) (string, *refusal) {
	if len(r.Data) > maxPartial {
		return "", tooLarge("a partial", len(r.Data), maxPartial)
	}
	if refused := i.reports.partials.spend("partials", len(r.Data), maxPartials, maxPartialBytes); refused != nil {
		return "", refused
	}
	i.emit(r)
	return "report-" + strconv.Itoa(i.reports.partials.count), nil
}

// keep puts an artifact into the store and hands it over.
func (i *Invocation) keep(r Report) (string, *refusal) {
	store := i.scope.broker.artifacts
	if store == nil {
		return "", &refusal{wire.CodeUnavailable, "this host keeps no artifacts; return the data in the answer"}
	}
	if len(r.Data) > artifact.MaxData {
		return "", tooLarge("an artifact", len(r.Data), artifact.MaxData)
	}
	if refused := i.reports.artifacts.spend("artifacts", len(r.Data), maxArtifacts, maxArtifactBytes); refused != nil {
		return "", refused
	}
	kept, err := store.Put(artifact.Meta{
		Extension: i.scope.terms.Extension, Session: i.scope.session, Name: r.Name, ContentType: r.ContentType,
	}, r.Data)
	if err != nil {
		return "", i.notKept(err)
	}
	r.ID = kept.ID
	i.emit(r)
	return kept.ID, nil
}

// notKept is the refusal of an artifact that the store did not take. What is wrong with the disk is the operator's to
// know, with its paths.
func (i *Invocation) notKept(err error) *refusal {
	e, ok := errors.AsType[*artifact.Error](err)
	if ok && e.Kind == artifact.Full {
		return policy(err.Error())
	}
	if ok && e.Err != nil {
		err = e.Err
	}
	i.scope.broker.log.Warn("an artifact was not kept", "extension", i.scope.terms.Extension, "error", err)
	return &refusal{wire.CodeUnavailable, "the host could not keep the artifact; return the data in the answer"}
}

// line judges a text that people and other programs will read as one.
func line(what, text string, most int) *refusal {
	switch {
	case text == "":
		return invalid(what + " is empty; say what it is")
	case len(text) > most:
		return tooLarge(what, len(text), most)
	case !artifact.Plain(text):
		return invalid(what + " holds a control or format character; leave it out")
	}
	return nil
}
