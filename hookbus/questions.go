package hookbus

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// Injection is a text that an extension adds to what a run begins with.
type Injection struct {
	Extension string
	Text      string // in its fence
}

// Note is a text that an extension adds to what the writer of a summary reads.
type Note struct {
	Extension string
	Text      string // in its fence
}

// BeforeAgentStart asks what a run should begin with. The injections are in load order,
// those of at most the allowance each; an extension that adds nothing has none.
func (b *Bus) BeforeAgentStart(ctx context.Context, r RunStart) []Injection {
	if !b.asks(beforeAgentStart) {
		return nil
	}
	var all []Injection
	for _, n := range b.gather(ctx, beforeAgentStart, "inject", r, func(tokens int) (string, bool) {
		return "the injection is longer than " + strconv.Itoa(b.allowance) + " tokens", tokens <= b.allowance
	}) {
		all = append(all, Injection(n))
	}
	return all
}

// BeforeCompact asks what the writer of a summary should know. The notes are in load
// order, and have at most the allowance together: one that does not fit into what those
// before it left is discarded. No answer can stop the compaction.
func (b *Bus) BeforeCompact(ctx context.Context, c Compaction) []Note {
	if !b.asks(beforeCompact) {
		return nil
	}
	left := b.allowance
	return b.gather(ctx, beforeCompact, "note", c, func(tokens int) (string, bool) {
		if tokens > left {
			return fmt.Sprintf("the note is longer than the %d tokens that are left of %d", left, b.allowance), false
		}
		left -= tokens
		return "", true
	})
}

// gather asks for texts to add. fits says of each, by its tokens, whether it may be, or
// why not.
func (b *Bus) gather(ctx context.Context, e event, field string, payload any, fits func(tokens int) (string, bool)) []Note {
	document, err := encoded(payload)
	if err != nil { // a struct of texts and integers has an encoding
		return nil
	}
	var notes []Note
	for i, f := range b.askAll(ctx, e, document) {
		m := b.declared[e][i]
		var text string
		if f.Err == nil {
			text, f.Err = m.text(e, f.Answer, field)
		}
		if f.Err == nil && text != "" {
			fenced := Fence(m.name, text)
			if why, ok := fits(b.tokens([]byte(fenced))); ok {
				notes = append(notes, Note{m.name, fenced})
			} else {
				f.Err = m.discard(e, why)
			}
		}
		b.settle(m, e, f, false)
	}
	return notes
}

// text is the string that an answer holds, or none where it holds null.
func (m *member) text(e event, answer json.RawMessage, field string) (string, error) {
	value, ok := find(answer, field)
	if !ok {
		return "", m.discard(e, "it is not an object with one "+field)
	}
	raw := value.of(answer)
	if string(raw) == "null" {
		return "", nil
	}
	text, ok := unquoted(raw)
	if !ok {
		return "", m.discard(e, field+" is neither a string nor null")
	}
	return text, nil
}
