package vet

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// stranger is what makes a type one that an extension may not hold: a type of a package outside the seam, somewhere in it.
type stranger struct{ name, path string }

// finding says what is wrong and what to do.
func (m meeting) finding() (what, instead string) {
	subject := m.name + " is used here"
	if m.t != nil {
		subject = "this has the type " + m.name
		if text := typeText(m.t); text != m.name {
			subject = "this has the type " + text + ", and in it " + m.name
		}
	}
	if m.path == "unsafe" {
		return subject + ": " + pointers, refusal("unsafe").instead
	}
	a := refusal(m.path)
	return fmt.Sprintf("%s, and %s is outside the seam: %s", subject, m.path, a.why), a.instead
}

// strangerIn looks for one in a type, in all that its text would show: what it points to, its elements, parameters, fields
// where they are written out, and type arguments. The insides of a type with a name are not part of it; whoever reaches
// into them has an expression of what is there.
func (c *checker) strangerIn(t types.Type) *stranger {
	if t == nil {
		return nil
	}
	if s, ok := c.verdicts[t]; ok {
		return s
	}
	c.verdicts[t] = nil // while it is looked at
	s := c.look(t)
	c.verdicts[t] = s
	return s
}

func (c *checker) look(t types.Type) *stranger {
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.UnsafePointer {
			return &stranger{"unsafe.Pointer", "unsafe"}
		}
	case *types.Alias:
		if s := c.strangerInList(t.TypeArgs()); s != nil {
			return s
		}
		return c.strangerIn(types.Unalias(t))
	case *types.Named:
		if s := c.foreignPackage(t.Obj()); s != nil {
			return s
		}
		return c.strangerInList(t.TypeArgs())
	case *types.Pointer:
		return c.strangerIn(t.Elem())
	case *types.Slice:
		return c.strangerIn(t.Elem())
	case *types.Array:
		return c.strangerIn(t.Elem())
	case *types.Chan:
		return c.strangerIn(t.Elem())
	case *types.Map:
		if s := c.strangerIn(t.Key()); s != nil {
			return s
		}
		return c.strangerIn(t.Elem())
	case *types.Signature:
		if s := c.strangerIn(t.Params()); s != nil {
			return s
		}
		return c.strangerIn(t.Results())
	case *types.Tuple:
		for i := range t.Len() {
			if s := c.strangerIn(t.At(i).Type()); s != nil {
				return s
			}
		}
	case *types.Struct:
		for i := range t.NumFields() {
			if s := c.strangerIn(t.Field(i).Type()); s != nil {
				return s
			}
		}
	case *types.Interface:
		for i := range t.NumExplicitMethods() {
			if s := c.strangerIn(t.ExplicitMethod(i).Type()); s != nil {
				return s
			}
		}
		for i := range t.NumEmbeddeds() {
			if s := c.strangerIn(t.EmbeddedType(i)); s != nil {
				return s
			}
		}
	case *types.Union:
		for i := range t.Len() {
			if s := c.strangerIn(t.Term(i).Type()); s != nil {
				return s
			}
		}
	}
	return nil
}

func (c *checker) strangerInList(args *types.TypeList) *stranger {
	for i := range args.Len() {
		if s := c.strangerIn(args.At(i)); s != nil {
			return s
		}
	}
	return nil
}

// foreignPackage is a stranger where an object belongs to a package that is neither the extension's nor in the seam.
func (c *checker) foreignPackage(obj types.Object) *stranger {
	pkg := obj.Pkg()
	if pkg == nil || c.own(pkg) || allowed[pkg.Path()] {
		return nil
	}
	return &stranger{pkg.Name() + "." + obj.Name(), pkg.Path()}
}

// judgeTypes is the type rule: the type of every expression, of every object that is declared or used, and every type
// argument, given or inferred.
func (c *checker) judgeTypes() {
	for e, tv := range c.info.Types {
		c.judgeType(e.Pos(), tv.Type)
	}
	for _, objects := range []map[*ast.Ident]types.Object{c.info.Defs, c.info.Uses} {
		for id, obj := range objects {
			if obj != nil {
				c.judgeType(id.Pos(), obj.Type())
			}
		}
	}
	for n, obj := range c.info.Implicits {
		c.judgeType(n.Pos(), obj.Type())
	}
	for e, selection := range c.info.Selections {
		c.judgeType(e.Sel.Pos(), selection.Recv())
		c.judgeType(e.Sel.Pos(), selection.Type())
	}
	for id, instance := range c.info.Instances {
		for i := range instance.TypeArgs.Len() {
			c.judgeType(id.Pos(), instance.TypeArgs.At(i))
		}
		c.judgeType(id.Pos(), instance.Type)
	}
}

func (c *checker) judgeType(pos token.Pos, t types.Type) {
	if s := c.strangerIn(t); s != nil {
		c.met(pos, s, t)
	}
}

// meeting is a place where a stranger was met: an expression of type t, or a use of the stranger itself.
type meeting struct {
	pos token.Pos
	*stranger
	t types.Type
}

// met keeps, of one line's meetings with one package, the plainest.
func (c *checker) met(pos token.Pos, s *stranger, t types.Type) {
	f := c.byFile[c.fset.File(pos)]
	if f == nil {
		return
	}
	line, _ := f.place(pos)
	key := fmt.Sprint(f.path, ":", line, ":", s.path)
	next := meeting{pos, s, t}
	if have, ok := c.strangers[key]; !ok || next.before(have) {
		c.strangers[key] = next
	}
}

// before orders meetings by how plainly they show the stranger, then by place.
func (m meeting) before(other meeting) bool {
	return cmp.Or(cmp.Compare(m.rank(), other.rank()), cmp.Compare(m.pos, other.pos), cmp.Compare(m.name, other.name), cmp.Compare(m.text(), other.text())) < 0
}

func (m meeting) text() string {
	if m.t == nil {
		return ""
	}
	return typeText(m.t)
}

func (m meeting) rank() int {
	switch {
	case m.t == nil:
		return 2
	case m.text() == m.name:
		return 0
	}
	return 1
}

func (c *checker) reportStrangers() {
	for _, m := range c.strangers {
		what, instead := m.finding()
		c.at(m.pos, LintType, what, instead)
	}
}
