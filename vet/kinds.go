package vet

import (
	"go/types"
	"reflect"
)

// kind is a type that variables of other packages have, with what can be reached from one. A reference of another type is
// none to that, whatever way the value came.
type kind struct {
	t types.Type
	reach
	inner int // the kind of what stands in one, or -1 where nothing there refers to anything
}

// given reports whether an object is something of another package that can be written through a copy: a variable, or a
// function that gives back the same thing every time. What an interface holds there has a type without an exported name,
// and no one outside gets behind it.
func (w *flow) given(obj types.Object) bool {
	if fn, ok := obj.(*types.Func); ok {
		return givers[nameOf(fn)]
	}
	return w.c.shared(obj) && !types.IsInterface(obj.Type())
}

// kind is the number of the kind of something given. The last number is for all that are too many to tell apart. What stands
// inside has a kind of its own, the next.
func (w *flow) kind(obj types.Object) int {
	t := obj.Type()
	if fn, ok := obj.(*types.Func); ok {
		t = fn.Signature().Results().At(0).Type()
	}
	for i, k := range w.kinds {
		if k.t == nil || types.Identical(k.t, t) {
			return i
		}
	}
	at := len(w.kinds)
	if at+2 >= shortened {
		w.kinds = append(w.kinds, kind{inner: at})
		return at
	}
	w.kinds = append(w.kinds, kind{t: t, reach: reachable(t), inner: -1})
	if in := inside(t); len(in.refs) > 0 {
		w.kinds[at].inner = at + 1
		w.kinds = append(w.kinds, kind{t: types.NewTuple(types.NewVar(0, nil, "", t)), reach: in, inner: at + 1})
	}
	return at
}

// inside is what can be reached from what a value refers to.
func inside(t types.Type) reach {
	r := reach{seen: map[types.Type]bool{}}
	switch u := underlying(t).(type) {
	case *types.Pointer:
		r.value(u.Elem())
	case *types.Slice:
		r.value(u.Elem())
	case *types.Map:
		r.value(u.Key())
		r.value(u.Elem())
	default:
		r.value(t)
	}
	return r
}

// within is the kind of what stands in something of a kind, where there are references.
func (w *flow) within(k kind) (kind, bool) {
	if k.inner < 0 {
		return k, false
	}
	return w.kinds[k.inner], true
}

// holds reports whether a reference of a type can be one to something of a kind.
func (w *flow) holds(k kind, ref types.Type) bool {
	return k.t == nil || ref == nil || matcher{w, map[match]bool{}}.holds(k, ref)
}

func (m matcher) holds(k kind, ref types.Type) bool {
	if p, ok := types.Unalias(ref).(*types.TypeParam); ok {
		return m.standsFor(p, nil, func(arg types.Type) bool { return m.holds(k, arg) })
	}
	switch t := underlying(ref).(type) {
	case *types.Pointer:
		array, ok := underlying(t.Elem()).(*types.Array) // a slice converts to one
		return m.any(k.cells, t.Elem()) || ok && m.any(k.rows, array.Elem())
	case *types.Slice:
		return m.any(k.rows, t.Elem())
	case *types.Map:
		return m.any(k.maps, t)
	}
	return true
}

// excludes reports whether a node is of a type that refers to nothing but flat memory, and not of a kind: bytes that were
// decoded by an encoding are no copy of the encoding.
func (w *flow) excludes(n node, k kind) bool {
	t := n.obj.Type()
	switch u := underlying(t).(type) {
	case *types.Pointer:
		return !w.refers(u.Elem()) && (n.elem || !w.holds(k, t))
	case *types.Slice, *types.Map:
		return !w.holdsReferences(t) && (n.elem || !w.holds(k, t))
	}
	return false
}

// reachable is what can be reached from a value, outside the package of its type.
func reachable(t types.Type) reach {
	r := reach{seen: map[types.Type]bool{}}
	r.value(t)
	return r
}

// reach is the types of the memory that pointers can point to, that slices can be of, and of maps; and the types of all
// references and the fields on the way.
type reach struct {
	cells, rows, maps, refs []types.Type
	fields                  []*types.Var
	seen                    map[types.Type]bool
	tag                     string // of the decoder that reaches it, or ""
}

// sees reports whether a field is one that code outside can name, or that a decoder fills.
func (r *reach) sees(f *types.Var, tag string) bool {
	if r.tag == "" {
		return f.Exported()
	}
	return (f.Exported() || f.Embedded()) && reflect.StructTag(tag).Get(r.tag) != "-"
}

// value adds what a value refers to.
func (r *reach) value(t types.Type) {
	if r.seen[t] {
		return
	}
	r.seen[t] = true
	switch u := underlying(t).(type) {
	case *types.Pointer:
		r.refs = append(r.refs, t)
		r.memory(u.Elem())
	case *types.Slice:
		r.refs = append(r.refs, t)
		r.rows = append(r.rows, underlying(u.Elem()))
		r.memory(u.Elem())
	case *types.Map:
		r.refs = append(r.refs, t)
		r.maps = append(r.maps, u)
		r.value(u.Key())
		r.value(u.Elem())
	case *types.Chan:
		r.value(u.Elem())
	case *types.Array:
		r.value(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			f := u.Field(i)
			if r.sees(f, u.Tag(i)) {
				r.fields = append(r.fields, f)
				r.value(f.Type())
			}
		}
	}
}

// memory adds what can be written, its parts and what they refer to.
func (r *reach) memory(t types.Type) {
	r.cells = append(r.cells, underlying(t))
	switch u := underlying(t).(type) {
	case *types.Array:
		r.rows = append(r.rows, underlying(u.Elem()))
		r.memory(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			f := u.Field(i)
			if r.sees(f, u.Tag(i)) {
				r.memory(f.Type())
			}
		}
	}
	r.value(t)
}

// refers reports whether a value of a type may refer to something that can be written.
func (w *flow) refers(t types.Type) bool {
	if t == nil {
		return false
	}
	known, ok := w.referring[t]
	if !ok {
		w.referring[t] = false // for a type that is an error, of which it is a part
		known = w.refersAtAll(t)
		w.referring[t] = known
	}
	return known
}

func (w *flow) refersAtAll(t types.Type) bool {
	switch t := types.Unalias(t).Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Interface, *types.Signature, *types.Tuple:
		return true
	case *types.Array:
		return w.refers(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if w.refers(f.Type()) {
				return true
			}
		}
	}
	return false
}
