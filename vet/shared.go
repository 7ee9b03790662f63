package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// shared reports whether an object is a variable of a package that is not the extension's.
func (c *checker) shared(obj types.Object) bool {
	v, ok := obj.(*types.Var)
	return ok && v.Pkg() != nil && !c.own(v.Pkg()) && v.Parent() == v.Pkg().Scope()
}

// sink is a place that writes. The first of its ways in that may lead to something of another package is reported.
type sink struct {
	pos  token.Pos
	ways []way
	what string // with a place for what it is
	fix  string
}

// way is where a reference that is written through comes from. A write into the room of a slice needs a slice that was cut.
type way struct {
	items []item
	ref   types.Type // of the reference, or nil where it may be any
	room  bool
}

// judge reports a sink after all ways of values are known.
func (w *flow) judge(s sink) {
	for _, one := range s.ways {
		for _, in := range one.items {
			if from := w.origin(in, one); from != nil {
				w.c.once(s.pos, LintVariable, fmt.Sprintf(s.what, givenText(from)), s.fix)
				return
			}
		}
	}
}

// origin is what of another package an item may be a copy of, where one like that is written through.
func (w *flow) origin(in item, at way) types.Object {
	if in.held {
		return nil
	}
	if w.given(in.obj) {
		if k := w.kinds[w.kind(in.obj)]; (!at.room || in.short) && (!in.inner && !in.elem || k.nested()) && k.holds(at.ref) {
			return in.obj
		}
		return nil
	}
	for i, k := range w.kinds {
		if in.inner && !k.nested() {
			continue
		}
		m := mark{in.node, i}
		if at.room && !in.short {
			m.kind += shortened
		}
		if from := w.from[m]; from != nil && k.holds(at.ref) {
			return from
		}
	}
	return nil
}

// look finds what one node writes to, and what it takes the address of.
func (w *flow) look(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt, *ast.IncDecStmt, *ast.RangeStmt:
		writes(n, w.written)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			w.addressed(n.X, n.Pos())
		}
	case *ast.SelectorExpr:
		w.method(n)
	case *ast.CallExpr:
		w.passed(n)
	}
}

// written refuses a write to a variable of another package and through a copy of one.
func (w *flow) written(left ast.Expr) {
	if left == nil {
		return
	}
	if obj := w.root(left); obj != nil {
		w.c.once(left.Pos(), LintVariable, "a write to "+objectText(obj)+", which belongs to another package", "keep the value in a variable of your own")
		return
	}
	s := sink{pos: left.Pos(), what: "a write through a copy of %s, which belongs to another package", fix: "make a value of your own and change that"}
	behind := func(x ast.Expr) {
		s.ways = append(s.ways, way{items: w.sources(x), ref: w.c.info.TypeOf(x)})
	}
	for e := left; e != nil; {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
			continue
		case *ast.StarExpr:
			behind(x.X)
			if w.whole(left, x.X) {
				return
			}
			e = x.X
		case *ast.IndexExpr:
			if _, array := underlying(w.c.info.TypeOf(x.X)).(*types.Array); !array {
				behind(x.X)
			}
			e = x.X
		case *ast.SelectorExpr:
			if w.c.info.Selections[x] == nil {
				e = nil
				continue
			}
			s.ways = append(s.ways, way{items: w.embedded(x), ref: types.NewPointer(w.c.info.TypeOf(left))})
			if _, pointer := underlying(w.c.info.TypeOf(x.X)).(*types.Pointer); pointer {
				behind(x.X)
			}
			e = x.X
		default:
			e = nil
		}
	}
	if len(s.ways) > 0 {
		w.sinks = append(w.sinks, s)
	}
}

// whole refuses to replace all that a pointer points to where another package has a variable of that type, wherever the
// pointer comes from, unless it is plainly one to a value that the function made.
func (w *flow) whole(at, pointer ast.Expr) bool {
	p, ok := underlying(w.c.info.TypeOf(pointer)).(*types.Pointer)
	if !ok || w.madeHere(pointer) {
		return false
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || w.c.own(named.Obj().Pkg()) {
		return false
	}
	scope := named.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		v, ok := scope.Lookup(name).(*types.Var)
		if ok && v.Exported() && types.Identical(v.Type(), p) {
			w.c.once(at.Pos(), LintVariable, fmt.Sprintf("a write over a %s, which may be the one that %s points to", typeText(named), objectText(v)), "make a value of your own and point to that")
			return true
		}
	}
	return false
}

