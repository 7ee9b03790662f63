package decode

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// walk reads a document that is known to be valid JSON, left to right, once.
// Each method that fills a value begins with w.at at the value's first byte and
// ends with it after the last, whether the value fitted or not.
type walk struct {
	data   []byte
	at     int
	path   []step
	faults Faults
}

func (w *walk) kind() jsontext.Kind { return jsontext.KindAt(w.data, w.at) }

// skip crosses the value and returns its bytes.
func (w *walk) skip() []byte {
	end, _ := jsontext.SkipValue(w.data, w.at)
	text := w.data[w.at:end:end]
	w.at = end
	return text
}

func (w *walk) value(v reflect.Value, depth int) {
	if depth > MaxDepth {
		w.fault("nested deeper than " + strconv.Itoa(MaxDepth) + " levels")
		w.skip()
		return
	}
	kind := w.kind()
	if !v.CanSet() && v.Kind() != reflect.Struct {
		w.unreachable()
		return
	}
	if v.Kind() == reflect.Pointer {
		if kind == jsontext.Null {
			v.SetZero()
			w.skip()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		w.value(v.Elem(), depth+1)
		return
	}
	shape := shapeOf(v.Type())
	switch {
	case shape.unmarshalJSON && v.CanInterface():
		if err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(w.skip()); err != nil {
			w.fault(brief(err.Error()))
		}
		return
	case shape.unmarshalText && v.CanInterface():
		if text, ok := w.text(); ok {
			if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
				w.fault(brief(err.Error()))
			}
		}
		return
	case kind == jsontext.Null && (v.Kind() == reflect.Slice || v.Kind() == reflect.Map || v.Kind() == reflect.Interface):
		v.SetZero()
		w.skip()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		w.structure(v, shape, depth)
	case reflect.Map:
		w.table(v, depth)
	case reflect.Slice:
		if kind == jsontext.String && v.Type().Elem().Kind() == reflect.Uint8 {
			w.base64(v)
			return
		}
		w.slice(v, depth)
	case reflect.Array:
		w.array(v, depth)
	case reflect.Interface:
		if v.NumMethod() > 0 {
			w.unfit(v.Type())
			return
		}
		if decoded := w.any(depth); decoded != nil {
			v.Set(reflect.ValueOf(decoded))
		}
	default:
		w.scalar(v)
	}
}

func (w *walk) scalar(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == numberType {
			if number, ok := w.expect(jsontext.Number, "number"); ok {
				v.SetString(string(number))
			}
		} else if text, ok := w.text(); ok {
			v.SetString(text)
		}
	case reflect.Bool:
		if word, ok := w.expect(jsontext.Boolean, "boolean"); ok {
			v.SetBool(word[0] == 't')
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.integer(v)
	case reflect.Float32, reflect.Float64:
		w.float(v)
	default:
		w.unfit(v.Type())
	}
}

// expect crosses the value and gives its bytes where it is of the wanted kind; a
// fault says so where it is not.
func (w *walk) expect(want jsontext.Kind, word string) ([]byte, bool) {
	got := w.kind()
	if got != want {
		w.fault("expected " + word + ", got " + got.String())
	}
	return w.skip(), got == want
}

// expectOpen is expect for a container, which it enters instead of crossing.
func (w *walk) expectOpen(want jsontext.Kind) bool {
	if got := w.kind(); got != want {
		w.fault("expected " + want.String() + ", got " + got.String())
		w.skip()
		return false
	}
	w.at++
	return true
}

// more reports whether another element or member begins at w.at, having crossed
// the comma, or else leaves the container behind.
func (w *walk) more(first bool) bool {
	w.at = jsontext.SkipSpace(w.data, w.at)
	if c := w.data[w.at]; c == '}' || c == ']' {
		w.at++
		return false
	}
	if !first {
		w.at = jsontext.SkipSpace(w.data, w.at+1)
	}
	return true
}

// name crosses a member's name and colon.
func (w *walk) name() []byte {
	name := w.skip()
	w.at = jsontext.SkipSpace(w.data, w.at)
	w.at = jsontext.SkipSpace(w.data, w.at+1)
	return name
}

func (w *walk) text() (string, bool) {
	quoted, ok := w.expect(jsontext.String, "string")
	if !ok {
		return "", false
	}
	text, ok := jsontext.Unquote(quoted)
	if !ok {
		w.fault(noText)
	}
	return text, ok
}

const noText = "not Unicode text (half of a surrogate pair, or invalid UTF-8)"

func (w *walk) base64(v reflect.Value) {
	text, ok := w.text()
	if !ok {
		return
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		w.fault("expected a string in base64: " + brief(err.Error()))
		return
	}
	v.SetBytes(data)
}

func (w *walk) integer(v reflect.Value) {
	number, ok := w.expect(jsontext.Number, "integer")
	if !ok {
		return
	}
	n := jsontext.ParseInteger(number)
	if !n.Whole {
		w.fault("expected integer, got " + brief(string(number)))
		return
	}
	bits := v.Type().Bits()
	if v.CanInt() {
		if value, ok := n.Int64(); ok && !v.OverflowInt(value) {
			v.SetInt(value)
			return
		}
		low := int64(-1) << (bits - 1)
		w.fault(fmt.Sprintf("expected integer from %d to %d, got %s", low, -(low + 1), brief(string(number))))
		return
	}
	if n.Fits && !n.Negative && !v.OverflowUint(n.Magnitude) {
		v.SetUint(n.Magnitude)
		return
	}
	w.fault(fmt.Sprintf("expected integer from 0 to %d, got %s", ^uint64(0)>>(64-bits), brief(string(number))))
}

func (w *walk) float(v reflect.Value) {
	number, ok := w.expect(jsontext.Number, "number")
	if !ok {
		return
	}
	value, err := strconv.ParseFloat(string(number), v.Type().Bits())
	if err != nil {
		w.fault("expected number, got " + brief(string(number)) + ", which is out of range")
		return
	}
	v.SetFloat(value)
}
