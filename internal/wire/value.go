package wire

import "math"

// Type is which of the eight a [Value] is.
type Type uint8

// The types of a value. Nil is that of the zero Value.
const (
	TypeNil Type = iota
	TypeBool
	TypeInt
	TypeFloat
	TypeString
	TypeBin
	TypeList
	TypeMap
)

var typeNames = [...]string{"nil", "bool", "int", "float", "str", "bin", "list", "map"}

// String is the type's name as the protocol writes it.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "unknown"
}

// Value is one MessagePack value: a closed sum of eight types. The zero Value is nil.
//
// Its readers coerce nothing. Each answers for its own type and for no other, so that text is never read as bytes and an
// integer never as a float.
type Value struct {
	num    uint64 // a bool as 0 or 1, an int's two's complement, a float's bits
	raw    []byte // the bytes of a str or a bin
	list   []Value
	fields []Field
	typ    Type
}

// Field is one entry of a map. Its order among the others is kept, and means nothing.
type Field struct {
	Key   string
	Value Value
}

// Nil is the absent value.
func Nil() Value { return Value{} }

// Bool is a truth value.
func Bool(b bool) Value {
	if b {
		return Value{typ: TypeBool, num: 1}
	}
	return Value{typ: TypeBool}
}

// Int is an integer.
func Int(n int64) Value { return Value{typ: TypeInt, num: uint64(n)} }

// Float is a double, NaN and the infinities included.
func Float(f float64) Value { return Value{typ: TypeFloat, num: math.Float64bits(f)} }

// String is text. Bytes that are no UTF-8 are replaced when it is written.
func String(s string) Value { return Value{typ: TypeString, raw: []byte(s)} }

// Text is text from bytes, which it keeps and does not copy. Bytes that are no UTF-8 are replaced when it is written.
func Text(b []byte) Value { return Value{typ: TypeString, raw: b} }

// Bin is bytes, which it keeps and does not copy.
func Bin(b []byte) Value { return Value{typ: TypeBin, raw: b} }

// List is a list of the values, which it keeps and does not copy.
func List(values ...Value) Value { return Value{typ: TypeList, list: values} }

// Map is a map of the fields, which it keeps and does not copy. Their keys must differ: a map with the same key twice cannot
// be written.
func Map(fields ...Field) Value { return Value{typ: TypeMap, fields: fields} }

// Type is which of the eight the value is.
func (v Value) Type() Type { return v.typ }

// AsBool is the truth value, if that is what it is.
func (v Value) AsBool() (b, ok bool) { return v.typ == TypeBool && v.num != 0, v.typ == TypeBool }

// AsInt is the integer, if that is what it is. A float is none, however whole.
func (v Value) AsInt() (int64, bool) {
	if v.typ != TypeInt {
		return 0, false
	}
	return int64(v.num), true
}

// AsFloat is the double, if that is what it is. An integer is none.
func (v Value) AsFloat() (float64, bool) {
	if v.typ != TypeFloat {
		return 0, false
	}
	return math.Float64frombits(v.num), true
}

// AsString is a copy of the text, if that is what it is.
func (v Value) AsString() (string, bool) {
	if v.typ != TypeString {
		return "", false
	}
	return string(v.raw), true
}

// AsText is the text's bytes, if that is what it is. They alias the frame and are not to be changed.
func (v Value) AsText() ([]byte, bool) {
	if v.typ != TypeString {
		return nil, false
	}
	return v.raw, true
}

// AsBin is the bytes, if that is what it is. They alias the frame.
func (v Value) AsBin() ([]byte, bool) {
	if v.typ != TypeBin {
		return nil, false
	}
	return v.raw, true
}

// AsList is the list's values, if that is what it is.
func (v Value) AsList() ([]Value, bool) {
	if v.typ != TypeList {
		return nil, false
	}
	return v.list, true
}

// AsMap is the map's fields in the order they came, if that is what it is.
func (v Value) AsMap() ([]Field, bool) {
	if v.typ != TypeMap {
		return nil, false
	}
	return v.fields, true
}

// Get is the value under a key of a map. It is not ok where the key is missing and where the value is no map.
func (v Value) Get(key string) (Value, bool) {
	for i := range v.fields {
		if v.fields[i].Key == key {
			return v.fields[i].Value, true
		}
	}
	return Value{}, false
}
