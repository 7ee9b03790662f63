package vet

import (
	"cmp"
	"go/ast"
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
// order they run; a local variable is one variable for each assignment that nothing gets around. A call through a value or
// an interface is one of every function of its type that is used as a value, or of every method of that name and type. Of
// a function of the standard library it is known what it writes to, and anything it returns or keeps may be what it got.
//
// A field is taken for the same in all values of its type, and a decoder for a writer of all fields that it may fill. The flow
// loses what another package takes out of where it was put and hands to a method that nothing here names, what it hands out
// of its own without a variable for it, such as its buffers, what a function that it made keeps, and what is called by a
// method that a structure has from a field. It is a rule for what is written by mistake and in the open; the jail is the one
// for the rest.

// node is a variable, or the elements of what it refers to. at is an assignment of the variable where what it assigned is
// told from what others did, and nil for all of them.
type node struct {
	obj  types.Object
	at   *version
	elem bool
}

// item is where a value may come from. Where held, the value is one that holds it and not the thing itself. Where short, it
// is a slice that has room behind it, in which the rest of the thing stands. Where ref, it is the address of the variable, and
// what is put behind it is in the variable. Where inner, it stood in the thing, and is a part of it if there is
// anything in there that refers to more. Where loose, it is what another package may have kept or not, and nothing goes back.
type item struct {
	node
	held, short, ref, inner, loose bool
}

// edge is a way of values to a node.
type edge struct {
	to           node
	short, inner bool
}

// flow is the ways of values between the variables of the extension.
type flow struct {
	c        *checker
	edges    map[node][]edge
	kinds    []kind
	from     map[mark]arrival
	versions map[*types.Var][]*version
	hubs     map[string]*hub
	begun    map[string]bool // hubs that meet the others
	structs  map[string]*types.Struct
	found    map[ast.Expr][]item // of calls and selectors
	called   map[ast.Expr]bool   // expressions that stand where a call has its function
	sinks    []sink
	decodes  []decode
	// what is known of types
	referring map[types.Type]bool
	generics  map[types.Type]bool
	instances map[*types.TypeParam][]types.Type
	texts     map[*types.Tuple]string
	decoded   map[decoding]*decodedType
	panics    node // what panics carry
}

// mark says that a node may be a copy of something of another package, by the kind of that.
type mark struct {
	node
	kind int
}

func newFlow(c *checker) *flow {
	w := &flow{
		c: c, edges: map[node][]edge{}, from: map[mark]arrival{}, versions: map[*types.Var][]*version{}, hubs: map[string]*hub{},
		begun: map[string]bool{}, structs: map[string]*types.Struct{}, found: map[ast.Expr][]item{}, called: map[ast.Expr]bool{},
		referring: map[types.Type]bool{}, generics: map[types.Type]bool{}, texts: map[*types.Tuple]string{}, decoded: map[decoding]*decodedType{},
	}
	w.panics = w.anything()
	return w
}

// judgeShared refuses writes to what belongs to another package, and addresses of it.
func (c *checker) judgeShared() {
	w := newFlow(c)
	for _, f := range c.files {
		w.separate(f.syntax)
	}
	for _, f := range c.files {
		w.gather(f.syntax)
	}
	w.spread()
	for _, s := range w.sinks {
		w.judge(s)
	}
	w.judgeDecodes()
}

// link is a way from each of the items to a node. What one of two names of a container puts into it is there under the
// other as well, so elements go both ways.
func (w *flow) link(to node, items []item) {
	if to.obj == nil || !to.elem && !w.refers(to.obj.Type()) {
		return
	}
	inside := node{to.obj, to.at, true}
	for _, from := range items {
		elems := node{from.obj, from.at, true}
		if from.held || to.elem {
			w.edge(from.node, edge{to: inside, inner: from.inner})
		} else {
			w.edge(from.node, edge{to, from.short, from.inner})
		}
		w.edge(elems, edge{to: inside})
		if from.loose {
			continue
		}
		// What stands beside an interface in a container is not in what the interface holds.
		w.edge(inside, edge{to: elems, inner: to.elem && types.IsInterface(from.obj.Type())})
		if from.ref {
			w.edge(inside, edge{to: from.node})
		}
	}
}

func (w *flow) edge(from node, e edge) {
	if from != e.to && !w.given(e.to.obj) {
		w.edges[from] = append(w.edges[from], e)
	}
}

// shortened is added to a kind where a slice was cut and has the rest of the thing behind it.
const shortened = 64

// arrival is what of another package a node may be a copy of, and the first variable of the extension that it went through.
type arrival struct{ from, through types.Object }

// spread marks all that may be a copy of what another package holds.
func (w *flow) spread() {
	var queue []mark
	reach := func(to node, kind int, by arrival) {
		m := mark{to, kind}
		if _, ok := w.from[m]; ok || w.excludes(to, w.kinds[kind%shortened]) {
			return
		}
		if by.through == nil && to.obj != by.from && to.obj.Name() != "" {
			by.through = to.obj
		}
		w.from[m] = by
		queue = append(queue, m)
	}
	var begin []node
	for n := range w.edges {
		if w.given(n.obj) {
			begin = append(begin, n)
		}
	}
	// What is said of a copy of several variables is the same every time.
	slices.SortFunc(begin, func(a, b node) int {
		return cmp.Or(strings.Compare(objectText(a.obj), objectText(b.obj)), cmp.Compare(order(a.elem), order(b.elem)))
	})
	for _, n := range begin {
		kind := w.kind(n.obj)
		if n.elem {
			kind = w.kinds[kind].inner
		}
		if kind >= 0 {
			reach(n, kind, arrival{from: n.obj})
		}
	}
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		for _, e := range w.edges[m.node] {
			kind := m.kind
			if e.inner {
				in := w.kinds[kind%shortened].inner
				if in < 0 {
					continue
				}
				kind += in - kind%shortened
			}
			reach(e.to, kind, w.from[m])
			if e.short && kind < shortened {
				reach(e.to, kind+shortened, w.from[m])
			}
		}
	}
}

func order(b bool) int {
	if b {
		return 1
	}
	return 0
}

// union is all the items once.
func union(lists ...[]item) []item {
	var out []item
	seen := map[item]bool{}
	for _, list := range lists {
		for _, in := range list {
			if !seen[in] {
				seen[in] = true
				out = append(out, in)
			}
		}
	}
	return out
}

// elements is what stands in what the items refer to.
func elements(items []item) []item {
	out := make([]item, 0, len(items)+1)
	for _, in := range items {
		top := !in.held && !in.elem
		out = append(out, item{node: in.node, inner: top || in.inner, loose: in.loose})
		if top {
			out = append(out, item{node: node{in.obj, in.at, true}, loose: in.loose})
		}
	}
	return union(out)
}

// hold is values that hold the items.
func hold(items []item) []item {
	out := make([]item, len(items))
	for i, in := range items {
		out[i] = item{node: in.node, held: true, inner: in.inner, loose: in.loose}
	}
	return out
}