// madeHere reports whether a pointer is a variable that was only ever given pointers to what was made on the spot.
func (w *flow) madeHere(pointer ast.Expr) bool {
	if w.new(pointer) {
		return true
	}
	id, ok := ast.Unparen(pointer).(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := w.c.info.ObjectOf(id).(*types.Var)
	if !ok {
		return false
	}
	m := w.made[node{obj: v, at: w.version(v, id.Pos())}]
	return m.own && !m.other
}

// addressed refuses the address of a variable of another package, and of its parts.
func (w *flow) addressed(e ast.Expr, pos token.Pos) {
	if obj := w.root(e); obj != nil {
		w.c.once(pos, LintVariable, "the address of "+objectText(obj)+", which belongs to another package", "copy the value into a variable of your own")
	}
}

// method refuses a method that takes the address of a variable of another package for its receiver, and one that changes
// what it is called on.
func (w *flow) method(sel *ast.SelectorExpr) {
	selection := w.c.info.Selections[sel]
	if selection == nil || selection.Kind() != types.MethodVal {
		return
	}
	fn, ok := selection.Obj().(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return
	}
	_, wants := fn.Signature().Recv().Type().(*types.Pointer)
	_, has := underlying(w.c.info.TypeOf(sel.X)).(*types.Pointer)
	if wants && !has && len(selection.Index()) == 1 {
		w.addressed(sel.X, sel.Pos())
	}
	if m := w.writes(fn); m.receiver {
		w.change(sel.Pos(), way{items: w.receiver(sel), ref: fn.Signature().Recv().Type()})
	}
}

// passed refuses to hand what belongs to another package to a function that changes it.
func (w *flow) passed(call *ast.CallExpr) {
	args := w.arguments(call)
	if len(args) == 0 {
		return
	}
	position := func(i int) token.Pos { return call.Args[min(i, len(call.Args)-1)].Pos() }
	switch obj := w.calledObject(call).(type) {
	case *types.Builtin:
		switch obj.Name() {
		case "clear", "copy", "delete":
			w.change(position(0), way{items: args[0], ref: w.c.info.TypeOf(call.Args[0])})
		case "append":
			if clipped(call.Args[0]) {
				return
			}
			w.change(position(0), way{items: args[0], ref: w.c.info.TypeOf(call.Args[0]), room: true})
		}
	case *types.Func:
		m := w.writes(obj)
		shift := 0
		if sel, ok := functionOf(call).(*ast.SelectorExpr); ok && w.methodExpression(sel) {
			shift = 1
			if m.receiver && len(args) > 0 {
				w.change(position(0), way{items: args[0]})
			}
		}
		if m.none() {
			return
		}
		for i := m.at + shift; i < len(args); i++ {
			one := way{items: args[i], room: m.room}
			switch {
			case m.rest && call.Ellipsis.IsValid():
				one.items = elements(args[i])
			case len(args) == len(call.Args):
				one.ref = w.c.info.TypeOf(call.Args[i])
				if m.deep {
					w.deep(position(i), args[i], one.ref)
				}
			}
			w.change(position(i), one)
			if !m.rest {
				break
			}
		}
	}
}

func (w *flow) change(pos token.Pos, one way) {
	w.sinks = append(w.sinks, sink{pos, []way{one}, "a write to %s, which belongs to another package", "change a copy of it: slices.Clone or maps.Clone makes one"})
}

// deep is a write to all that can be reached from a value of a type.
func (w *flow) deep(pos token.Pos, items []item, t types.Type) {
	items = elements(elements(items))
	in := reachable(t)
	for _, ref := range in.refs {
		w.change(pos, way{items: items, ref: ref})
	}
	for _, field := range in.fields {
		if refers(field.Type()) {
			w.change(pos, way{items: []item{{node: node{obj: field.Origin()}}}, ref: field.Type()})
		}
	}
}

// writer is a function of another package that is a value: what it is called with is not known there.
func (w *flow) writer(id *ast.Ident, fn *types.Func, h *hub) {
	if m := w.writes(fn); !m.none() && m.at < len(h.params) {
		w.change(id.Pos(), way{items: []item{{node: h.params[m.at]}}, room: m.room})
	}
}

// root is the variable of another package that an expression is, is a part of or is behind.
func (w *flow) root(e ast.Expr) types.Object {
	for e != nil {
		switch x := e.(type) {
		case *ast.Ident:
			if obj := w.c.info.Uses[x]; w.c.shared(obj) {
				return obj
			}
			return nil
		case *ast.SelectorExpr:
			if obj := w.c.info.Uses[x.Sel]; w.c.shared(obj) {
				return obj
			}
			e = x.X
		default:
			e = operand(x)
		}
	}
	return nil
}

func objectText(obj types.Object) string { return obj.Pkg().Name() + "." + obj.Name() }

// givenText is something of another package, as a reader would say it.
func givenText(obj types.Object) string {
	if _, ok := obj.(*types.Func); ok {
		return "what " + objectText(obj) + " gives"
	}
	return objectText(obj)
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return types.Unalias(t).Underlying()
}
