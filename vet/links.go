package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// gather takes the ways of values from one file, and the places that write.
func (w *flow) gather(file *ast.File) {
	var functions []*types.Signature // around, innermost last
	var nodes []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			if function(nodes[len(nodes)-1]) {
				functions = functions[:len(functions)-1]
			}
			nodes = nodes[:len(nodes)-1]
			return true
		}
		nodes = append(nodes, n)
		if function(n) {
			functions = append(functions, w.declared(n))
		}
		if ret, ok := n.(*ast.ReturnStmt); ok {
			w.returned(ret, functions[len(functions)-1])
		}
		w.statement(n)
		w.look(n)
		return true
	})
}

// declared is the signature of a function that is written here, which may be called by its type: a method through an
// interface, and a literal wherever it goes.
func (w *flow) declared(n ast.Node) *types.Signature {
	switch n := n.(type) {
	case *ast.FuncDecl:
		fn, ok := w.c.info.Defs[n.Name].(*types.Func)
		if !ok {
			return nil
		}
		if n.Recv != nil {
			w.value(fn.Name(), fn.Signature(), fn.Signature())
		}
		return fn.Signature()
	case *ast.FuncLit:
		sig, _ := w.c.info.TypeOf(n).(*types.Signature)
		if sig != nil && !w.called[n] {
			w.value("", sig, sig)
		}
		return sig
	}
	return nil
}

func (w *flow) statement(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		w.assigned(n.Lhs, n.Rhs, n.End())
	case *ast.IncDecStmt:
		w.assign(n.X, nil, n.End())
	case *ast.ValueSpec:
		lhs := make([]ast.Expr, len(n.Names))
		for i, id := range n.Names {
			lhs[i] = id
		}
		w.assigned(lhs, n.Values, n.End())
	case *ast.RangeStmt:
		w.ranged(n)
	case *ast.SendStmt:
		w.put(w.sources(n.Chan), w.sources(n.Value))
	case *ast.CallExpr:
		w.call(n)
	case *ast.SelectorExpr:
		w.bound(n)
	case *ast.Ident:
		w.named(n)
	case *ast.CompositeLit:
		w.fields(n)
	case *ast.TypeSwitchStmt:
		w.switched(n)
	case *ast.StructType:
		w.alike(n)
	}
}

// alike makes the fields of structures that convert to each other the same.
func (w *flow) alike(n *ast.StructType) {
	structure, ok := w.c.info.TypeOf(n).(*types.Struct)
	if !ok {
		return
	}
	var key strings.Builder
	for f := range structure.Fields() {
		fmt.Fprintf(&key, "%s %s;", f.Name(), typeText(f.Type()))
	}
	first := w.structs[key.String()]
	if first == nil {
		w.structs[key.String()] = structure
		return
	}
	w.same(first, structure)
}

// same makes the fields of two structures the same.
func (w *flow) same(a, b *types.Struct) {
	for i := range min(a.NumFields(), b.NumFields()) {
		one, other := node{obj: a.Field(i).Origin()}, node{obj: b.Field(i).Origin()}
		if one != other {
			w.link(one, []item{{node: other}})
			w.link(other, []item{{node: one}})
		}
	}
}

// converted makes the fields of a structure that is converted, or a pointer to one, those of what it becomes.
func (w *flow) converted(call *ast.CallExpr) {
	if len(call.Args) != 1 {
		return
	}
	to, from := structure(w.c.info.TypeOf(call)), structure(w.c.info.TypeOf(call.Args[0]))
	if to != nil && from != nil {
		w.same(to, from)
	}
}

