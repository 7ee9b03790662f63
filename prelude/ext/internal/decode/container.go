package decode

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

func (w *walk) structure(v reflect.Value, shape *shape, depth int) {
	if shape.problem != "" {
		w.fault(shape.problem)
		w.skip()
		return
	}
	if !w.expectOpen(jsontext.Object) {
		return
	}
	var seen bitset
	for first := true; w.more(first); first = false {
		field, ok := shape.field(w.name())
		if !ok {
			w.skip()
			continue
		}
		w.enter(step{name: field.name})
		if seen.add(field.number) {
			w.twice()
		} else if target, ok := reach(v, field.index); ok {
			w.value(target, depth+1)
		} else {
			w.unreachable()
		}
		w.leave()
	}
}

// reach finds a field, making the embedded structs on the way to it.
func reach(v reflect.Value, index []int) (reflect.Value, bool) {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				if !v.CanSet() {
					return v, false
				}
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v, true
}

func (w *walk) table(v reflect.Value, depth int) {
	keyType := v.Type().Key()
	byText := reflect.PointerTo(keyType).Implements(textUnmarshaler)
	if !byText && keyType.Kind() != reflect.String {
		w.unfit(v.Type())
		return
	}
	if !w.expectOpen(jsontext.Object) {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for first := true; w.more(first); first = false {
		name, ok := unquote(w.name())
		w.enter(step{name: name})
		key := reflect.New(keyType).Elem()
		switch {
		case !ok:
			w.fault("the name: " + noText)
			w.skip()
		case byText && !w.textKey(key, name):
			w.skip()
		default:
			if !byText {
				key.SetString(name)
			}
			if v.MapIndex(key).IsValid() {
				w.twice()
				break
			}
			element := reflect.New(v.Type().Elem()).Elem()
			w.value(element, depth+1)
			v.SetMapIndex(key, element)
		}
		w.leave()
	}
}

func (w *walk) textKey(key reflect.Value, name string) bool {
	err := key.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(name))
	if err != nil {
		w.fault("the name: " + brief(err.Error()))
		return false
	}
	if !key.Comparable() {
		w.fault("the Go type " + key.Type().String() + " made a map key that cannot be compared")
		return false
	}
	return true
}

func (w *walk) twice() {
	w.fault("given twice")
	w.skip()
}

func (w *walk) slice(v reflect.Value, depth int) {
	if !w.expectOpen(jsontext.Array) {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for n := 0; w.more(n == 0); n++ {
		v.Grow(1)
		v.SetLen(n + 1)
		v.Index(n).SetZero() // Grow does not promise it
		w.enter(step{index: n, element: true})
		w.value(v.Index(n), depth+1)
		w.leave()
	}
}

func (w *walk) array(v reflect.Value, depth int) {
	if !w.expectOpen(jsontext.Array) {
		return
	}
	n := 0
	for ; w.more(n == 0); n++ {
		if n >= v.Len() {
			w.skip()
			continue
		}
		w.enter(step{index: n, element: true})
		w.value(v.Index(n), depth+1)
		w.leave()
	}
	if n != v.Len() {
		w.fault(fmt.Sprintf("expected %d items, got %d", v.Len(), n))
	}
}

// any decodes into an interface, as the types a JSON decoder gives. What does
// not fit is a fault and a nil.
func (w *walk) any(depth int) any {
	if depth > MaxDepth {
		w.fault("nested deeper than " + strconv.Itoa(MaxDepth) + " levels")
		w.skip()
		return nil
	}
	switch w.kind() {
	case jsontext.Object:
		w.at++
		return w.anyObject(depth)
	case jsontext.Array:
		w.at++
		list := []any{}
		for first := true; w.more(first); first = false {
			w.enter(step{index: len(list), element: true})
			list = append(list, w.any(depth+1))
			w.leave()
		}
		return list
	case jsontext.String:
		text, _ := w.text()
		return text
	case jsontext.Number:
		return w.anyNumber()
	case jsontext.Boolean:
		return w.skip()[0] == 't'
	default:
		w.skip()
		return nil
	}
}

func (w *walk) anyObject(depth int) map[string]any {
	object := map[string]any{}
	for first := true; w.more(first); first = false {
		name, ok := unquote(w.name())
		w.enter(step{name: name})
		if _, twice := object[name]; !ok {
			w.fault("the name: " + noText)
			w.skip()
		} else if twice {
			w.twice()
		} else {
			object[name] = w.any(depth + 1)
		}
		w.leave()
	}
	return object
}

func (w *walk) anyNumber() any {
	number := string(w.skip())
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		w.fault("expected number, got " + brief(number) + ", which is out of range")
		return nil
	}
	if !strings.ContainsAny(number, ".eE") {
		if n := jsontext.ParseInteger([]byte(number)); !n.Fits || n.Magnitude > maxExact {
			return json.Number(number)
		}
	}
	return value
}

// maxExact is the largest integer up to which a float64 holds every one.
const maxExact = 1 << 53

// unquote gives a member's name, and its text as it stands where it has no other.
func unquote(quoted []byte) (string, bool) {
	name, ok := jsontext.Unquote(quoted)
	if !ok {
		return string(quoted), false
	}
	return name, true
}
