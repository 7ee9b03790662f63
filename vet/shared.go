package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
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
			if by, ok := w.origin(in, one); ok {
				w.refuse(s, by)
				return
			}
		}
	}
}

func (w *flow) refuse(s sink, by arrival) {
	w.c.once(s.pos, LintVariable, fmt.Sprintf(s.what, w.givenText(by)), s.fix)
}

// origin is what of another package an item may be a copy of, where one like that is written through.
func (w *flow) origin(in item, at way) (by arrival, ok bool) {
	if in.held {
		return by, false
	}
	if w.given(in.obj) {
		k := w.kinds[w.kind(in.obj)]
		if in.inner || in.elem {
			if k, ok = w.within(k); !ok {
				return by, false
			}
		}
		return arrival{from: in.obj}, (!at.room || in.short) && w.holds(k, at.ref)
	}
	for i, k := range w.kinds {
		if in.inner {
			if k, ok = w.within(k); !ok {
				continue
			}
		}
		m := mark{in.node, i}
		if at.room && !in.short {
			m.kind += shortened
		}
		if by, ok = w.from[m]; ok && w.holds(k, at.ref) {
			return by, true
		}
	}
	return by, false
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
	switch m := w.writes(fn); {
	case m.receiver:
		w.change(sel.Pos(), way{items: w.receiver(sel), ref: fn.Signature().Recv().Type()})
	case ofInterface(fn) && (fn.Name() == "Sort" || fn.Name() == "Swap"): // of sort.StringSlice
		w.change(sel.Pos(), way{items: w.receiver(sel), ref: types.NewSlice(types.Typ[types.String])})
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
			var ways []way
			switch {
			case m.rest && call.Ellipsis.IsValid():
				one.items = elements(args[i])
			case len(args) == len(call.Args):
				one.ref = w.c.info.TypeOf(call.Args[i])
				if i == m.at && methods(obj, i-shift) {
					ways = w.embeds(one.ref, 0)
				}
				if m.deep {
					w.decodes = append(w.decodes, decode{position(i), args[i], one.ref, obj.Pkg().Name()})
				}
			}
			w.change(position(i), append(ways, one)...)
			if !m.rest {
				break
			}
		}
	}
}

// methods reports whether a function calls methods of an argument.
func methods(fn *types.Func, at int) bool {
	params := fn.Signature().Params()
	if at < 0 || at >= params.Len() {
		return false
	}
	i, ok := underlying(params.At(at).Type()).(*types.Interface)
	return ok && i.NumMethods() > 0
}

// embeds is the fields by which a structure has the methods of what stands in them.
func (w *flow) embeds(t types.Type, depth int) []way {
	s := structure(t)
	if s == nil || depth > maxTypeDepth {
		return nil
	}
	var ways []way
	for f := range s.Fields() {
		if f.Embedded() && w.refers(f.Type()) {
			ways = append(ways, way{items: []item{{node: node{obj: f.Origin()}}}, ref: f.Type()})
			ways = append(ways, w.embeds(f.Type(), depth+1)...)
		}
	}
	return ways
}

func (w *flow) change(pos token.Pos, ways ...way) {
	w.sinks = append(w.sinks, changed(pos, ways...))
}

func changed(pos token.Pos, ways ...way) sink {
	return sink{pos, ways, "a write to %s, which belongs to another package", "change a copy of it: slices.Clone or maps.Clone makes one"}
}

// writer is a function of another package that is a value: what it is called with is not known there. shift is 1 for a
// method that has its receiver as an argument.
func (w *flow) writer(id *ast.Ident, fn *types.Func, h *hub, shift int) {
	if givers[nameOf(fn)] {
		w.link(h.result, []item{{node: node{obj: fn}}})
	}
	m := w.writes(fn)
	at := m.at + shift
	if m.none() && !m.receiver || at < 0 || at >= len(h.params) {
		return
	}
	items := []item{{node: h.params[at]}}
	if m.deep {
		w.decodes = append(w.decodes, decode{id.Pos(), items, nil, fn.Pkg().Name()})
	}
	w.change(id.Pos(), way{items: items, room: m.room})
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

// givenText is something of another package, as a reader would say it, and how it came.
func (w *flow) givenText(by arrival) string {
	text := objectText(by.from)
	if fn, ok := by.from.(*types.Func); ok {
		text = "what " + path.Base(nameOf(fn)) + " gives"
	}
	if by.through != nil {
		if f := w.c.byFile[w.c.fset.File(by.through.Pos())]; f != nil {
			line, _ := f.place(by.through.Pos())
			text += fmt.Sprintf(" (through %s, %s:%d)", by.through.Name(), f.path, line)
		}
	}
	return text
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return types.Unalias(t).Underlying()
}
