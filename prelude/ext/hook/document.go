package hook

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// DocumentError is an event's document without what the event needs.
type DocumentError struct {
	Event string
	Field string // the first one that is missing or mistyped; empty is the document itself
	Msg   string // "missing", "expected integer, got string"
}

func (e *DocumentError) Error() string {
	if e.Field == "" {
		return "hook: " + e.Event + ": " + e.Msg
	}
	return "hook: " + e.Event + ": " + e.Field + ": " + e.Msg
}

// document is an event's JSON object, its members split and not yet read. The
// first fault stays; readers after it give zero values.
type document struct {
	event   string
	members map[string]json.RawMessage
	fault   error
}

// known is every field of every event. Members by other names are passed over, so
// that a later harness may add to a document, and cost nothing.
var known = map[string]bool{
	"restarts": true, "op_id": true, "strand": true, "messages": true, "tool": true, "arguments": true, "source_index": true,
	"message": true, "reason": true, "tokens_before": true, "summarized_messages": true, "retained_messages": true,
	"usage_id": true, "seq": true, "entry_id": true, "adjustment": true, "input_tokens": true, "output_tokens": true,
	"cache_read_tokens": true, "cache_write_tokens": true, "cache_write_1h_tokens": true, "thinking_tokens": true,
	"total_tokens": true, "cost": true,
}

func read(event string, args []byte) (*document, error) {
	if err := jsontext.Check(args); err != nil {
		return nil, fmt.Errorf("hook: %s: %w", event, err)
	}
	if kind := jsontext.KindAt(args, jsontext.SkipSpace(args, 0)); kind != jsontext.Object {
		return nil, &DocumentError{Event: event, Msg: "expected object, got " + kind.String()}
	}
	d := &document{event: event, members: map[string]json.RawMessage{}}
	for quoted, value := range jsontext.Members(args) {
		name, ok := jsontext.Unquote(quoted)
		if !ok || !known[name] {
			continue
		}
		if d.has(name) {
			// Two readers of such a document could see two different events.
			return nil, &DocumentError{Event: event, Field: name, Msg: "given twice"}
		}
		d.members[name] = value
	}
	return d, nil
}

func (d *document) has(name string) bool {
	_, ok := d.members[name]
	return ok
}

func (d *document) fail(name, msg string) {
	if d.fault == nil {
		d.fault = &DocumentError{Event: d.event, Field: name, Msg: msg}
	}
}

// raw is a member's bytes, whatever they hold.
func (d *document) raw(name string) json.RawMessage {
	value, ok := d.members[name]
	if !ok {
		d.fail(name, "missing")
	}
	return value
}

// of is a member's bytes where it is of the wanted kind.
func (d *document) of(want jsontext.Kind, name, word string) (json.RawMessage, bool) {
	value := d.raw(name)
	if value == nil {
		return nil, false
	}
	if got := jsontext.KindAt(value, 0); got != want {
		d.fail(name, "expected "+word+", got "+got.String())
		return nil, false
	}
	return value, true
}

func (d *document) text(name string) string {
	value, ok := d.of(jsontext.String, name, "string")
	if !ok {
		return ""
	}
	text, ok := jsontext.Unquote(value)
	if !ok {
		d.fail(name, "the string is not Unicode text (half of a surrogate pair, or invalid UTF-8)")
	}
	return text
}

func (d *document) integer(name string) int64 {
	value, ok := d.of(jsontext.Number, name, "integer")
	if !ok {
		return 0
	}
	n, ok := jsontext.ParseInteger(value).Int64()
	if !ok {
		d.fail(name, "expected integer of 64 bits, got "+brief(value))
	}
	return n
}

func (d *document) number(name string) float64 {
	value, ok := d.of(jsontext.Number, name, "number")
	if !ok {
		return 0
	}
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		d.fail(name, "expected number, got "+brief(value)+", which is out of range")
		return 0
	}
	return n
}

func (d *document) boolean(name string) bool {
	value, ok := d.of(jsontext.Boolean, name, "boolean")
	return ok && value[0] == 't'
}

func (d *document) list(name string) []json.RawMessage {
	value, ok := d.of(jsontext.Array, name, "array")
	if !ok {
		return nil
	}
	list := []json.RawMessage{}
	for element := range jsontext.Elements(value) {
		list = append(list, element)
	}
	return list
}

// orNull reads a member that must be there and may be null, which is nil.
func orNull[T any](d *document, name string, reader func(string) T) *T {
	if jsontext.KindAt(d.members[name], 0) == jsontext.Null {
		return nil
	}
	value := reader(name)
	return &value
}

// brief is a number of any length, as an error repeats it.
func brief(number []byte) string {
	const enough = 40 // digits to recognize it by
	if len(number) > enough {
		return string(number[:enough]) + "…"
	}
	return string(number)
}
