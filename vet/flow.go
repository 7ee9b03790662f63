package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// What a variable of another package refers to may be written through a copy of it:
//
//	p := base64.StdEncoding
//	*p = *base64.URLEncoding
//
// The checker follows such values through the variables, fields, parameters and results of the extension, in whatever
// order they run. It loses them where a function is called through a value or an interface, and in what packages of the
// standard library hold for it. It is a rule for what is written by mistake and in the open; the jail is the one for the
// rest.

// node is a variable, or the elements of what it refers to.
type node struct {
	obj  types.Object
	elem bool
}

// item is where a value may come from. Where held, the value is one that holds it and not the thing itself.
type item struct {
	node
	held bool
}

// flow is the ways of values between the variables of the extension.
type flow struct {
	c     *checker
	edges map[node][]node
	from  map[node]types.Object // what a node may be a copy of: a variable of another package
}

// gather takes the ways of values from one file.
func (w *flow) gather(file *ast.File) {
	var functions []*types.Tuple // the results of the functions around, innermost last
	var nodes []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			switch nodes[len(nodes)-1].(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				functions = functions[:len(functions)-1]
			}
			nodes = nodes[:len(nodes)-1]
			return true
		}
		nodes = append(nodes, n)
		switch n := n.(type) {
		case *ast.FuncDecl:
			var results *types.Tuple
			if fn, ok := w.c.info.Defs[n.Name].(*types.Func); ok {
				results = fn.Signature().Results()
			}
			functions = append(functions, results)
		case *ast.FuncLit:
			sig, _ := w.c.info.TypeOf(n).(*types.Signature)
			var results *types.Tuple
			if sig != nil {
				results = sig.Results()
			}
			functions = append(functions, results)
		case *ast.ReturnStmt:
			w.returned(n, functions[len(functions)-1])
		case *ast.AssignStmt:
			w.assigned(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			lhs := make([]ast.Expr, len(n.Names))
			for i, id := range n.Names {
				lhs[i] = id
			}
			w.assigned(lhs, n.Values)
		case *ast.RangeStmt:
			items := w.elements(w.sources(n.X))
			w.assign(n.Key, items)
			w.assign(n.Value, items)
		case *ast.SendStmt:
			for _, d := range w.sources(n.Chan) {
				w.link(node{d.obj, true}, w.sources(n.Value))
			}
		case *ast.CallExpr:
			w.called(n)
		case *ast.CompositeLit:
			w.fields(n)
		case *ast.TypeSwitchStmt:
			w.switched(n)
		}
		return true
	})
}

func (w *flow) returned(n *ast.ReturnStmt, results *types.Tuple) {
	for i := range results.Len() {
		switch {
		case len(n.Results) == results.Len():
			w.link(node{obj: results.At(i)}, w.sources(n.Results[i]))
		case len(n.Results) == 1:
			w.link(node{obj: results.At(i)}, w.result(n.Results[0], i))
		}
	}
}

func (w *flow) assigned(lhs, rhs []ast.Expr) {
	for i, left := range lhs {
		switch {
		case len(rhs) == len(lhs):
			w.assign(left, w.sources(rhs[i]))
		case len(rhs) == 1:
			w.assign(left, w.result(rhs[0], i))
		}
	}
}

// result is where the n-th value of an expression with several comes from.
func (w *flow) result(e ast.Expr, n int) []item {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok { // an element, an assertion or a receive, with a second value that says whether
		if n == 0 {
			return w.sources(e)
		}
		return nil
	}
	if fn := w.callee(call); fn != nil && n < fn.Signature().Results().Len() {
		return []item{{node: node{obj: fn.Signature().Results().At(n)}}}
	}
	return nil
}

