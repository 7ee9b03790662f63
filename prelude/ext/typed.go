package ext

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loomext/loomext/prelude/ext/internal/decode"
	"github.com/loomext/loomext/prelude/internal/config"
)

// Typed makes a tool from a function over the Go type of its arguments. Arguments
// that do not decode (see [DecodeArgs]) are refused and never reach the function.
func Typed[T any](answer func(Ctx, T) (Outcome, error)) Tool {
	return func(ctx Ctx, raw json.RawMessage) (Outcome, error) {
		if answer == nil {
			return Outcome{}, errors.New("ext: Typed was given no function; this is a mistake in the extension")
		}
		args, err := DecodeArgs[T](raw)
		if err != nil {
			return Outcome{}, err
		}
		return answer(ctx.reporting(), args)
	}
}

// DecodeArgs decodes a call's arguments. It reads struct tags as encoding/json
// does, and differs from it so that a model can repair its call from the error
// and nothing is lost in silence:
//
//   - The error, a *[Refusal], names every field that does not fit, by path:
//     "arguments: .days: expected integer, got string; .items[3].city: expected
//     string, got null". Of more than sixteen it names the first and counts the
//     rest.
//   - Names match exactly, case included.
//   - An integer field takes what JSON Schema calls an integer: 1, 1.0, 1e3.
//   - null fits a pointer, slice, map, interface or a type that decodes itself. A
//     field that may be null is a pointer.
//   - A field given twice, a Go array of another length, and a string that is not
//     Unicode text are refused.
//   - In an interface{} a number is a float64, but an integer literal beyond
//     ±2^53 is a json.Number.
//   - Nesting deeper than 1000 levels is refused.
//
// A member that T has no field for is ignored, and a field that is missing keeps
// its zero value: what must be there is for the schema to say. The tag option
// "string" and maps without string keys are not supported.
func DecodeArgs[T any](raw json.RawMessage) (T, error) {
	var args T
	if err := decode.Into(raw, &args); err != nil {
		var none T
		return none, Refuse("arguments: %w", err)
	}
	return args, nil
}

// Config is the extension's configuration: the manifest's [config] table with
// what the operator set over it. It decodes as [DecodeArgs] does. It is there
// while tools and hooks run, not yet when package variables and init functions
// do; reading it too early is an error, and so it is in a test that calls a tool
// directly.
func Config[T any]() (T, error) {
	var value, none T
	document, err := config.Read()
	if err != nil {
		return none, err
	}
	if err := decode.Into(document, &value); err != nil {
		return none, fmt.Errorf("ext: config: %w; change the Go type or the manifest's [config] table", err)
	}
	return value, nil
}