// structure is of a struct's type, and of a pointer to one.
func structure(t types.Type) *types.Struct {
	if p, ok := underlying(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	s, _ := underlying(t).(*types.Struct)
	return s
}

func (w *flow) returned(n *ast.ReturnStmt, sig *types.Signature) {
	if sig == nil {
		return
	}
	results := sig.Results()
	for i := range results.Len() {
		switch {
		case len(n.Results) == results.Len():
			w.link(node{obj: results.At(i)}, w.sources(n.Results[i]))
		case len(n.Results) == 1:
			w.link(node{obj: results.At(i)}, w.result(n.Results[0], i))
		}
	}
}

func (w *flow) assigned(lhs, rhs []ast.Expr, end token.Pos) {
	for i, left := range lhs {
		switch {
		case len(rhs) == len(lhs):
			w.assign(left, w.goes(left, rhs[i]), end)
		case len(rhs) == 1:
			w.assign(left, w.result(rhs[0], i), end)
		}
	}
}

// goes is what an assignment gives to what stands on its left.
func (w *flow) goes(left, right ast.Expr) []item {
	if sel, ok := ast.Unparen(left).(*ast.SelectorExpr); ok {
		if field, ok := w.c.info.Uses[sel.Sel].(*types.Var); ok && !w.c.own(field.Pkg()) {
			return w.handed(right)
		}
	}
	return w.sources(right)
}

// ranged takes what a range goes over to its variables: elements, or what a function hands to its body.
func (w *flow) ranged(n *ast.RangeStmt) {
	items := elements(w.sources(n.X))
	for i, left := range []ast.Expr{n.Key, n.Value} {
		if left == nil {
			continue
		}
		w.assign(left, items, token.NoPos)
		if sig := signature(w.c.info.TypeOf(n.X)); sig != nil && sig.Params().Len() == 1 {
			if body, ok := underlying(sig.Params().At(0).Type()).(*types.Signature); ok && i < body.Params().Len() {
				w.assign(left, []item{{node: w.callee("", body).params[i]}}, token.NoPos)
			}
		}
	}
}

// bound takes what a method is called on, or is a value of, to its receiver.
func (w *flow) bound(sel *ast.SelectorExpr) {
	fn, ok := w.c.info.Uses[sel.Sel].(*types.Func)
	if !ok || w.called[sel] {
		return
	}
	selection := w.c.info.Selections[sel]
	switch {
	case selection == nil:
	case ofInterface(fn):
		w.meet(w.callee("", fn.Signature()), w.caller(fn.Name(), fn.Signature()))
	case selection.Kind() == types.MethodExpr:
		w.called[sel.Sel] = true
		as, ok := selection.Type().(*types.Signature)
		switch {
		case !ok:
		case w.c.own(fn.Pkg()):
			w.value("", as, fn.Origin().Signature())
		default:
			w.writer(sel.Sel, fn, w.callee("", as), 1)
		}
	case !w.c.own(fn.Pkg()):
	default:
		w.link(node{obj: fn.Origin().Signature().Recv()}, w.receiver(sel))
	}
}

// fields takes what a literal of a struct holds to the struct's fields.
func (w *flow) fields(lit *ast.CompositeLit) {
	t := w.c.info.TypeOf(lit)
	if t == nil {
		return
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	structure, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, elem := range lit.Elts {
		if pair, ok := elem.(*ast.KeyValueExpr); ok {
			if id, ok := pair.Key.(*ast.Ident); ok {
				if field, ok := w.c.info.Uses[id].(*types.Var); ok {
					w.link(node{obj: field.Origin()}, w.sources(pair.Value))
				}
			}
		} else if i < structure.NumFields() {
			w.link(node{obj: structure.Field(i).Origin()}, w.sources(elem))
		}
	}
}

// switched takes what a type switch looks at to the variable of each of its clauses.
func (w *flow) switched(n *ast.TypeSwitchStmt) {
	assign, ok := n.Assign.(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 {
		return
	}
	guard, ok := ast.Unparen(assign.Rhs[0]).(*ast.TypeAssertExpr)
	if !ok {
		return
	}
	items := w.sources(guard.X)
	for _, clause := range n.Body.List {
		if obj := w.c.info.Implicits[clause]; obj != nil {
			w.link(node{obj: obj}, items)
		}
	}
}

// assign takes a value to what stands on the left of an assignment that ends at a place.
func (w *flow) assign(left ast.Expr, items []item, end token.Pos) {
	if left == nil {
		return
	}
	switch e := ast.Unparen(left).(type) {
	case *ast.Ident:
		if v, ok := w.c.info.ObjectOf(e).(*types.Var); ok {
			for _, to := range w.local(v, e.Pos(), end) {
				w.link(to, items)
			}
		}
	case *ast.SelectorExpr:
		if v, ok := w.c.info.Uses[e.Sel].(*types.Var); ok {
			w.link(node{obj: v.Origin()}, items)
			if !w.c.own(v.Pkg()) {
				w.keep(w.sources(e.X), items)
			}
		}
	case *ast.IndexExpr:
		w.put(w.sources(e.X), items)
		w.put(w.sources(e.X), w.sources(e.Index)) // a key
	case *ast.StarExpr:
		w.put(w.sources(e.X), items)
	}
}
