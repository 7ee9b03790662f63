package vet

import (
	"go/ast"
	"go/types"
)

// result is where the n-th value of an expression comes from. What is no call has one, with a second that says whether.
func (w *flow) result(e ast.Expr, n int) []item {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	switch {
	case !ok && n == 0:
		return w.sources(e)
	case !ok:
		return nil
	}
	if sig := w.known(call); sig != nil {
		if n >= sig.Results().Len() {
			return nil
		}
		return []item{{node: node{obj: sig.Results().At(n)}}}
	}
	if w.plainError(call, n) {
		return nil
	}
	items, ok := w.found[call]
	if !ok {
		items = w.gives(call)
		if hub := w.dispatched(call); hub != nil {
			items = union(items, []item{{node: hub.result}})
		}
		items = w.brief(items)
		w.found[call] = items
	}
	return items
}

// maxItems is how many items an expression keeps. More go through one node, which is all of them.
const maxItems = 16

func (w *flow) brief(items []item) []item {
	if len(items) <= maxItems {
		return items
	}
	all := w.anything()
	w.link(all, items)
	return []item{{node: all}}
}

// gives is what a conversion, a builtin, a function of another package or a function value may give back.
func (w *flow) gives(call *ast.CallExpr) []item {
	if w.c.info.Types[call.Fun].IsType() {
		if len(call.Args) == 1 {
			return w.sources(call.Args[0])
		}
		return nil
	}
	args := w.arguments(call)
	switch obj := w.calledObject(call).(type) {
	case *types.Builtin:
		return w.builtin(obj.Name(), call, args)
	case *types.Func:
		if w.c.own(obj.Pkg()) {
			return nil // a method of an interface
		}
		if givers[nameOf(obj)] {
			return []item{{node: node{obj: obj}}}
		}
		if makers[nameOf(obj)] {
			return []item{{node: w.caller("Token", obj.Signature()).result}}
		}
		if splitters[nameOf(obj)] {
			return hold(union(args...))
		}
		held := elements(union(args...))
		if copiers[nameOf(obj)] {
			if !w.holdsReferences(w.c.info.TypeOf(call)) {
				return nil
			}
			return hold(held)
		}
		if obj.Pkg().Path() == "errors" {
			held = union(held, w.unwrapped())
		}
		return w.returns(call, args, union(held, w.receiverOf(call)))
	}
	return loosen(elements(w.sources(call.Fun))) // a function that another package made may hold what it returns
}

// loosen is items of which nothing is sure.
func loosen(items []item) []item {
	out := make([]item, len(items))
	for i, in := range items {
		in.loose, in.ref = true, false
		out[i] = in
	}
	return out
}

// returns is what a function of another package may give back: an argument of the result's type as it is, and otherwise
// something that may be any of what it got.
func (w *flow) returns(call *ast.CallExpr, args [][]item, other []item) []item {
	var same []item
	for i, arg := range args {
		if len(args) == len(call.Args) && types.Identical(w.c.info.TypeOf(call.Args[i]), w.c.info.TypeOf(call)) {
			same = append(same, arg...)
		} else {
			other = append(other, arg...)
		}
	}
	return union(same, loosen(other))
}

func (w *flow) builtin(name string, call *ast.CallExpr, args [][]item) []item {
	switch {
	case name == "append" && len(args) > 0:
		items := args[0]
		if clipped(call.Args[0]) {
			items = hold(elements(items))
		}
		for _, more := range args[1:] {
			if call.Ellipsis.IsValid() {
				if !w.holdsReferences(w.c.info.TypeOf(call)) {
					continue
				}
				more = elements(more)
			}
			items = append(items[:len(items):len(items)], hold(more)...)
		}
		return union(items)
	case name == "new" && len(args) == 1:
		return hold(args[0])
	case name == "recover":
		return []item{{node: w.panics}}
	}
	return nil
}