// called takes arguments to the parameters of a function of the extension.
func (w *flow) called(call *ast.CallExpr) {
	fn := w.callee(call)
	if fn == nil {
		return
	}
	sig := fn.Signature()
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && sig.Recv() != nil && w.c.info.Selections[sel] != nil {
		w.link(node{obj: sig.Recv()}, w.sources(sel.X))
	}
	params := sig.Params()
	for i, arg := range call.Args {
		switch last := params.Len() - 1; {
		case sig.Variadic() && i >= last && !call.Ellipsis.IsValid():
			w.link(node{params.At(last), true}, w.sources(arg))
		case i <= last:
			w.link(node{obj: params.At(i)}, w.sources(arg))
		}
	}
}

// callee is the function of the extension that a call is known to call.
func (w *flow) callee(call *ast.CallExpr) *types.Func {
	e := ast.Unparen(call.Fun)
	switch x := e.(type) {
	case *ast.IndexExpr:
		e = x.X
	case *ast.IndexListExpr:
		e = x.X
	}
	var id *ast.Ident
	switch e := e.(type) {
	case *ast.Ident:
		id = e
	case *ast.SelectorExpr:
		id = e.Sel
	}
	if fn, ok := w.c.info.Uses[id].(*types.Func); ok && w.c.own(fn.Pkg()) {
		return fn.Origin()
	}
	return nil
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

func (w *flow) switched(n *ast.TypeSwitchStmt) {
	assign, ok := n.Assign.(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 {
		return
	}
	items := w.sources(assign.Rhs[0])
	for _, clause := range n.Body.List {
		if obj := w.c.info.Implicits[clause]; obj != nil {
			w.link(node{obj: obj}, items)
		}
	}
}

// assign takes a value to what stands on the left.
func (w *flow) assign(left ast.Expr, items []item) {
	if left == nil || len(items) == 0 {
		return
	}
	switch e := ast.Unparen(left).(type) {
	case *ast.Ident:
		if obj := w.c.info.ObjectOf(e); obj != nil {
			w.link(node{obj: obj}, items)
		}
	case *ast.SelectorExpr:
		if obj, ok := w.c.info.Uses[e.Sel].(*types.Var); ok {
			w.link(node{obj: obj.Origin()}, items)
		}
	case *ast.IndexExpr:
		w.into(e.X, items)
	case *ast.StarExpr:
		w.into(e.X, items)
	}
}

func (w *flow) into(container ast.Expr, items []item) {
	for _, d := range w.sources(container) {
		w.link(node{d.obj, true}, items)
	}
}

func (w *flow) link(to node, items []item) {
	if to.obj == nil || !to.elem && !refers(to.obj.Type()) {
		return
	}
	for _, from := range items {
		switch {
		case from.held || to.elem:
			w.edges[from.node] = append(w.edges[from.node], node{to.obj, true})
		default:
			w.edges[from.node] = append(w.edges[from.node], to)
			if !from.elem {
				elems := node{from.obj, true}
				w.edges[elems] = append(w.edges[elems], node{to.obj, true})
			}
		}
	}
}

// spread marks all that may be a copy of what a variable of another package refers to.
func (w *flow) spread() {
	var queue []node
	mark := func(n node, from types.Object) {
		if w.from[n] == nil {
			w.from[n] = from
			queue = append(queue, n)
		}
	}
	for n := range w.edges {
		if w.c.shared(n.obj) {
			mark(n, n.obj)
		}
	}
	// What is said of a copy of several variables is the same every time.
	slices.SortFunc(queue, func(a, b node) int { return strings.Compare(objectText(a.obj), objectText(b.obj)) })
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, to := range w.edges[n] {
			if !w.c.shared(to.obj) {
				mark(to, w.from[n])
			}
		}
	}
}

// sources is where the value of an expression may come from, or nothing where it refers to nothing.
func (w *flow) sources(e ast.Expr) []item {
	if e == nil || !refers(w.c.info.TypeOf(e)) {
		return nil
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v, ok := w.c.info.ObjectOf(e).(*types.Var); ok {
			return []item{{node: node{obj: v}}}
		}
	case *ast.SelectorExpr:
		v, ok := w.c.info.Uses[e.Sel].(*types.Var)
		if !ok {
			return nil
		}
		items := append(w.embedded(e), item{node: node{obj: v.Origin()}})
		if w.c.info.Selections[e] != nil {
			for _, in := range w.sources(e.X) {
				if !in.held {
					items = append(items, in)
				}
			}
		}
		return items
	case *ast.IndexExpr:
		return w.elements(w.sources(e.X))
	case *ast.StarExpr:
		return w.elements(w.sources(e.X))
	case *ast.SliceExpr:
		return w.sources(e.X)
	case *ast.TypeAssertExpr:
		return w.sources(e.X)
	case *ast.UnaryExpr:
		switch e.Op {
		case token.AND:
			return hold(w.sources(e.X))
		case token.ARROW:
			return w.elements(w.sources(e.X))
		}
	case *ast.CompositeLit:
		return w.literal(e)
	case *ast.CallExpr:
		return w.call(e)
	}
	return nil
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
		if t = field.Type(); refers(t) {
			items = append(items, item{node: node{obj: field.Origin()}})
		}
	}
	return items
}

