package vet

import (
	"fmt"
	"go/ast"
	"go/types"
)

// hub is where all calls of one type meet all functions of it. Results are one.
type hub struct {
	receiver, result node
	params           []node
	variadic         bool
}

func (h *hub) parameters() []node {
	params := append([]node(nil), h.params...)
	if h.variadic {
		params[len(params)-1].elem = true
	}
	return params
}

// caller is the hub that calls of a type go to. name is a method's, and "" is for function values. Calls in generic code
// meet every function with as many parameters, and the functions in generic code every such call.
func (w *flow) caller(name string, sig *types.Signature) *hub {
	arity := arity(name, sig)
	if w.generic(sig) {
		return w.hub(arity+"call", sig, nil)
	}
	return w.hub(arity+w.text(sig.Params()), sig, func(h *hub) { w.meet(h, w.hub(arity+"function", sig, nil)) })
}

// callee is the hub that functions of a type are called from.
func (w *flow) callee(name string, sig *types.Signature) *hub {
	arity := arity(name, sig)
	calls := w.hub(arity+"call", sig, nil)
	if w.generic(sig) {
		return w.hub(arity+"function", sig, func(h *hub) { w.meet(calls, h) })
	}
	return w.hub(arity+w.text(sig.Params())+" function", sig, func(h *hub) {
		w.meet(calls, h)
		w.meet(w.caller(name, sig), h)
	})
}

// text is typeText, once.
func (w *flow) text(t *types.Tuple) string {
	text, ok := w.texts[t]
	if !ok {
		text = typeText(t)
		w.texts[t] = text
	}
	return text
}

func arity(name string, sig *types.Signature) string {
	return fmt.Sprint(name, " ", sig.Params().Len(), " ", sig.Results().Len(), " ", sig.Variadic(), " ")
}

func (w *flow) hub(key string, sig *types.Signature, begin func(*hub)) *hub {
	h := w.hubs[key]
	if h == nil {
		h = &hub{receiver: w.anything(), result: w.anything(), variadic: sig.Variadic()}
		for range sig.Params().Len() {
			h.params = append(h.params, w.anything())
		}
		w.hubs[key] = h
	}
	if begin != nil && !w.begun[key] {
		w.begun[key] = true
		begin(h)
	}
	return h
}

// anything is a node of its own.
func (w *flow) anything() node {
	return node{obj: types.NewVar(0, nil, "", types.Universe.Lookup("any").Type())}
}

// meet is calls that may be of functions.
func (w *flow) meet(calls, functions *hub) {
	w.link(functions.receiver, []item{{node: calls.receiver}})
	w.link(calls.result, []item{{node: functions.result}})
	for i, param := range functions.params {
		w.link(param, []item{{node: calls.params[i]}})
	}
}

// value is a function that can be called by its type, with the signature it has there and its own.
func (w *flow) value(name string, as, sig *types.Signature) {
	h := w.callee(name, as)
	params := h.params
	if recv := sig.Recv(); recv != nil && as.Params().Len() == sig.Params().Len()+1 { // a method expression
		w.link(node{obj: recv}, []item{{node: params[0]}})
		params = params[1:]
	} else if recv != nil {
		w.link(node{obj: recv}, []item{{node: h.receiver}})
	}
	for i := range min(len(params), sig.Params().Len()) {
		w.link(node{obj: sig.Params().At(i)}, []item{{node: params[i]}})
	}
	for _, result := range results(sig) {
		w.link(h.result, []item{result})
	}
}

// named is a function that is named where it is not called.
func (w *flow) named(id *ast.Ident) {
	fn, ok := w.c.info.Uses[id].(*types.Func)
	if !ok || w.called[id] {
		return
	}
	as := fn.Signature()
	if instance, ok := w.c.info.Instances[id]; ok {
		as, _ = instance.Type.(*types.Signature)
	}
	switch {
	case as == nil || ofInterface(fn):
	case w.c.own(fn.Pkg()):
		w.value("", as, fn.Origin().Signature())
	default:
		w.writer(id, fn, w.callee("", as), 0)
	}
}

// chained takes what stands in a chain of errors to the target of errors.As, also by methods of the extension.
func (w *flow) chained(err, target []item) {
	for _, in := range target { // &target: to what stands in it
		w.link(in.node, union(err, w.unwrapped()))
	}
	anything := types.NewTuple(types.NewVar(0, nil, "", types.Universe.Lookup("any").Type()))
	is := types.NewTuple(types.NewVar(0, nil, "", types.Typ[types.Bool]))
	w.fill(w.caller("As", types.NewSignatureType(nil, nil, nil, anything, is, false)), target)
}

// unwrapped is what methods of the extension give for the next error of a chain.
func (w *flow) unwrapped() []item {
	err := types.NewTuple(types.NewVar(0, nil, "", types.Universe.Lookup("error").Type()))
	return []item{{node: w.caller("Unwrap", types.NewSignatureType(nil, nil, nil, nil, err, false)).result}}
}
