// Package ext is what an extension's author writes tools against.
//
// A tool is a function from a call to an outcome. The call's arguments are JSON
// in the shape of the schema that the manifest names; the outcome is blocks of
// text and JSON for the model to read. [Typed] makes a tool from a function over
// a Go type:
//
//	type query struct {
//		City string `json:"city"`
//		Days int    `json:"days"`
//	}
//
//	var Run = ext.Typed(func(ctx ext.Ctx, q query) (ext.Outcome, error) {
//		if q.Days > 7 {
//			return ext.Outcome{}, ext.Refuse("days is %d; ask for at most 7", q.Days)
//		}
//		ctx.Report("looking up " + q.City)
//		return ext.JSON(map[string]any{"city": q.City, "sky": "clear"})
//	})
//
// An error is a refusal: its text goes to the model, which reads it and tries
// again. A panic is a crash: the model can do nothing with it. So say in an error
// what would be accepted.
//
// A tool reaches nothing but through the packages of prelude/cap, which take the
// call's [Ctx], and nothing at all once the call is answered. Between calls it
// may keep what it likes in memory.
//
// This package runs nothing and knows no channel. A tool is an ordinary function
// that an author's own test can call with a zero Ctx; prelude/ext/runtime calls
// it in a satellite. Hooks are prelude/ext/hook.
package ext

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// Tool answers one call. The arguments are the model's own bytes, one JSON
// document. An error is a refusal whatever its type, and its text is what the
// model reads.
type Tool func(Ctx, json.RawMessage) (Outcome, error)

// Outcome is what a tool answers.
type Outcome struct {
	Content   []Content // what the model reads, in order
	Terminate Terminate // whether the run ends with this answer
}

// Terminate says whether the agent's run goes on after an answer.
type Terminate uint8

const (
	ContinueRun  Terminate = iota // the run goes on; the zero value
	TerminateRun                  // the run ends here
)

// String is the constant's name.
func (t Terminate) String() string {
	switch t {
	case ContinueRun:
		return "ContinueRun"
	case TerminateRun:
		return "TerminateRun"
	default:
		return fmt.Sprintf("Terminate(%d)", uint8(t))
	}
}

// Content is one block of an outcome: a [TextContent] or a [JSONContent], and
// nothing else.
type Content interface{ content() }

// TextContent is text for the model. Invalid UTF-8 is replaced on the way.
type TextContent struct{ Text string }

// JSONContent is a JSON document for the model. It travels as these very bytes.
// A value that is not JSON fails the call as unencodable.
type JSONContent struct{ Value json.RawMessage }

func (TextContent) content() {}
func (JSONContent) content() {}

// Text is the outcome of one text block.
func Text(text string) Outcome {
	return Outcome{Content: []Content{TextContent{Text: text}}}
}

// JSON is the outcome of one JSON block that holds value, serialized as
// encoding/json does but without HTML escaping: a "<" stays a "<". A valid
// json.RawMessage goes in byte for byte.
func JSON(value any) (Outcome, error) {
	raw, ok := value.(json.RawMessage)
	if !ok || !jsontext.Valid(raw) {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			return Outcome{}, fmt.Errorf("ext: JSON: %w", err)
		}
		raw = bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	}
	return Outcome{Content: []Content{JSONContent{Value: raw}}}, nil
}

// Refusal is an error meant for the model: what is wrong with the call and what
// would be accepted.
type Refusal struct {
	Text  string
	cause error
}

// Refuse makes a refusal. The format is fmt.Errorf's, %w included.
func Refuse(format string, args ...any) *Refusal {
	err := fmt.Errorf(format, args...)
	return &Refusal{Text: err.Error(), cause: err}
}

// Error is the refusal's text.
func (r *Refusal) Error() string {
	if r == nil {
		return "refused, without a reason"
	}
	return r.Text
}

// Unwrap gives what the format's %w wrapped.
func (r *Refusal) Unwrap() error {
	if r == nil {
		return nil
	}
	return r.cause
}
