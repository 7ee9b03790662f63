package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// judgeObjects looks at every object the source uses, whatever it is called there: what belongs to a package outside the
// seam, what is denied, and what a capability is used by.
func (c *checker) judgeObjects(uses *[]Use) {
	begins := c.selectors()
	for id, obj := range c.info.Uses {
		pos := id.Pos()
		if begin, ok := begins[id]; ok {
			pos = begin
		}
		if builtin, ok := obj.(*types.Builtin); ok && (builtin.Name() == "print" || builtin.Name() == "println") {
			c.once(pos, LintSymbol, "the builtin "+builtin.Name()+": "+stdio, useReport)
		}
		pkg := obj.Pkg()
		if pkg == nil || c.own(pkg) {
			continue
		}
		if name, ok := obj.(*types.PkgName); ok {
			c.judgePackage(id, name)
			continue
		}
		if s := c.foreignPackage(obj); s != nil {
			c.met(pos, s, nil)
			continue
		}
		if obj.Parent() != pkg.Scope() {
			continue // a field or a method
		}
		if a, bad := denied[pkg.Path()+"."+obj.Name()]; bad {
			c.once(pos, LintSymbol, fmt.Sprintf("%s.%s: %s", pkg.Name(), obj.Name(), a.why), a.instead)
		}
		f := c.byFile[c.fset.File(pos)]
		if capability := capability(pkg.Path(), obj.Name()); capability != "" && f != nil {
			line, col := f.place(pos)
			*uses = append(*uses, Use{capability, f.path, line, col, baseName(pkg.Path()) + "." + obj.Name()})
		}
	}
}

// judgePackage refuses a package outside the seam that an import brought in. The syntactic half has refused it already.
func (c *checker) judgePackage(id *ast.Ident, name *types.PkgName) {
	path := name.Imported().Path()
	if !allowed[path] && !c.own(name.Imported()) {
		c.met(id.Pos(), &stranger{path, path}, nil)
	}
}

// selectors is where the expression begins that each selected name ends.
func (c *checker) selectors() map[*ast.Ident]token.Pos {
	begins := map[*ast.Ident]token.Pos{}
	for _, f := range c.files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				begins[sel.Sel] = sel.Pos()
			}
			return true
		})
	}
	return begins
}