// receiverOf is the thing whose method of another package a call calls, and what it holds.
func (w *flow) receiverOf(call *ast.CallExpr) []item {
	sel, ok := functionOf(call).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	items := w.receiver(sel)
	return union(items, elements(items))
}

// arguments is where each argument of a call comes from, also where one call gives them all.
func (w *flow) arguments(call *ast.CallExpr) [][]item {
	if len(call.Args) == 1 {
		if tuple, ok := w.c.info.TypeOf(call.Args[0]).(*types.Tuple); ok {
			args := make([][]item, tuple.Len())
			for i := range args {
				args[i] = w.result(call.Args[0], i)
			}
			return args
		}
	}
	args := make([][]item, len(call.Args))
	fn, _ := w.calledObject(call).(*types.Func)
	for i, arg := range call.Args {
		if fn != nil && !w.c.own(fn.Pkg()) {
			args[i] = w.handed(arg)
		} else {
			args[i] = w.sources(arg)
		}
	}
	return args
}

// functionOf is what a call calls, without parentheses and type arguments.
func functionOf(call *ast.CallExpr) ast.Expr {
	for e := call.Fun; ; {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		default:
			return e
		}
	}
}

// calledObject is the function, builtin or variable that a call names.
func (w *flow) calledObject(call *ast.CallExpr) types.Object {
	switch e := functionOf(call).(type) {
	case *ast.Ident:
		return w.c.info.Uses[e]
	case *ast.SelectorExpr:
		return w.c.info.Uses[e.Sel]
	}
	return nil
}

// known is the signature of the function of the extension that a call calls, with the function's own parameters and results:
// one that it names, or that stands there.
func (w *flow) known(call *ast.CallExpr) *types.Signature {
	if lit, ok := functionOf(call).(*ast.FuncLit); ok {
		sig, _ := w.c.info.TypeOf(lit).(*types.Signature)
		return sig
	}
	if fn, ok := w.calledObject(call).(*types.Func); ok && w.c.own(fn.Pkg()) && !ofInterface(fn) {
		return fn.Origin().Signature()
	}
	return nil
}

func ofInterface(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}

// call takes arguments to parameters.
func (w *flow) call(call *ast.CallExpr) {
	fun := functionOf(call)
	w.called[fun] = true
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		w.called[sel.Sel] = true
	}
	if w.c.info.Types[call.Fun].IsType() {
		w.converted(call)
		return
	}
	args, spread := w.arguments(call), call.Ellipsis.IsValid()
	switch obj := w.calledObject(call).(type) {
	case *types.Builtin:
		switch {
		case obj.Name() == "copy" && len(args) == 2 && w.holdsReferences(w.c.info.TypeOf(call.Args[0])):
			w.put(args[0], elements(args[1]))
		case obj.Name() == "panic" && len(args) == 1:
			w.link(w.panics, args[0])
		}
		return
	case *types.Func:
		if !w.c.own(obj.Pkg()) {
			w.outside(call, args)
		}
	default: // a function that another package made calls its arguments with what it holds
		w.hand(call, loosen(elements(w.sources(call.Fun))))
	}
	sig, hub := w.known(call), w.dispatched(call)
	var receiver []item
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		receiver = w.receiver(sel)
		if w.methodExpression(sel) && len(args) > 0 {
			receiver, args = args[0], args[1:]
		}
	}
	if sig != nil {
		if recv := sig.Recv(); recv != nil {
			w.link(node{obj: recv}, receiver)
		}
		w.pass(parameters(sig), args, spread)
	}
	if hub != nil {
		w.link(hub.receiver, receiver)
		w.pass(hub.parameters(), args, spread)
	}
}

// pass takes arguments to parameters, the last of which may be elements of one list.
func (w *flow) pass(params []node, args [][]item, spread bool) {
	for i, arg := range args {
		last := len(params) - 1
		switch {
		case last < 0:
		case i < last:
			w.link(params[i], arg)
		case spread:
			w.link(node{params[last].obj, nil, false}, arg)
		default:
			w.link(params[last], arg)
		}
	}
}

