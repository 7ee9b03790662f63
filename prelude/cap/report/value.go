// Package report shows the host something while an invocation is still open, and
// holds the values that travel between an extension and its host. Reporting needs no
// capability.
//
// [Emit] hands over an artifact, which the host keeps under the id that it answers:
// a name of 1 to 255 bytes and a content type of 1 to 127, neither with a control or
// format character, and at most 15 MiB of data; one invocation emits at most 64, and
// 64 MiB together. [Partial] shows a line of progress, which nobody keeps: at most
// 64 KiB of text, 6,000 of them and 4 MiB together. What is beyond that is lost.
//
// What the host refuses of Emit is an [Error], with the codes unauthorized, deadline and
// cancelled, and too_large for a longer one, policy for too many or for a store that
// is full, invalid_argument for a name that cannot be, and unavailable where the host
// keeps no artifacts. Package cap has the codes as constants.
//
// The rest of this package, [Value] with its constructors and readers, is for what
// speaks to the channel: the capability packages, and an author's tests with captest.
// The source of an extension has no use for it, and vetting refuses it there, because
// a Value is the channel's own type.
//
// A value is one of nil, bool, int, float, string, bytes, list and map. The readers
// coerce nothing: an int is not a float, text is not bytes, and nil is not an empty
// anything. What does not have the wanted shape is a [ShapeError] that names the
// field. Strings, bytes and lists read from a value share memory with the message
// they came in, so treat them as read-only.
package report

import (
	"fmt"

	"github.com/loomext/loomext/internal/wire"
)

// Value is one value. It is made with the constructors below and read with its own
// As methods or with the At functions.
type Value = wire.Value

// Field is one entry of a map.
type Field = wire.Field

// Nil is the value that is nothing.
func Nil() Value { return wire.Nil() }

// Bool is a truth value.
func Bool(b bool) Value { return wire.Bool(b) }

// Int is a whole number.
func Int(n int64) Value { return wire.Int(n) }

// Float is a number that need not be whole.
func Float(f float64) Value { return wire.Float(f) }

// String is text. Bytes that are no UTF-8 are replaced when it is sent.
func String(s string) Value { return wire.String(s) }

// Text is text that already lies in bytes. They are not copied.
func Text(b []byte) Value { return wire.Text(b) }

// Bytes is binary data. It is not copied.
func Bytes(b []byte) Value { return wire.Bin(b) }

// List is a list. It is not copied.
func List(items ...Value) Value { return wire.List(items...) }

// Map is a map with its entries in the order given.
func Map(fields ...Field) Value { return wire.Map(fields...) }

// Strings is a map from text to text, in no particular order.
func Strings(m map[string]string) Value {
	fields := make([]Field, 0, len(m))
	for k, v := range m {
		fields = append(fields, Field{Key: k, Value: wire.String(v)})
	}
	return wire.Map(fields...)
}

// ShapeError is a value that is not what it had to be.
type ShapeError struct {
	// Field is the path of the value, like "entries[2].name".
	Field string
	// Want and Have are types in words. Have is "missing" where there is no value.
	Want, Have string
}

// Error names the field and both sides of the disagreement.
func (e *ShapeError) Error() string {
	if e.Have == missing {
		return fmt.Sprintf("%s is missing; want %s", e.Field, e.Want)
	}
	return fmt.Sprintf("%s is %s; want %s", e.Field, e.Have, e.Want)
}

const missing = "missing"

// TypeName is the type of v in words.
func TypeName(v Value) string {
	switch v.Type() {
	case wire.TypeNil:
		return "nil"
	case wire.TypeBool:
		return "a bool"
	case wire.TypeInt:
		return "an int"
	case wire.TypeFloat:
		return "a float"
	case wire.TypeString:
		return "a string"
	case wire.TypeBin:
		return "bytes"
	case wire.TypeList:
		return "a list"
	case wire.TypeMap:
		return "a map"
	}
	return "of no known type"
}

// at is the reader all At functions share.
func at[T any](v Value, field, want string, as func(Value) (T, bool)) (T, error) {
	var none T
	if _, ok := v.AsMap(); !ok {
		return none, &ShapeError{Field: "the value", Want: "a map with " + field, Have: TypeName(v)}
	}
	got, ok := v.Get(field)
	if !ok {
		return none, &ShapeError{Field: field, Want: want, Have: missing}
	}
	out, ok := as(got)
	if !ok {
		return none, &ShapeError{Field: field, Want: want, Have: TypeName(got)}
	}
	return out, nil
}

// BoolAt reads a field that must be a bool.
func BoolAt(v Value, field string) (bool, error) { return at(v, field, "a bool", Value.AsBool) }

// IntAt reads a field that must be an int.
func IntAt(v Value, field string) (int64, error) { return at(v, field, "an int", Value.AsInt) }

// FloatAt reads a field that must be a float.
func FloatAt(v Value, field string) (float64, error) {
	return at(v, field, "a float", Value.AsFloat)
}

// StringAt reads a field that must be text.
func StringAt(v Value, field string) (string, error) {
	return at(v, field, "a string", Value.AsString)
}

// BytesAt reads a field that must be binary data.
func BytesAt(v Value, field string) ([]byte, error) { return at(v, field, "bytes", Value.AsBin) }

// ListAt reads a field that must be a list.
func ListAt(v Value, field string) ([]Value, error) { return at(v, field, "a list", Value.AsList) }

// StringsAt reads a field that must be a map from text to text.
func StringsAt(v Value, field string) (map[string]string, error) {
	fields, err := at(v, field, "a map", Value.AsMap)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(fields))
	for _, f := range fields {
		s, ok := f.Value.AsString()
		if !ok {
			return nil, &ShapeError{Field: fmt.Sprintf("%s[%q]", field, f.Key), Want: "a string", Have: TypeName(f.Value)}
		}
		out[f.Key] = s
	}
	return out, nil
}

// Within puts a name in front of the field a [ShapeError] names, for a reader that
// went into a list. Any other error stays as it is.
func Within(name string, err error) error {
	if e, ok := err.(*ShapeError); ok {
		return &ShapeError{Field: name + "." + e.Field, Want: e.Want, Have: e.Have}
	}
	return err
}
