package hookbus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Context hands the messages that are about to go to the model through the extensions,
// each of which may change, add and remove some, and gives what came out. An answer
// that is none, or that adds more than the allowance, is discarded, and the next
// extension is handed what this one was.
//
// Messages are opaque JSON. What is given is never changed, and what no extension
// changed comes back byte for byte. Where no extension declares the event, messages
// itself comes back, and so it does where one of them is no JSON.
func (b *Bus) Context(ctx context.Context, opID string, messages []json.RawMessage) []json.RawMessage {
	if !b.asks(contextEvent) {
		return messages
	}
	fold, ok := newFold(opID, messages)
	if !ok {
		b.logger.Error("the harness's messages are not JSON, so no extension sees them", "session", b.session.ID())
		return messages
	}
	for _, m := range b.declared[contextEvent] {
		f := b.ask(ctx, m, contextEvent, fold.document)
		if f.Err == nil {
			f.Err = b.take(fold, m, f.Answer)
		}
		b.settle(m, contextEvent, f, false)
	}
	return fold.messages()
}

// fold is a list of messages on its way through the extensions.
type fold struct {
	given    []json.RawMessage
	head     int             // where the list begins in the document
	document json.RawMessage // of the event; the list ends before its last byte
	changed  bool
}

const (
	contextTail   = `,"messages":`
	messagesField = "messages"
)

// isText says whether a document is JSON, and text that a frame carries unchanged.
func isText(document []byte) bool { return utf8.Valid(document) && json.Valid(document) }

func newFold(opID string, messages []json.RawMessage) (*fold, bool) {
	size := len(`{"op_id":[]}`) + len(contextTail) + len(opID) + 2
	for _, message := range messages {
		size += len(message) + 1
	}
	d := append(make([]byte, 0, size), `{"op_id":`...)
	d = append(appendQuoted(d, opID), contextTail...)
	f := &fold{given: messages, head: len(d)}
	d = append(d, '[')
	for i, message := range messages {
		if !utf8.Valid(message) {
			return nil, false
		}
		if i > 0 {
			d = append(d, ',')
		}
		d = append(d, trimmed(message)...)
	}
	f.document = append(d, "]}"...)
	// Each message has to be one element of the list: one that closes it and opens
	// another would be heard as two. That each is JSON is the session's to check.
	i := 0
	for at := range elements(f.list()) {
		if i == len(messages) || at.to-at.from != len(trimmed(messages[i])) {
			return nil, false
		}
		i++
	}
	return f, i == len(messages)
}

// list is the messages as they stand.
func (f *fold) list() []byte { return f.document[f.head : len(f.document)-1] }

// put makes another list of the fold's.
func (f *fold) put(list []byte) {
	d := append(make([]byte, 0, f.head+len(list)+1), f.document[:f.head]...)
	f.document = append(append(d, list...), '}')
	f.changed = true
}

// messages is what came out. Nothing of it is shared with what was given.
func (f *fold) messages() []json.RawMessage {
	list := f.list()
	out := make([]json.RawMessage, 0, len(f.given))
	for at := range elements(list) {
		out = append(out, at.of(list))
	}
	// What had space around it, and was not changed, has it again.
	at := 0
	for _, message := range f.given {
		bare := trimmed(message)
		for i := at; i < len(out); i++ {
			if !bytes.Equal(out[i], bare) {
				continue
			}
			if len(bare) != len(message) {
				out[i] = bytes.Clone(message)
			}
			at = i + 1
			break
		}
	}
	return out
}

// take reads an answer and makes it the fold's.
func (b *Bus) take(f *fold, m *member, answer json.RawMessage) error {
	was := f.list()
	answer = trimmed(answer)
	// What the prelude writes, unchanged, need not be taken apart.
	const head = `{"messages":`
	if len(answer) == len(head)+len(was)+1 && bytes.Equal(answer[len(head):len(answer)-1], was) && string(answer[:len(head)]) == head {
		return nil
	}
	value, ok := find(answer, messagesField)
	if !ok || answer[value.from] != '[' {
		return m.discard(contextEvent, "it is not an object with one list of messages")
	}
	list := value.of(answer)
	if added := b.tokens(list) - b.tokens(was); added > b.allowance {
		return m.discard(contextEvent, fmt.Sprintf("it adds %d tokens to the context, and may add %d", added, b.allowance))
	}
	f.put(list)
	return nil
}

// ToolResult hands a tool's result through the extensions, each of which may change its
// content, and gives what came out: the message with another value of its member
// "content". No other member can be changed, added or removed. A message that is no
// object with one content comes back as it is, after all extensions have seen it.
func (b *Bus) ToolResult(ctx context.Context, message json.RawMessage) json.RawMessage {
	if !b.asks(toolResult) {
		return message
	}
	if !isText(message) {
		b.logger.Error("the harness's message is not JSON in UTF-8, so no extension sees it", "session", b.session.ID())
		return message
	}
	out := bytes.Clone(message)
	for _, m := range b.declared[toolResult] {
		document := append(append(append(make([]byte, 0, len(out)+len(`{"message":}`)), `{"message":`...), out...), '}')
		f := b.ask(ctx, m, toolResult, document)
		if f.Err == nil {
			out, f.Err = m.replace(out, f.Answer)
		}
		b.settle(m, toolResult, f, false)
	}
	return out
}

// replace is the message with the content of an answer, or the message itself.
func (m *member) replace(message, answer json.RawMessage) (json.RawMessage, error) {
	value, ok := find(answer, "message")
	if !ok {
		return message, m.discard(toolResult, "it is not an object with one message")
	}
	changed := value.of(answer)
	if bytes.Equal(changed, trimmed(message)) {
		return message, nil
	}
	own, ok := find(message, "content")
	if !ok {
		return message, m.discard(toolResult, "the harness's message has no content that could be changed")
	}
	given, ok := find(changed, "content")
	if !ok {
		return message, m.discard(toolResult, "its message is not an object with one content")
	}
	content := given.of(changed)
	if bytes.Equal(content, own.of(message)) {
		return message, nil
	}
	if added := m.bus.tokens(content) - m.bus.tokens(own.of(message)); added > m.bus.allowance {
		return message, m.discard(toolResult, fmt.Sprintf("it adds %d tokens to the result, and may add %d", added, m.bus.allowance))
	}
	out := append(make([]byte, 0, len(message)+len(content)), message[:own.from]...)
	return append(append(out, content...), message[own.to:]...), nil
}
