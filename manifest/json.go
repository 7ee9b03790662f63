package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/loomext/loomext/internal/tomlfile"
)

// jsonBounds limits a JSON text before anything recurses over it.
type jsonBounds struct {
	bytes, depth, values int
}

// jsonFault is why a text is no JSON that this package takes.
type jsonFault struct {
	Pointer string
	Msg     string
}

func (f *jsonFault) Error() string {
	if f.Pointer == "" {
		return f.Msg
	}
	return f.Pointer + ": " + f.Msg
}

// decodeJSON reads one JSON text strictly: UTF-8, no duplicate keys, numbers kept
// as they are written. Values are map[string]any, []any, string, json.Number,
// bool and nil.
func decodeJSON(raw []byte, b jsonBounds) (any, *jsonFault) {
	if len(raw) > b.bytes {
		return nil, &jsonFault{Msg: fmt.Sprintf("the text has %d bytes, the bound is %d", len(raw), b.bytes)}
	}
	if line, bad := tomlfile.InvalidUTF8(raw); bad {
		return nil, &jsonFault{Msg: fmt.Sprintf("line %d is not UTF-8", line)}
	}
	if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
		return nil, &jsonFault{Msg: syntaxJSON(raw, err)}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	r := jsonReader{dec: dec, bounds: b}
	v, fault := r.value()
	if fault != nil {
		fault.Pointer = pointer(r.path)
	}
	return v, fault
}

func syntaxJSON(raw []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "not JSON: " + err.Error()
	}
	before := raw[:max(0, min(int(syntax.Offset), len(raw)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	return fmt.Sprintf("not JSON: line %d: %s", line, tomlfile.Printable(syntax.Error()))
}

type jsonReader struct {
	dec    *json.Decoder
	bounds jsonBounds
	values int
	path   []string // where the reader stands; at a fault it stays there
}

func (r *jsonReader) value() (any, *jsonFault) {
	if r.values++; r.values > r.bounds.values {
		return nil, &jsonFault{Msg: fmt.Sprintf("there are more than %d values", r.bounds.values)}
	}
	tok, err := r.dec.Token()
	if err != nil {
		return nil, unexpected(err)
	}
	switch t := tok.(type) {
	case json.Delim:
		if len(r.path) >= r.bounds.depth {
			return nil, &jsonFault{Msg: fmt.Sprintf("values nest more than %d deep", r.bounds.depth)}
		}
		if t == '{' {
			return r.object()
		}
		return r.array()
	case json.Number:
		if !modest(t) {
			return nil, &jsonFault{Msg: "the number " + tomlfile.Quote(string(t)) + " is too long or too large"}
		}
		return t, nil
	default:
		return t, nil
	}
}

func (r *jsonReader) object() (any, *jsonFault) {
	object := map[string]any{}
	for r.dec.More() {
		tok, err := r.dec.Token()
		if err != nil {
			return nil, unexpected(err)
		}
		key, _ := tok.(string)
		r.path = append(r.path, key)
		if _, there := object[key]; there {
			return nil, &jsonFault{Msg: "this key stands there twice"}
		}
		v, fault := r.value()
		if fault != nil {
			return nil, fault
		}
		object[key] = v
		r.path = r.path[:len(r.path)-1]
	}
	if _, err := r.dec.Token(); err != nil {
		return nil, unexpected(err)
	}
	return object, nil
}

func (r *jsonReader) array() (any, *jsonFault) {
	items := []any{}
	for r.dec.More() {
		r.path = append(r.path, strconv.Itoa(len(items)))
		v, fault := r.value()
		if fault != nil {
			return nil, fault
		}
		items = append(items, v)
		r.path = r.path[:len(r.path)-1]
	}
	if _, err := r.dec.Token(); err != nil {
		return nil, unexpected(err)
	}
	return items, nil
}

// unexpected is an error of the decoder on a text that has been found valid.
func unexpected(err error) *jsonFault {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &jsonFault{Msg: "not JSON: " + tomlfile.Printable(err.Error())}
}

// modest reports whether a number can be computed with exactly at little cost.
func modest(n json.Number) bool {
	if len(n) > maxNumberText {
		return false
	}
	_, exponent, found := strings.Cut(strings.ToLower(string(n)), "e")
	if !found {
		return true
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && e <= maxExponent && e >= -maxExponent
}

// pointer renders a path as a JSON pointer (RFC 6901).
func pointer(path []string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(escapePointer(token))
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func escapePointer(token string) string { return pointerEscapes.Replace(token) }

// encodeJSON renders a value this package built. It fails on what JSON cannot
// carry, never on a string: those are UTF-8 by now.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