// parameters is where arguments go.
func parameters(sig *types.Signature) []node {
	var params []node
	for v := range sig.Params().Variables() {
		params = append(params, node{obj: v})
	}
	if sig.Variadic() {
		params[len(params)-1].elem = true
	}
	return params
}

// outside is a call of a function of another package: it may put its arguments into the first of them or its receiver, and
// hand them to the functions and the methods among them.
func (w *flow) outside(call *ast.CallExpr, args [][]item) {
	if fn, ok := w.calledObject(call).(*types.Func); ok && nameOf(fn) == "errors.As" && len(args) == 2 {
		w.chained(args[0], args[1])
	}
	if into := w.receiverOf(call); into != nil {
		w.keep(into, union(args...))
	} else if len(args) > 1 && w.holdsReferences(w.c.info.TypeOf(call.Args[0])) {
		w.keep(args[0], union(args[1:]...))
	}
	all := union(append(args, elements(union(args...)), w.receiverOf(call))...)
	if len(all) == 0 {
		return
	}
	w.hand(call, all)
	if sig, ok := underlying(w.c.info.TypeOf(call.Fun)).(*types.Signature); ok {
		for param := range sig.Params().Variables() {
			if i, ok := underlying(param.Type()).(*types.Interface); ok {
				for fn := range i.Methods() {
					w.fill(w.caller(fn.Name(), fn.Signature()), all)
				}
			}
		}
	}
}

// hand has the functions among the arguments of a call be called with items.
func (w *flow) hand(call *ast.CallExpr, items []item) {
	if len(items) == 0 {
		return
	}
	for _, arg := range call.Args {
		if sig := signature(w.c.info.TypeOf(arg)); sig != nil {
			w.fill(w.caller("", sig), items)
		}
	}
}

// fill takes items to all parameters of what is called by its type.
func (w *flow) fill(h *hub, items []item) {
	for _, param := range h.params {
		w.link(param, items)
	}
}

// holdsReferences reports whether what a value refers to may refer to something.
func (w *flow) holdsReferences(t types.Type) bool {
	switch t := underlying(t).(type) {
	case *types.Slice:
		return w.refers(t.Elem())
	case *types.Map:
		return w.refers(t.Elem()) || w.refers(t.Key())
	}
	return true
}

// keep is put for what another package keeps: that does not put anything into the items in turn.
func (w *flow) keep(into, items []item) {
	for _, to := range into {
		inside := node{to.obj, to.at, true}
		for _, from := range items {
			w.edge(from.node, edge{to: inside, inner: from.inner})
			w.edge(node{from.obj, from.at, true}, edge{to: inside})
		}
	}
}

// put puts items into containers.
func (w *flow) put(into, items []item) {
	if len(items) == 0 {
		return
	}
	for _, in := range into {
		w.link(node{in.obj, in.at, true}, items)
	}
}

func (w *flow) methodExpression(sel *ast.SelectorExpr) bool {
	selection := w.c.info.Selections[sel]
	return selection != nil && selection.Kind() == types.MethodExpr
}

// dispatched is the hub of a call that is known by its type alone: through a value, or a method of an interface.
func (w *flow) dispatched(call *ast.CallExpr) *hub {
	switch obj := w.calledObject(call).(type) {
	case *types.Func:
		if ofInterface(obj) {
			return w.caller(obj.Name(), obj.Signature())
		}
	case *types.Builtin:
	default:
		if _, lit := functionOf(call).(*ast.FuncLit); lit || w.c.info.Types[call.Fun].IsType() {
			return nil
		}
		if sig := signature(w.c.info.TypeOf(call.Fun)); sig != nil {
			return w.caller("", sig)
		}
	}
	return nil
}
