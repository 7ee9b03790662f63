package vet

import (
	"go/types"
	"slices"
)

// kind is a type that variables of other packages have, with what can be reached from one. A reference of another type is
// none to that, whatever way the value came.
type kind struct {
	t types.Type
	reach
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

// kind is the number of the kind of something given. The last number is for all that are too many to tell apart.
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
	if len(w.kinds) == shortened-1 {
		w.kinds = append(w.kinds, kind{})
	} else {
		w.kinds = append(w.kinds, kind{t, reachable(t)})
	}
	return len(w.kinds) - 1
}

// nested reports whether there are references in what the kind refers to.
func (k kind) nested() bool { return k.t == nil || len(k.refs) > 1 }

// holds reports whether a reference of a type can be one to something of a kind.
func (k kind) holds(ref types.Type) bool {
	if k.t == nil || ref == nil || generic(ref) {
		return true
	}
	switch t := underlying(ref).(type) {
	case *types.Pointer:
		array, ok := underlying(t.Elem()).(*types.Array) // a slice converts to one
		return has(k.cells, t.Elem()) || ok && has(k.rows, array.Elem())
	case *types.Slice:
		return has(k.rows, t.Elem())
	case *types.Map:
		return has(k.maps, t)
	}
	return true
}

// has compares what is below the names: a conversion changes those alone.
func has(list []types.Type, t types.Type) bool {
	return slices.ContainsFunc(list, func(have types.Type) bool { return types.Identical(have, underlying(t)) })
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
		for f := range u.Fields() {
			if f.Exported() {
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
		for f := range u.Fields() {
			if f.Exported() {
				r.memory(f.Type())
			}
		}
	}
	r.value(t)
}

// refers reports whether a value of the type may refer to something that can be written.
func refers(t types.Type) bool { return refersWithin(t, 0) }

// maxRefersDepth is how many structs and arrays deep a reference is looked for.
const maxRefersDepth = 8

func refersWithin(t types.Type, depth int) bool {
	if t == nil || depth > maxRefersDepth {
		return t != nil
	}
	switch t := types.Unalias(t).Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Interface, *types.Signature, *types.Tuple:
		return true
	case *types.Array:
		return refersWithin(t.Elem(), depth+1)
	case *types.Struct:
		for f := range t.Fields() {
			if refersWithin(f.Type(), depth+1) {
				return true
			}
		}
	}
	return false
}
