package record

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// Format is the version of the record that this loomext writes, and the only one it reads.
const Format = 1

// Extension is an extension as it was when an invocation of it was recorded.
type Extension struct {
	Name           string   `json:"name"`
	Version        string   `json:"version"`
	Revision       string   `json:"revision"`
	Fingerprint    string   `json:"fingerprint"`
	ArtifactDigest string   `json:"artifact_digest"`
	Granted        []string `json:"granted"`
}

// Invocation is one call into an extension.
type Invocation struct {
	Extension string
	Kind      string // wire.CallTool or wire.CallEvent
	Name      string // of the tool or event
	Start     int64  // which satellite of the extension in the session was called, from 1; 0 where that is not known
	Args      Value  // as they go over the wire
	Deadline  time.Duration
}

// Effect is one effect that was read, and what it was answered.
type Effect struct {
	Cap   string // by its wire name
	Args  Value
	Began time.Duration // after the invocation
	Took  time.Duration
	OK    bool
	Value Value      // where OK
	Fault wire.Fault // where not
}

// Answer is the end of an invocation.
type Answer struct {
	Took  time.Duration // where it was read
	OK    bool
	Value Value // where OK, as it came over the wire
	// Failed is the kind of failure in the host's words, where it is not OK: "refused", "crashed", "deadline" and others.
	Failed string
	Fault  wire.Fault
}

// Value is a value of the protocol in a record: one that is to be written, or one that was read and is decoded when it is
// asked for. The zero Value is nil.
type Value struct {
	wire  wire.Value
	text  json.RawMessage // as it was read; nil where it was not
	bytes int64
	get   fetch
}

// Of is a value to be written.
func Of(v wire.Value) Value { return Value{wire: v} }

// Bytes is how many bytes the texts and bytes of a value that was read have together.
func (v Value) Bytes() int64 { return v.bytes }

// Wire is the value, byte for byte as it was recorded. One that was read may stand in a file that is missing or was
// changed, and the error names it.
func (v Value) Wire() (wire.Value, error) {
	if v.text == nil {
		return v.wire, nil
	}
	left := wire.MaxFrame // a line can name one body many times, and no value is longer than a frame
	return decode(v.text, func(digest string) ([]byte, error) {
		body, err := v.get(digest)
		if left -= len(body); err == nil && left < 0 {
			err = errors.New("its bodies are longer than a frame together; it is no value")
		}
		return body, err
	})
}

// JSON is the value as its line has it. Long texts and bytes are references.
func (v Value) JSON() json.RawMessage {
	if v.text != nil {
		return v.text
	}
	return Whole(v.wire)
}

// Whole is a value as a line would have it, with every text and all bytes in place.
func Whole(v wire.Value) json.RawMessage {
	var e encoder
	e.value(v)
	return e.dst
}
