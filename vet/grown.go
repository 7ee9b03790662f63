package vet

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Bounds on what the types of a source come to, which a compiler would compile.
const (
	// MaxValueBytes is the size of the largest value: the memory that a satellite has unless more is asked for.
	MaxValueBytes = 64 << 20
	// MaxIndex is the largest index that a literal of a slice names: the compiler lays out all elements before it.
	MaxIndex = 1 << 20
	// MaxInstances is how many functions and types may be made of the extension's generic ones. The compiler compiles
	// each; honest code has dozens.
	MaxInstances = 2000
	// maxArgument is the longest text of a type argument.
	maxArgument = 4 << 10
)

// judgeSizes refuses values that are too large to compile or to run, and literals that would be.
func (c *checker) judgeSizes() {
	s := sizer{sizes: types.SizesFor("gc", "amd64"), known: map[types.Type]int64{}}
	for e, tv := range c.info.Types {
		if tv.Type == nil || invalid(tv.Type) {
			continue
		}
		if s.size(tv.Type) > MaxValueBytes {
			c.once(e.Pos(), LintBound, fmt.Sprintf("a value of more than %d bytes", MaxValueBytes), "make a slice of what is needed")
		}
		lit, ok := e.(*ast.CompositeLit)
		if !ok {
			continue
		}
		if _, ok := types.Unalias(tv.Type).Underlying().(*types.Slice); !ok {
			continue
		}
		for _, elem := range lit.Elts {
			if pair, ok := elem.(*ast.KeyValueExpr); ok {
				if key := c.info.Types[pair.Key].Value; key != nil && constant.Compare(key, token.GTR, constant.MakeInt64(MaxIndex)) {
					c.once(pair.Pos(), LintBound, fmt.Sprintf("a literal with an index of more than %d", MaxIndex), "make a slice and set the element")
				}
			}
		}
	}
	for id, obj := range c.info.Defs {
		if v, ok := obj.(*types.Var); ok && !invalid(v.Type()) && s.size(v.Type()) > MaxValueBytes {
			c.once(id.Pos(), LintBound, fmt.Sprintf("a value of more than %d bytes", MaxValueBytes), "make a slice of what is needed")
		}
	}
}

// sizer measures types without the overflow and the repetition of [types.Sizes].
type sizer struct {
	sizes types.Sizes
	known map[types.Type]int64
}

func (s *sizer) size(t types.Type) int64 {
	if n, ok := s.known[t]; ok {
		return n
	}
	s.known[t] = 0 // in a cycle, which is an error of its own
	n := s.measure(t)
	s.known[t] = n
	return n
}

func (s *sizer) measure(t types.Type) int64 {
	const word = 8
	switch t := t.(type) {
	case *types.Alias:
		return s.size(types.Unalias(t))
	case *types.Named:
		return s.size(t.Underlying())
	case *types.Array:
		elem := s.size(t.Elem())
		if elem > 0 && t.Len() > MaxValueBytes/elem {
			return MaxValueBytes + 1
		}
		return elem * max(t.Len(), 0)
	case *types.Struct:
		total := int64(0)
		for i := range t.NumFields() {
			total = min(total+s.size(t.Field(i).Type()), MaxValueBytes+1)
		}
		return total
	case *types.Basic:
		if t.Info()&types.IsUntyped != 0 {
			return word
		}
		return s.sizes.Sizeof(t)
	case *types.Tuple, *types.TypeParam, *types.Union:
		return word
	}
	return 3 * word
}

// place is where a generic function or type is instantiated: by which declaration, and with what.
type place struct {
	params []*types.TypeParam // of the declaration it stands in

	target types.Object
	args   *types.TypeList
}

// judgeInstances counts what the generic functions and types of the extension come to when they are instantiated from
// where they are used, which may double with every level.
func (c *checker) judgeInstances() {
	places := map[types.Object][]place{} // by the generic declaration they stand in, nil for any other
	for _, f := range c.files {
		for _, decl := range f.syntax.Decls {
			c.placesIn(decl, places)
		}
	}
	type made struct {
		target types.Object
		args   string
	}
	seen := map[made]bool{}
	count := map[types.Object]int{}
	type todo struct {
		target types.Object
		args   []string
	}
	queue := []todo{{}}
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, p := range places[at.target] {
			env := map[*types.TypeParam]string{}
			for i, param := range p.params {
				if i < len(at.args) {
					env[param] = at.args[i]
				}
			}
			next := todo{target: p.target}
			for i := range p.args.Len() {
				w := typeWriter{limit: maxArgument, env: env, exact: true}
				w.write(p.args.At(i))
				if w.cut {
					c.tooMany(p.target, "with types that grow beyond what people write")
					return
				}
				next.args = append(next.args, w.String())
			}
			key := made{p.target, strings.Join(next.args, "\x00")}
			if seen[key] {
				continue
			}
			seen[key] = true
			count[p.target]++
			if len(seen) > MaxInstances {
				c.tooMany(most(count), fmt.Sprintf("and the extension's generic declarations together more than %d times", MaxInstances))
				return
			}
			queue = append(queue, next)
		}
	}
}

// most is the object that was counted most often, the first one declared where there are several.
func most(count map[types.Object]int) types.Object {
	var best types.Object
	for obj, n := range count {
		if best == nil || n > count[best] || n == count[best] && obj.Pos() < best.Pos() {
			best = obj
		}
	}
	return best
}

func (c *checker) tooMany(obj types.Object, how string) {
	c.at(obj.Pos(), LintBound, fmt.Sprintf("%s is instantiated from within other generic declarations, %s", obj.Name(), how),
		"instantiate it with fewer types, or pass values through an interface")
}

// placesIn finds the instantiations that stand in one declaration.
func (c *checker) placesIn(decl ast.Decl, places map[types.Object][]place) {
	var owner types.Object
	var params []*types.TypeParam
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		fn, ok := c.info.Defs[decl.Name].(*types.Func)
		if !ok {
			return
		}
		sig := fn.Signature()
		if params = slices.Collect(sig.TypeParams().TypeParams()); len(params) > 0 {
			owner = fn
		}
		if sig.Recv() != nil {
			if params = slices.Collect(sig.RecvTypeParams().TypeParams()); len(params) > 0 {
				owner = receiver(sig)
			}
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if generic, ok := spec.(*ast.TypeSpec); ok && generic.TypeParams != nil {
				obj := c.info.Defs[generic.Name]
				c.collect(spec, obj, typeParams(obj), places)
			} else {
				c.collect(spec, nil, nil, places)
			}
		}
		return
	}
	c.collect(decl, owner, params, places)
}

func (c *checker) collect(n ast.Node, owner types.Object, params []*types.TypeParam, places map[types.Object][]place) {
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		instance, ok := c.info.Instances[id]
		target := c.info.Uses[id]
		if ok && target != nil && c.own(target.Pkg()) && instance.TypeArgs != nil {
			places[owner] = append(places[owner], place{params: params, target: target, args: instance.TypeArgs})
		}
		return true
	})
}

func receiver(sig *types.Signature) types.Object {
	t := types.Unalias(sig.Recv().Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if named, ok := t.(*types.Named); ok {
		return named.Origin().Obj()
	}
	return nil
}

func typeParams(obj types.Object) []*types.TypeParam {
	if obj == nil {
		return nil
	}
	switch t := obj.Type().(type) {
	case *types.Named:
		return slices.Collect(t.TypeParams().TypeParams())
	case *types.Alias:
		return slices.Collect(t.TypeParams().TypeParams())
	}
	return nil
}
