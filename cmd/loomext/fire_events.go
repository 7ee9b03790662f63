package main

import (
	"fmt"
	"strings"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/manifest"
)

// event is one event of the protocol: what a harness sends with it, and what a hook may answer.
type event struct {
	name string
	// payload and answer are JSON Schemas. docs/wire.md has the same as tables.
	payload, answer string
	// sample is a payload that fits, the least that means something.
	sample string
}

// The answers of several events.
const (
	// ignored is the answer of an event that is only told.
	ignored = `{}`
	// opaque is JSON that the protocol does not look into.
	opaqueJSON = `{}`

	// An integer is one of 64 bits, a count is none below 0, and a number is a double: the prelude reads nothing beyond.
	integerJSON = `{"type": "integer", ` + within64 + `}`
	orNullJSON  = `{"type": ["integer", "null"], ` + within64 + `}`
	countJSON   = `{"type": "integer", "minimum": 0, "maximum": 9223372036854775807}`
	numberJSON  = `{"type": "number", "minimum": -1.7976931348623157e308, "maximum": 1.7976931348623157e308}`
	within64    = `"minimum": -9223372036854775808, "maximum": 9223372036854775807`
)

// events are all there are, in the order of an agent's life.
var events = []event{
	{"session_start", documentOf(`"restarts": `+countJSON, ""), ignored, `{}`},
	{"before_agent_start", documentOf(`"op_id": {"type": "string"}, "strand": {"type": "string"}`, `"op_id", "strand"`),
		documentOf(`"inject": {"type": ["string", "null"]}`, `"inject"`), `{"op_id": "op-1", "strand": "main"}`},
	{"context", documentOf(`"op_id": {"type": "string"}, "messages": {"type": "array", "items": `+opaqueJSON+`}`, `"op_id", "messages"`),
		documentOf(`"messages": {"type": "array", "items": `+opaqueJSON+`}`, `"messages"`),
		`{"op_id": "op-1", "messages": [{"role": "user", "content": "hello"}]}`},
	{"tool_call", documentOf(`"op_id": {"type": "string"}, "tool": {"type": "string"}, "arguments": `+opaqueJSON+`,
		"source_index": `+countJSON, `"op_id", "tool", "arguments", "source_index"`),
		`{"type": "object", "oneOf": [
			{"properties": {"verdict": {"const": "allow"}}, "required": ["verdict"]},
			{"properties": {"verdict": {"const": "block"}, "reason": {"type": "string"}}, "required": ["verdict", "reason"]}
		]}`,
		`{"op_id": "op-1", "tool": "bash", "arguments": {"command": "ls"}, "source_index": 0}`},
	{"tool_result", documentOf(`"message": `+opaqueJSON, `"message"`), documentOf(`"message": `+opaqueJSON, `"message"`),
		`{"message": {"role": "tool", "content": "hello"}}`},
	{"agent_end", opOnly, ignored, opSample},
	{"agent_settled", opOnly, ignored, opSample},
	{"before_compact", documentOf(`"op_id": {"type": "string"}, "reason": {"type": "string"}, "tokens_before": `+countJSON+`,
		"summarized_messages": `+countJSON+`, "retained_messages": `+countJSON,
		`"op_id", "reason", "tokens_before", "summarized_messages", "retained_messages"`),
		documentOf(`"note": {"type": ["string", "null"]}`, `"note"`),
		`{"op_id": "op-1", "reason": "threshold", "tokens_before": 150000, "summarized_messages": 40, "retained_messages": 6}`},
	{"usage", documentOf(`"op_id": {"type": "string"}, "usage_id": {"type": "string"}, "seq": `+integerJSON+`, "entry_id": {"type": ["string", "null"]},
		"adjustment": {"type": "boolean"}, "input_tokens": `+integerJSON+`, "output_tokens": `+integerJSON+`,
		"cache_read_tokens": `+integerJSON+`, "cache_write_tokens": `+integerJSON+`,
		"cache_write_1h_tokens": `+orNullJSON+`, "thinking_tokens": `+orNullJSON+`,
		"total_tokens": `+integerJSON+`, "cost": `+numberJSON,
		`"op_id", "usage_id", "seq", "entry_id", "adjustment", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
		"cache_write_1h_tokens", "thinking_tokens", "total_tokens", "cost"`), ignored,
		`{"op_id": "op-1", "usage_id": "use-1", "seq": 1, "entry_id": null, "adjustment": false, "input_tokens": 1200, "output_tokens": 340,
		"cache_read_tokens": 0, "cache_write_tokens": 0, "cache_write_1h_tokens": null, "thinking_tokens": null, "total_tokens": 1540, "cost": 0.0087}`},
}

var opOnly = documentOf(`"op_id": {"type": "string"}`, `"op_id"`)

const opSample = `{"op_id": "op-1"}`

// documentOf is the schema of an object with these members and no other: who fires an event by hand
// is better told of a slip than handed on with it.
func documentOf(properties, required string) string {
	return fmt.Sprintf(`{"type": "object", "properties": {%s}, "required": [%s], "additionalProperties": false}`, properties, required)
}

func eventNames() []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.name
	}
	return names
}

func eventNamed(name string) (event, bool) {
	for _, e := range events {
		if e.name == name {
			return e, true
		}
	}
	return event{}, false
}

// empty is the payload where none is given: an empty object where the event takes one.
func (e event) empty() string {
	const nothing = `{}`
	if len(faultsIn(e.payload, []byte(nothing))) == 0 {
		return nothing
	}
	return e.sample
}

// payloadMisfit is the message of a payload that is not an event's.
const payloadMisfit = "the payload does not fit the event"

// checkPayload holds a payload against the event.
func (e event) checkPayload(extension string, payload []byte) error {
	if faults := faultsIn(e.payload, payload); len(faults) > 0 {
		return &host.Error{Kind: host.Arguments, Extension: extension, Target: e.name, Code: wire.CodeBadArguments, Msg: payloadMisfit, Faults: faults}
	}
	return nil
}

// checkAnswer holds an answer against the event. The satellite made it, and it may be no
// satellite of ours.
func (e event) checkAnswer(extension string, answer []byte) error {
	faults := faultsIn(e.answer, answer)
	if len(faults) == 0 {
		return nil
	}
	lines := make([]string, len(faults))
	for i, fault := range faults {
		lines[i] = fault.Error()
	}
	return &host.Error{Kind: host.Protocol, Extension: extension, Target: e.name, Code: wire.CodeProtocol, Msg: "the answer is none to this event: " + strings.Join(lines, "\n")}
}

// faultsIn compiles one of the schemas here, which a test has compiled before, and checks.
func faultsIn(schema string, document []byte) []manifest.SchemaFault {
	compiled, err := manifest.CompileSchema([]byte(schema))
	if err != nil {
		return []manifest.SchemaFault{{Msg: err.Error()}}
	}
	return compiled.Check(document)
}
