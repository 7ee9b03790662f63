package vet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// sources is where the value of an expression may come from, or nothing where it refers to nothing.
func (w *flow) sources(e ast.Expr) []item {
	if e == nil || !w.refers(w.c.info.TypeOf(e)) {
		return nil
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return w.name(e)
	case *ast.SelectorExpr:
		items, ok := w.found[e]
		if !ok {
			items = w.brief(w.selected(e))
			w.found[e] = items
		}
		return items
	case *ast.IndexExpr:
		if _, generic := w.c.info.TypeOf(e.X).(*types.Signature); generic {
			return w.sources(e.X)
		}
		return elements(w.sources(e.X))
	case *ast.IndexListExpr:
		return w.sources(e.X)
	case *ast.StarExpr:
		return elements(w.sources(e.X))
	case *ast.SliceExpr:
		return w.sliced(e)
	case *ast.TypeAssertExpr:
		return w.sources(e.X)
	case *ast.UnaryExpr:
		switch e.Op {
		case token.AND:
			return w.address(e.X)
		case token.ARROW:
			return elements(w.sources(e.X))
		}
	case *ast.CompositeLit:
		return w.literal(e)
	case *ast.CallExpr:
		return w.result(e, 0)
	}
	return nil
}

// name is a variable. Functions are known by their types.
func (w *flow) name(id *ast.Ident) []item {
	v, ok := w.c.info.ObjectOf(id).(*types.Var)
	if !ok {
		return nil
	}
	return []item{{node: node{obj: v.Origin(), at: w.version(v, id.Pos())}}}
}

// handed is what another package gets with an expression: of a function also what it returns, and what it hands to a
// function that it is called with.
func (w *flow) handed(e ast.Expr) []item {
	items := w.sources(e)
	sig := signature(w.c.info.TypeOf(e))
	if sig == nil {
		return items
	}
	items = union(items, []item{{node: w.caller("", sig).result}})
	for param := range sig.Params().Variables() {
		if yield := signature(param.Type()); yield != nil {
			for _, given := range w.callee("", yield).params {
				items = append(items, item{node: given, held: true, loose: true})
			}
		}
	}
	return items
}

func results(sig *types.Signature) []item {
	var items []item
	for v := range sig.Results().Variables() {
		items = append(items, item{node: node{obj: v}})
	}
	return items
}

// selected is a field, which may be behind others that are not named, or a method, or what another package has.
func (w *flow) selected(sel *ast.SelectorExpr) []item {
	v, ok := w.c.info.Uses[sel.Sel].(*types.Var)
	if !ok {
		return hold(w.receiver(sel))
	}
	items := []item{{node: node{obj: v.Origin()}}}
	if w.c.info.Selections[sel] != nil {
		in := w.sources(sel.X)
		if _, pointer := underlying(w.c.info.TypeOf(sel.X)).(*types.Pointer); pointer {
			in = union(in, elements(in))
		}
		items = append(append(w.embedded(sel), items...), direct(in)...)
	}
	return union(items)
}

// receiver is what a method value keeps.
func (w *flow) receiver(sel *ast.SelectorExpr) []item {
	if selection := w.c.info.Selections[sel]; selection == nil || selection.Kind() != types.MethodVal {
		return nil
	}
	return union(w.embedded(sel), w.sources(sel.X))
}

// direct is the items that are the thing itself.
func direct(items []item) []item {
	var out []item
	for _, in := range items {
		if !in.held {
			out = append(out, item{node: in.node, inner: in.inner, loose: in.loose})
		}
	}
	return out
}

// embedded is the fields that a selector passes through without naming them, where they are pointers.
func (w *flow) embedded(sel *ast.SelectorExpr) []item {
	selection := w.c.info.Selections[sel]
	if selection == nil {
		return nil
	}
	var items []item
	t := selection.Recv()
	for _, at := range selection.Index()[:len(selection.Index())-1] {
		if p, ok := underlying(t).(*types.Pointer); ok {
			t = p.Elem()
		}
		structure, ok := underlying(t).(*types.Struct)
		if !ok || at >= structure.NumFields() {
			break
		}
		field := structure.Field(at)
		if t = field.Type(); w.refers(t) {
			items = append(items, item{node: node{obj: field.Origin()}})
		}
	}
	return items
}

// address is a pointer to an expression: one that holds it where it stands in a variable, and one into the thing that it is
// an element or a field of.
func (w *flow) address(e ast.Expr) []item {
	switch x := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		if _, array := underlying(w.c.info.TypeOf(x.X)).(*types.Array); array {
			return union(w.address(x.X), hold(w.sources(x)))
		}
		return w.sources(x.X)
	case *ast.SelectorExpr:
		if w.c.info.Selections[x] == nil {
			break
		}
		items := union(w.embedded(x), hold(w.sources(x)))
		if _, pointer := underlying(w.c.info.TypeOf(x.X)).(*types.Pointer); pointer {
			return union(items, w.sources(x.X))
		}
		return union(items, w.address(x.X))
	case *ast.StarExpr:
		return w.sources(x.X)
	}
	items := w.sources(e)
	if _, array := underlying(w.c.info.TypeOf(e)).(*types.Array); array {
		items = elements(items)
	}
	items = hold(items)
	for i := range items {
		_, items[i].ref = ast.Unparen(e).(*ast.Ident)
	}
	return items
}

// sliced is a part of a slice or of an array. Where its end is given and its room is not, the rest of the thing is its room.
func (w *flow) sliced(e *ast.SliceExpr) []item {
	items := w.sources(e.X)
	if _, array := underlying(w.c.info.TypeOf(e.X)).(*types.Array); array {
		items = w.address(e.X)
	}
	if e.High == nil || clipped(e) {
		return items
	}
	out := make([]item, len(items))
	for i, in := range items {
		out[i] = in
		out[i].short = !in.held
	}
	return out
}

// clipped reports whether an expression is a slice without room, so that whatever is appended goes elsewhere.
func clipped(e ast.Expr) bool {
	x, ok := ast.Unparen(e).(*ast.SliceExpr)
	return ok && x.Max != nil && x.High != nil && types.ExprString(x.High) == types.ExprString(x.Max) && plainIndex(x.Max)
}

func plainIndex(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit, *ast.Ident:
		return true
	case *ast.CallExpr:
		id, ok := ast.Unparen(e.Fun).(*ast.Ident)
		return ok && id.Name == "len" && len(e.Args) == 1
	}
	return false
}

// literal is what a literal of a list or a map holds. The fields of a structure are variables of their own, and those of
// another package's are also kept where that package finds them.
func (w *flow) literal(lit *ast.CompositeLit) []item {
	t := w.c.info.TypeOf(lit)
	value := w.sources
	if structure(t) != nil { // or a pointer to one, which may be left out in a list
		if !w.outsideType(t) {
			return nil
		}
		value = w.handed
	}
	var items []item
	for _, elem := range lit.Elts {
		if pair, ok := elem.(*ast.KeyValueExpr); ok {
			items = append(items, hold(w.sources(pair.Key))...)
			elem = pair.Value
		}
		items = append(items, hold(value(elem))...)
	}
	return union(items)
}

func (w *flow) outsideType(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && !w.c.own(named.Obj().Pkg())
}
