// Package ask puts questions to whoever runs the agent, while an invocation is open: to
// the person, to the agent's model, and for the agent's roots, which are the places it
// works in. It is the capability ask.
//
// [User] asks the person, [Model] the model, and [Roots] for the roots. [All] asks
// several at once. Each asks under a key: a lowercase letter first, then lowercase
// letters, digits and underscores, at most 64 bytes. An invocation asks once under a
// key that was answered, so a question that is put again has another key. It asks at
// most 8 times, at most 8 requests at once, and what one request holds has at most
// 64 KiB as JSON.
//
// Some agents answer by calling the tool again. It then runs from its start, and what it
// asked before is answered at once, under its key. So make what is asked depend on
// nothing but the arguments and the answers, and do nothing before the last question that
// must not happen twice.
//
// The time of the tool goes on while a person thinks: timeout_ms in the manifest has to
// leave room for that. A person who declines has answered; that is no error.
//
// What the host refuses is an [Error], with the codes that any capability has, and
//
//   - unavailable where nobody can be asked, or not for this,
//   - invalid_argument for a request that cannot be, such as a key that came before,
//   - policy for too many requests,
//   - too_large for a request that is longer than that.
//
// Package cap has the codes as constants.
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/internal/channel"
	"github.com/loomext/loomext/prelude/cap/report"
)

const capInput = "ask.input"

// Error is a request that was not answered. It wraps a *cap.Error, whose code cap.CodeOf
// tells.
type Error struct {
	// Keys are those of the requests that were made at once.
	Keys []string
	Err  error
}

// Error names the keys and the cause.
func (e *Error) Error() string {
	quoted := make([]string, 0, len(e.Keys))
	for _, key := range e.Keys {
		quoted = append(quoted, strconv.Quote(key))
	}
	return "ask: " + strings.Join(quoted, ", ") + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// User asks the person and waits for what they do with the question.
func User(ctx context.Context, q Question) (Reply, error) {
	responses, err := All(ctx, q)
	if err != nil {
		return Reply{}, err
	}
	return responses[0].Reply, nil
}

// Model asks the agent's model and waits for what it says.
func Model(ctx context.Context, p Prompt) (Completion, error) {
	responses, err := All(ctx, p)
	if err != nil {
		return Completion{}, err
	}
	return responses[0].Completion, nil
}

// Roots asks for the places that the agent works in, which may be none.
func Roots(ctx context.Context, key string) ([]Root, error) {
	responses, err := All(ctx, RootsRequest{Key: key})
	if err != nil {
		return nil, err
	}
	return responses[0].Roots, nil
}

// All makes several requests at once and gives their responses in the same order. One
// that cannot be answered fails all of them.
func All(ctx context.Context, requests ...Request) ([]Response, error) {
	keys, travelling, err := outgoing(requests)
	if err != nil {
		return nil, &Error{Keys: keys, Err: err}
	}
	v, err := channel.Call(ctx, capInput, report.Map(report.Field{Key: "requests", Value: report.List(travelling...)}))
	if err != nil {
		return nil, &Error{Keys: keys, Err: err}
	}
	responses, err := incoming(v, requests)
	if err != nil {
		return nil, &Error{Keys: keys, Err: channel.Misshapen(capInput, err)}
	}
	return responses, nil
}

// outgoing is the requests as they travel, with their keys.
func outgoing(requests []Request) (keys []string, travelling []report.Value, err error) {
	for n, r := range requests {
		if r == nil {
			return keys, nil, invalid(n, errors.New("it is nil"))
		}
		key, kind, params := r.outgoing()
		keys = append(keys, key)
		text, err := json.Marshal(params)
		if err != nil { // the author's own JSON is none
			return keys, nil, invalid(n, err)
		}
		travelling = append(travelling, report.Map(
			report.Field{Key: "key", Value: report.String(key)},
			report.Field{Key: "kind", Value: report.String(kind)},
			report.Field{Key: "params", Value: report.Text(text)},
		))
	}
	return keys, travelling, nil
}

func invalid(n int, err error) error {
	return &cap.Error{Code: cap.CodeInvalidArgument, Msg: fmt.Sprintf("request %d: %v", n+1, err)}
}

// incoming reads one answer for each request.
func incoming(v report.Value, requests []Request) ([]Response, error) {
	answers, err := report.ListAt(v, "answers")
	if err != nil {
		return nil, err
	}
	if len(answers) != len(requests) {
		return nil, &report.ShapeError{Field: "answers", Want: fmt.Sprintf("a list of %d", len(requests)), Have: fmt.Sprintf("a list of %d", len(answers))}
	}
	responses := make([]Response, len(answers))
	for n, answer := range answers {
		place := fmt.Sprintf("answers[%d]", n)
		text, ok := answer.AsText()
		if !ok {
			return nil, &report.ShapeError{Field: place, Want: "a string", Have: report.TypeName(answer)}
		}
		if responses[n], err = requests[n].incoming(text); err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
	}
	return responses, nil
}
