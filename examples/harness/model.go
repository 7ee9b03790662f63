package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
)

// step is one value of a script: a run, or a compaction.
type step struct {
	Prompt  string   `json:"prompt"`
	Answers []answer `json:"answers"`
	Compact string   `json:"compact"` // why, in a word
	Summary string   `json:"summary"`
	err     error
}

// answer is what a model makes of the messages it reads.
type answer struct {
	Text  string `json:"text"`
	Calls []call `json:"calls"` // none: it has finished
}

// call is a tool call of a model's.
type call struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// read reads a script. At an interrupt it is left alone, because the read of a terminal cannot be
// given up.
func read(ctx context.Context, script io.Reader) <-chan step {
	steps := make(chan step)
	go func() {
		for decoder := json.NewDecoder(script); ; {
			var s step
			s.err = decoder.Decode(&s)
			select {
			case steps <- s:
			case <-ctx.Done():
			}
			if s.err != nil || ctx.Err() != nil {
				return
			}
		}
	}()
	return steps
}

// model stands in for one: it answers what the script says, whatever it reads.
type model struct{ answers []answer }

// answer is the model's next one; a model that has no more to say says nothing.
func (m *model) answer([]json.RawMessage) (next answer) {
	if len(m.answers) > 0 {
		next, m.answers = m.answers[0], m.answers[1:]
	}
	return next
}

// message is how this harness writes messages. Extensions read what they know of it.
type message struct {
	Role    string `json:"role"` // system, user, assistant or tool
	Content string `json:"content"`
	Calls   []call `json:"calls,omitempty"`    // the assistant's
	Tool    string `json:"tool,omitempty"`     // whose answer it is
	IsError bool   `json:"is_error,omitempty"` // the tool failed, or was not called
}

func (m message) encode() json.RawMessage {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // it is for no browser, and has fences
	if err := encoder.Encode(m); err != nil {
		panic(err) // texts, and JSON that was decoded
	}
	return bytes.TrimSpace(text.Bytes())
}

// tokens estimates as well as a script needs it.
func tokens(messages ...json.RawMessage) (n int64) {
	for _, m := range messages {
		n += int64(len(m)+3) / 4
	}
	return n
}
