package vet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// decode is a call that writes to all that can be reached from a pointer: decoding JSON and XML. t is the pointer's type, or
// nil where it is not known there.
type decode struct {
	pos     token.Pos
	items   []item
	t       types.Type
	decoder string // the package's name, which is the tag's
}

type decoding struct {
	t       types.Type
	decoder string
}

// decodedType is what decoding into a pointer of a type may write to, wherever that points.
type decodedType struct {
	refs []types.Type
	by   arrival // what one of the fields on the way may be a copy of
	bad  bool
}

// maxOpen is how many calls that decode into what they do not name are told apart. The others are taken for one.
const maxOpen = 64

// judgeDecodes refuses to decode over what belongs to another package.
func (w *flow) judgeDecodes() {
	var open [][]decode
	for _, d := range w.decodes {
		switch {
		case d.t != nil && !types.IsInterface(d.t):
			w.judgeDecode([]decode{d}, []types.Type{d.t})
		case len(open) < maxOpen:
			open = append(open, []decode{d})
		default:
			open[maxOpen-1] = append(open[maxOpen-1], d)
		}
	}
	if len(open) == 0 {
		return
	}
	back := map[node][]node{}
	for from, edges := range w.edges {
		for _, e := range edges {
			back[e.to] = append(back[e.to], from)
		}
	}
	for _, list := range open {
		w.judgeDecode(list, w.comesTo(list, back))
	}
}

// judgeDecode refuses the first of several calls where any of them decodes over something by a pointer of one of the types.
func (w *flow) judgeDecode(list []decode, pointers []types.Type) {
	for _, t := range pointers {
		for _, d := range list {
			if by, bad := w.decodesOver(d, t); bad {
				w.refuse(changed(list[0].pos), by)
				return
			}
		}
	}
}

func (w *flow) decodesOver(d decode, t types.Type) (arrival, bool) {
	in := w.decodedType(t, d.decoder)
	one := elements(d.items)
	items := union(one, elements(one))
	for _, ref := range in.refs {
		for _, from := range items {
			if by, ok := w.origin(from, way{ref: ref}); ok {
				return by, true
			}
		}
	}
	return in.by, in.bad
}

func (w *flow) decodedType(t types.Type, decoder string) *decodedType {
	key := decoding{t, decoder}
	d := w.decoded[key]
	if d != nil {
		return d
	}
	in := reach{seen: map[types.Type]bool{}, tag: decoder}
	in.value(t)
	if p, ok := underlying(t).(*types.Pointer); ok {
		if param, ok := types.Unalias(p.Elem()).(*types.TypeParam); ok {
			for _, arg := range w.argumentsOf(param) {
				in.value(arg)
			}
		}
	}
	d = &decodedType{refs: in.refs}
	w.decoded[key] = d
	for _, field := range in.fields {
		if w.refers(field.Type()) && !d.bad {
			d.by, d.bad = w.origin(item{node: node{obj: field.Origin()}}, way{ref: field.Type()})
		}
	}
	return d
}

// comesTo is the types of the variables that may come to what is decoded into, as they are or in what they refer to.
func (w *flow) comesTo(list []decode, back map[node][]node) []types.Type {
	seen := map[node]bool{}
	var queue []node
	reach := func(n node) {
		if !seen[n] {
			seen[n] = true
			queue = append(queue, n)
		}
	}
	for _, d := range list {
		for _, in := range d.items {
			reach(in.node)
			reach(node{in.obj, in.at, true})
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, from := range back[n] {
			reach(from)
		}
	}
	have := map[types.Type]bool{}
	var pointers []types.Type
	for _, f := range w.c.files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			v, ok := w.c.info.Defs[id].(*types.Var)
			if ok && !have[v.Type()] && !types.IsInterface(v.Type()) && (seen[node{obj: v}] || w.versionSeen(seen, v)) {
				have[v.Type()] = true
				pointers = append(pointers, v.Type())
			}
			return true
		})
	}
	return pointers
}

// versionSeen reports whether any assignment of a variable is among the nodes.
func (w *flow) versionSeen(seen map[node]bool, v *types.Var) bool {
	for _, at := range w.versions[v] {
		if seen[node{obj: v, at: at}] {
			return true
		}
	}
	return false
}
