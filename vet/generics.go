package vet

import (
	"go/types"
	"slices"
)

// matcher compares types of generic code with types of other packages: a type parameter is any of what it stands for.
type matcher struct {
	w    *flow
	seen map[match]bool
}

// match is a question that was asked.
type match struct {
	param *types.TypeParam
	have  types.Type
}

// any reports whether a type may be one of a list. What is below the names is compared: a conversion changes those alone.
func (m matcher) any(list []types.Type, t types.Type) bool {
	return slices.ContainsFunc(list, func(have types.Type) bool { return m.like(t, have, 0) })
}

// like reports whether a type may be another one, which is not generic.
func (m matcher) like(t, have types.Type, depth int) bool {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		return m.standsFor(p, have, func(arg types.Type) bool { return m.like(arg, have, depth) })
	}
	if depth == 0 && types.Identical(underlying(t), underlying(have)) || depth > 0 && types.Identical(t, have) {
		return true
	}
	if !m.w.generic(t) {
		return false
	}
	if depth++; depth > maxTypeDepth {
		return true
	}
	switch t := underlying(t).(type) {
	case *types.Pointer:
		have, ok := underlying(have).(*types.Pointer)
		return ok && m.like(t.Elem(), have.Elem(), depth)
	case *types.Slice:
		have, ok := underlying(have).(*types.Slice)
		return ok && m.like(t.Elem(), have.Elem(), depth)
	case *types.Array:
		have, ok := underlying(have).(*types.Array)
		return ok && t.Len() == have.Len() && m.like(t.Elem(), have.Elem(), depth)
	case *types.Map:
		have, ok := underlying(have).(*types.Map)
		return ok && m.like(t.Key(), have.Key(), depth) && m.like(t.Elem(), have.Elem(), depth)
	case *types.Struct:
		have, ok := underlying(have).(*types.Struct)
		if !ok || t.NumFields() != have.NumFields() {
			return false
		}
		for i := range t.NumFields() {
			if !m.like(t.Field(i).Type(), have.Field(i).Type(), depth) {
				return false
			}
		}
		return true
	}
	return true
}

// maxTypeDepth is how deep types are looked into for type parameters.
const maxTypeDepth = 8

// maxArguments is how many types a type parameter stands for one by one. With more it stands for any.
const maxArguments = 64

// standsFor reports whether something is so for a type that a parameter stands for. One of another package's stands for any.
func (m matcher) standsFor(p *types.TypeParam, have types.Type, is func(types.Type) bool) bool {
	if !m.w.c.own(p.Obj().Pkg()) {
		return true
	}
	if m.seen[match{p, have}] {
		return false
	}
	m.seen[match{p, have}] = true
	args := m.w.argumentsOf(p)
	return len(args) > maxArguments || slices.ContainsFunc(args, is)
}

// argumentsOf is what a type parameter is instantiated with.
func (w *flow) argumentsOf(p *types.TypeParam) []types.Type {
	if w.instances == nil {
		w.instances = map[*types.TypeParam][]types.Type{}
		w.instantiated()
	}
	return w.instances[p]
}

func (w *flow) instantiated() {
	add := func(p *types.TypeParam, arg types.Type) {
		have := w.instances[p]
		if len(have) <= maxArguments && !slices.ContainsFunc(have, func(t types.Type) bool { return types.Identical(t, arg) }) {
			w.instances[p] = append(have, arg)
		}
	}
	for id, instance := range w.c.info.Instances {
		var params *types.TypeParamList
		switch obj := w.c.info.Uses[id].(type) {
		case *types.Func:
			params = obj.Origin().Signature().TypeParams()
		case *types.TypeName:
			switch t := obj.Type().(type) {
			case *types.Alias:
				params = t.Origin().TypeParams()
			case *types.Named:
				params = t.Origin().TypeParams()
			}
		}
		for i := range min(params.Len(), instance.TypeArgs.Len()) {
			add(params.At(i), instance.TypeArgs.At(i))
		}
	}
	for _, obj := range w.c.info.Defs { // a method has parameters of its own for its type's
		fn, ok := obj.(*types.Func)
		if !ok || fn.Signature().RecvTypeParams().Len() == 0 {
			continue
		}
		t := types.Unalias(fn.Signature().Recv().Type())
		if p, ok := t.(*types.Pointer); ok {
			t = types.Unalias(p.Elem())
		}
		if named, ok := t.(*types.Named); ok {
			of := named.Origin().TypeParams()
			for i := range min(of.Len(), fn.Signature().RecvTypeParams().Len()) {
				add(fn.Signature().RecvTypeParams().At(i), of.At(i))
			}
		}
	}
}

// generic reports whether a type depends on a type parameter.
func (w *flow) generic(t types.Type) bool {
	known, ok := w.generics[t]
	if !ok {
		known = w.genericAtAll(t)
		w.generics[t] = known
	}
	return known
}

func (w *flow) genericAtAll(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return true
	case *types.Pointer:
		return w.generic(t.Elem())
	case *types.Slice:
		return w.generic(t.Elem())
	case *types.Array:
		return w.generic(t.Elem())
	case *types.Chan:
		return w.generic(t.Elem())
	case *types.Map:
		return w.generic(t.Key()) || w.generic(t.Elem())
	case *types.Signature:
		return w.generic(t.Params()) || w.generic(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			if w.generic(v.Type()) {
				return true
			}
		}
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if w.generic(arg) {
				return true
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if w.generic(f.Type()) {
				return true
			}
		}
	}
	return false
}

// signature is of a function's type, and of a type parameter that stands for functions.
func signature(t types.Type) *types.Signature { return signatureWithin(t, 0) }

func signatureWithin(t types.Type, depth int) *types.Signature {
	switch u := underlying(t).(type) {
	case *types.Signature:
		return u
	case *types.Interface:
		if depth > maxTypeDepth {
			return nil
		}
		for e := range u.EmbeddedTypes() {
			if union, ok := e.(*types.Union); ok && union.Len() > 0 {
				e = union.Term(0).Type()
			}
			if sig := signatureWithin(e, depth+1); sig != nil {
				return sig
			}
		}
	}
	return nil
}
