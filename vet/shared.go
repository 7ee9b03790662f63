package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// mutators are functions that change what an argument refers to, by path and name, with the argument's number.
var mutators = map[string]int{
	"slices.Sort": 0, "slices.SortFunc": 0, "slices.SortStableFunc": 0, "slices.Reverse": 0, "slices.Insert": 0, "slices.Delete": 0,
	"slices.DeleteFunc": 0, "slices.Compact": 0, "slices.CompactFunc": 0, "slices.Replace": 0,
	"maps.Copy": 0, "maps.DeleteFunc": 0, "maps.Insert": 0,
	"sort.Sort": 0, "sort.Stable": 0, "sort.Slice": 0, "sort.SliceStable": 0, "sort.Ints": 0, "sort.Strings": 0, "sort.Float64s": 0,
	"encoding/json.Unmarshal": 1, "encoding/xml.Unmarshal": 1, "encoding/binary.Read": 2, "encoding/binary.Decode": 2,
	"encoding/hex.Decode": 0, "encoding/hex.Encode": 0, "crypto/rand.Read": 0, "crypto/subtle.XORBytes": 0,
	"io.ReadFull": 1, "io.ReadAtLeast": 1, "errors.As": 1, "image/draw.Draw": 0, "image/draw.DrawMask": 0,
	"container/heap.Init": 0, "container/heap.Push": 0, "container/heap.Pop": 0, "container/heap.Fix": 0, "container/heap.Remove": 0,
}

// judgeShared refuses writes to what belongs to another package, and addresses of it.
func (c *checker) judgeShared() {
	w := &flow{c: c, edges: map[node][]node{}, from: map[node]types.Object{}}
	for _, f := range c.files {
		w.gather(f.syntax)
	}
	w.spread()
	for _, f := range c.files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			w.judge(n)
			return true
		})
	}
}

// shared reports whether an object is a variable of a package that is not the extension's.
func (c *checker) shared(obj types.Object) bool {
	v, ok := obj.(*types.Var)
	return ok && v.Pkg() != nil && !c.own(v.Pkg()) && v.Parent() == v.Pkg().Scope()
}

// judge looks at one node for writes and addresses.
func (w *flow) judge(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt, *ast.IncDecStmt, *ast.RangeStmt:
		writes(n, w.written)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			w.address(n.X, n.Pos())
		}
	case *ast.SelectorExpr:
		w.method(n)
	case *ast.CallExpr:
		w.passed(n)
	}
}

// written refuses a write to a variable of another package and through a copy of one.
func (w *flow) written(left ast.Expr) {
	if obj := w.root(left); obj != nil {
		w.c.once(left.Pos(), LintVariable, "a write to "+objectText(obj)+", which belongs to another package", "keep the value in a variable of your own")
		return
	}
	for e := left; e != nil; {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
			continue
		case *ast.StarExpr:
			if w.through(left, x.X) || w.whole(left, x.X) {
				return
			}
			e = x.X
		case *ast.IndexExpr:
			if _, array := underlying(w.c.info.TypeOf(x.X)).(*types.Array); !array && w.through(left, x.X) {
				return
			}
			e = x.X
		case *ast.SelectorExpr:
			if w.c.info.Selections[x] == nil {
				return
			}
			if w.behind(left, w.embedded(x)) {
				return
			}
			if _, pointer := underlying(w.c.info.TypeOf(x.X)).(*types.Pointer); pointer && w.through(left, x.X) {
				return
			}
			e = x.X
		default:
			return
		}
	}
}

// through refuses a write behind an expression that may be a copy of another package's variable.
func (w *flow) through(at, e ast.Expr) bool { return w.behind(at, w.sources(e)) }

func (w *flow) behind(at ast.Expr, items []item) bool {
	for _, in := range items {
		if from := w.origin(in); from != nil {
			w.c.once(at.Pos(), LintVariable, "a write through a copy of "+objectText(from)+", which belongs to another package", "make a value of your own and change that")
			return true
		}
	}
	return false
}

func (w *flow) origin(in item) types.Object {
	switch {
	case in.held:
		return nil
	case w.c.shared(in.obj):
		return in.obj
	}
	return w.from[in.node]
}

// whole refuses to replace all that a pointer points to where another package has a variable of that type, wherever the
// pointer comes from: no value of such a type is made to be overwritten.
func (w *flow) whole(at, pointer ast.Expr) bool {
	p, ok := underlying(w.c.info.TypeOf(pointer)).(*types.Pointer)
	if !ok {
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

// address refuses the address of a variable of another package, and of its parts.
func (w *flow) address(e ast.Expr, pos token.Pos) {
	if obj := w.root(e); obj != nil {
		w.c.once(pos, LintVariable, "the address of "+objectText(obj)+", which belongs to another package", "copy the value into a variable of your own")
	}
}

// method refuses a call that takes the address of a variable of another package for its receiver.
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
		w.address(sel.X, sel.Pos())
	}
}

// passed refuses to hand what belongs to another package to a function that changes it.
func (w *flow) passed(call *ast.CallExpr) {
	name := w.calledName(call)
	at, ok := mutators[name]
	switch name {
	case "clear", "copy", "delete":
		at, ok = 0, true
	case "append": // into the room behind a shortened slice
		_, shortened := ast.Unparen(call.Args[0]).(*ast.SliceExpr)
		at, ok = 0, shortened
	}
	if !ok || at >= len(call.Args) {
		return
	}
	for _, in := range w.sources(call.Args[at]) {
		if from := w.origin(in); from != nil {
			w.c.once(call.Args[at].Pos(), LintVariable, "a write to "+objectText(from)+", which belongs to another package", "change a copy of it: slices.Clone or maps.Clone makes one")
			return
		}
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

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return types.Unalias(t).Underlying()
}