func (w *flow) literal(lit *ast.CompositeLit) []item {
	if _, ok := w.c.info.TypeOf(lit).Underlying().(*types.Struct); ok {
		return nil
	}
	var items []item
	for _, elem := range lit.Elts {
		if pair, ok := elem.(*ast.KeyValueExpr); ok {
			elem = pair.Value
		}
		items = append(items, hold(w.sources(elem))...)
	}
	return items
}

// call is a conversion, a builtin or a function that gives back what it got, or a function of the extension.
func (w *flow) call(call *ast.CallExpr) []item {
	if len(call.Args) > 0 {
		if w.c.info.Types[call.Fun].IsType() {
			return w.sources(call.Args[0])
		}
		name := w.calledName(call)
		switch name {
		case "append":
			items := w.sources(call.Args[0])
			for _, arg := range call.Args[1:] {
				more := w.sources(arg)
				if call.Ellipsis.IsValid() {
					more = w.elements(more)
				}
				items = append(items, hold(more)...)
			}
			return items
		case "slices.Clip", "slices.Grow":
			return w.sources(call.Args[0])
		}
	}
	return w.result(call, 0)
}

// calledName is the name of a builtin, or the path and name of a function of another package, that a call calls.
func (w *flow) calledName(call *ast.CallExpr) string {
	e := ast.Unparen(call.Fun)
	if index, ok := e.(*ast.IndexExpr); ok {
		e = index.X
	}
	var id *ast.Ident
	switch e := e.(type) {
	case *ast.Ident:
		id = e
	case *ast.SelectorExpr:
		id = e.Sel
	}
	switch obj := w.c.info.Uses[id].(type) {
	case *types.Builtin:
		return obj.Name()
	case *types.Func:
		if obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() && !w.c.own(obj.Pkg()) {
			return obj.Pkg().Path() + "." + obj.Name()
		}
	}
	return ""
}

// elements is what stands in what the items refer to.
func (w *flow) elements(items []item) []item {
	var out []item
	for _, in := range items {
		out = append(out, item{node: in.node})
		if !in.held && !in.elem {
			out = append(out, item{node: node{in.obj, true}})
		}
	}
	return out
}

func hold(items []item) []item {
	out := make([]item, len(items))
	for i, in := range items {
		out[i] = item{in.node, true}
	}
	return out
}

// refers reports whether a value of the type may refer to something that can be written.
func refers(t types.Type) bool {
	return refersWithin(t, 0)
}

// maxRefersDepth is how many structs and arrays deep a reference is looked for.
const maxRefersDepth = 8

func refersWithin(t types.Type, depth int) bool {
	if t == nil || depth > maxRefersDepth {
		return t != nil
	}
	switch t := types.Unalias(t).Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Interface:
		return true
	case *types.Array:
		return refersWithin(t.Elem(), depth+1)
	case *types.Struct:
		for i := range t.NumFields() {
			if refersWithin(t.Field(i).Type(), depth+1) {
				return true
			}
		}
	}
	return false
}
