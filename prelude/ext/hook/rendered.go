package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// maxRendered is the largest rendering there is, in bytes. No more than that fits
// into a frame, and a value that holds one list many times over must not be
// written out until memory ends.
const maxRendered = 16 << 20

// Rendered turns a decoded message back into JSON. It takes what a JSON decoder
// gives, nested as it likes:
//
//   - nil, bool, string, float64 and float32, the integer types, json.Number;
//   - []any, map[string]any, []json.RawMessage, map[string]json.RawMessage;
//   - json.RawMessage, which goes in byte for byte.
//
// Names come sorted and nothing is HTML-escaped. A json.Number keeps its
// spelling, so decode with UseNumber, or into json.RawMessage, what must not
// lose digits. A nil slice is [], a nil map {}.
//
// Anything else is an error: another type, a NaN, a json.Number or
// json.RawMessage that is none, a value that contains itself, a rendering of more
// than 16 MiB.
func Rendered(value any) (json.RawMessage, error) {
	text, err := render(nil, value, jsontext.MaxDepth)
	if err != nil {
		return nil, fmt.Errorf("hook: Rendered: %w", err)
	}
	return text, nil
}

var (
	errTooDeep  = fmt.Errorf("the value nests deeper than %d levels; does it contain itself?", jsontext.MaxDepth)
	errTooLarge = fmt.Errorf("the value takes more than %d bytes", maxRendered)
)

// render appends a value that may nest depth levels more.
func render(dst []byte, value any, depth int) ([]byte, error) {
	var err error
	switch v := value.(type) {
	case nil:
		dst = append(dst, "null"...)
	case bool:
		dst = fmt.Append(dst, v)
	case string:
		dst = jsontext.AppendString(dst, v)
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		dst = fmt.Append(dst, v)
	case float64, float32:
		text, err := json.Marshal(v)
		if err != nil {
			return nil, errors.New("a number that is infinite, or none, has no JSON")
		}
		dst = append(dst, text...)
	case json.Number:
		if end, ok := jsontext.SkipValue([]byte(v), 0); !ok || end != len(v) || jsontext.KindAt([]byte(v), 0) != jsontext.Number {
			return nil, fmt.Errorf("the json.Number %s is no number", brief(fmt.Appendf(nil, "%+q", string(v))))
		}
		dst = append(dst, v...)
	case json.RawMessage:
		if !jsontext.ValidWithin(v, depth) {
			if err := jsontext.Check(v); err != nil {
				return nil, fmt.Errorf("a json.RawMessage is %w", err)
			}
			return nil, errTooDeep
		}
		dst = append(dst, v...)
	case []any:
		dst, err = renderList(dst, v, depth)
	case []json.RawMessage:
		dst, err = renderList(dst, v, depth)
	case map[string]any:
		dst, err = renderObject(dst, v, depth)
	case map[string]json.RawMessage:
		dst, err = renderObject(dst, v, depth)
	default:
		return nil, fmt.Errorf("a %T is nothing that a JSON decoder gives; decode into any or json.RawMessage", value)
	}
	if err == nil && len(dst) > maxRendered {
		err = errTooLarge
	}
	return dst, err
}

func renderList[T any](dst []byte, list []T, depth int) ([]byte, error) {
	if depth == 0 {
		return nil, errTooDeep
	}
	dst = append(dst, '[')
	for i, element := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = render(dst, element, depth-1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func renderObject[T any](dst []byte, object map[string]T, depth int) ([]byte, error) {
	if depth == 0 {
		return nil, errTooDeep
	}
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendString(dst, name), ':')
		var err error
		if dst, err = render(dst, object[name], depth-1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}
