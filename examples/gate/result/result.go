// Package result is the entry of the hook tool_result: it takes credentials out of what a tool
// answered before the model reads it.
package result

import (
	"context"
	"encoding/json"

	"github.com/loomext/loomext/prelude/ext"

	"example.com/gate/memory"
	"example.com/gate/secret"
)

// settings is what the hook reads of the [config] of extension.toml.
type settings struct {
	Redact bool `json:"redact"`
}

// OnToolResult gives the message back with its secrets replaced, or as it came.
func OnToolResult(_ context.Context, message json.RawMessage) (json.RawMessage, error) {
	s, err := ext.Config[settings]()
	if err != nil {
		return nil, err
	}
	if !s.Redact {
		return message, nil
	}
	clean, kinds := secret.Document(message)
	memory.Redacted(kinds)
	return clean, nil
}
