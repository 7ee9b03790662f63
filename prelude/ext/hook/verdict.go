package hook

import (
	"errors"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// Verdict is a gate's answer: [Allow] or what [Block] gives. The zero Verdict is
// neither: a gate that returns it has failed, it has not allowed. Verdicts
// compare with ==.
type Verdict struct {
	ruling ruling
	reason string
}

type ruling uint8

const (
	undecided ruling = iota
	allowed
	blocked
)

// Allow lets the call run.
var Allow = Verdict{ruling: allowed}

// Block stops the call. The model reads the reason, so it should say what would
// be allowed.
func Block(reason string) Verdict { return Verdict{ruling: blocked, reason: reason} }

func (v Verdict) render() ([]byte, error) {
	switch v.ruling {
	case allowed:
		return []byte(`{"verdict":"allow"}`), nil
	case blocked:
		return append(jsontext.AppendString([]byte(`{"verdict":"block","reason":`), v.reason), '}'), nil
	default:
		return nil, errors.New("hook: tool_call: the extension gave no verdict; return hook.Allow or hook.Block(reason)")
	}
}
