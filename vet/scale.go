package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
)

// Bounds on what declarations grow to. A type checker and a compiler expand what a source says in a line: a struct that
// holds two of the last, forty lines long, has 2^40 fields.
const (
	// MaxTypeParts is the most parts a declared type may come to when the types it holds are written out in it. An
	// honest one has hundreds; at the bound a type checker needs some milliseconds.
	MaxTypeParts = 20_000
	// MaxStringBytes is the longest string that constants may be joined to.
	MaxStringBytes = 1 << 20
)

// scale measures declarations by their spelling, before anything computes with them.
type scale struct {
	dirs    map[string]map[string]declared // directory to what its package declares
	module  string
	home    map[ast.Node]*goFile          // where a TypeSpec or a constant's ValueSpec stands
	values  map[*ast.ValueSpec][]ast.Expr // of constants, repeated ones filled in
	parts   map[*ast.TypeSpec]int         // 1 while it is measured
	lengths map[constantName]int          // 0 while it is measured
}

// declared is a type, or one constant of a group.
type declared struct {
	typ  *ast.TypeSpec
	spec *ast.ValueSpec
}

type constantName struct {
	spec *ast.ValueSpec
	name string
}

// measureScale finds every type and every joined string of the extension that grows beyond its bound, and reports
// whether there is none.
func measureScale(files []*goFile, module string) bool {
	s := &scale{dirs: map[string]map[string]declared{}, module: module, home: map[ast.Node]*goFile{}, values: map[*ast.ValueSpec][]ast.Expr{},
		parts: map[*ast.TypeSpec]int{}, lengths: map[constantName]int{}}
	for _, f := range files {
		s.collect(f)
	}
	fits := true
	inner := map[ast.Expr]bool{} // operands of a sum that was measured
	for _, f := range files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				s.typeSpec(n, &fits)
			case *ast.BinaryExpr:
				if n.Op != token.ADD {
					break
				}
				if !inner[n] {
					s.length(f, n, &fits)
				}
				inner[ast.Unparen(n.X)], inner[ast.Unparen(n.Y)] = true, true
			}
			return true
		})
	}
	return fits
}

func (s *scale) collect(f *goFile) {
	names := s.dirs[f.dir]
	if names == nil {
		names = map[string]declared{}
		s.dirs[f.dir] = names
	}
	for _, decl := range f.syntax.Decls {
		if decl, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names[spec.Name.Name] = declared{typ: spec}
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						if decl.Tok == token.CONST {
							names[id.Name] = declared{spec: spec}
						}
					}
				}
			}
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			s.home[n] = f
		case *ast.GenDecl:
			if n.Tok != token.CONST {
				break
			}
			var last []ast.Expr
			for _, spec := range n.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok {
					if len(spec.Values) > 0 {
						last = spec.Values
					}
					s.values[spec], s.home[spec] = last, f
				}
			}
		}
		return true
	})
}

// find is what a name, or the name of one of the extension's own packages, declares.
func (s *scale) find(f *goFile, e ast.Expr) (declared, string) {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Obj == nil {
			return s.dirs[f.dir][e.Name], e.Name
		}
		switch decl := e.Obj.Decl.(type) {
		case *ast.TypeSpec:
			return declared{typ: decl}, e.Name
		case *ast.ValueSpec:
			if e.Obj.Kind == ast.Con {
				return declared{spec: decl}, e.Name
			}
		}
	case *ast.SelectorExpr:
		if p, name, ok := f.named(e); ok {
			if dir, own := ownDir(s.module, p); own {
				return s.dirs[path.Clean(dir)][name], name
			}
		}
	}
	return declared{}, ""
}

// typeSpec is the size of a declared type. One that is beyond the bound is a finding, and counts as one part for those
// that hold it, so that the chain is not reported link by link.
func (s *scale) typeSpec(spec *ast.TypeSpec, fits *bool) int {
	if n, ok := s.parts[spec]; ok {
		return n
	}
	s.parts[spec] = 1
	f := s.home[spec]
	n := s.expr(f, spec.Type, true, fits)
	if n > MaxTypeParts {
		*fits = false
		f.at(spec.Name.Pos(), LintBound, fmt.Sprintf("the type %s has more than %d parts when what it holds is written out", spec.Name.Name, MaxTypeParts),
			"hold a pointer or a slice, or declare fewer types within each other")
		n = 1
	}
	s.parts[spec] = n
	return n
}

// expr is the size of a type expression. whole says that a type which is named is a part of it, and not merely pointed to;
// an alias and an instance of a generic type are written out wherever they stand.
func (s *scale) expr(f *goFile, e ast.Expr, whole bool, fits *bool) int {
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		d, _ := s.find(f, e)
		if d.typ == nil || !whole && !d.typ.Assign.IsValid() && d.typ.TypeParams == nil {
			return 1
		}
		return s.typeSpec(d.typ, fits)
	case *ast.ParenExpr:
		return s.expr(f, e.X, whole, fits)
	case *ast.StarExpr:
		return capped(1 + s.expr(f, e.X, false, fits))
	case *ast.Ellipsis:
		return capped(1 + s.expr(f, e.Elt, false, fits))
	case *ast.ArrayType:
		return capped(1 + s.expr(f, e.Elt, whole && e.Len != nil, fits))
	case *ast.ChanType:
		return capped(1 + s.expr(f, e.Value, false, fits))
	case *ast.MapType:
		return capped(1 + s.expr(f, e.Key, false, fits) + s.expr(f, e.Value, false, fits))
	case *ast.FuncType:
		return capped(s.fields(f, e.Params, false, fits) + s.fields(f, e.Results, false, fits))
	case *ast.StructType:
		return s.fields(f, e.Fields, true, fits)
	case *ast.InterfaceType:
		return s.fields(f, e.Methods, true, fits)
	case *ast.UnaryExpr:
		return s.expr(f, e.X, true, fits)
	case *ast.BinaryExpr:
		return capped(s.expr(f, e.X, true, fits) + s.expr(f, e.Y, true, fits))
	case *ast.IndexExpr:
		return s.instance(f, e.X, []ast.Expr{e.Index}, fits)
	case *ast.IndexListExpr:
		return s.instance(f, e.X, e.Indices, fits)
	}
	return 1
}

// instance is the size of a generic type with arguments: at most as many of the largest argument as the type has parts.
func (s *scale) instance(f *goFile, generic ast.Expr, args []ast.Expr, fits *bool) int {
	largest := 1
	for _, arg := range args {
		largest = max(largest, s.expr(f, arg, true, fits))
	}
	return capped(s.expr(f, generic, true, fits) * largest)
}

func (s *scale) fields(f *goFile, list *ast.FieldList, whole bool, fits *bool) int {
	total := 1
	if list != nil {
		for _, field := range list.List {
			total = capped(total + max(1, len(field.Names))*s.expr(f, field.Type, whole, fits))
		}
	}
	return total
}

// capped keeps sums and products of sizes from overflowing.
func capped(n int) int { return min(n, MaxTypeParts+1) }

// length is how long a string the expression may be. What is no constant counts as nothing.
func (s *scale) length(f *goFile, e ast.Expr, fits *bool) int {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return len(e.Value)
		}
	case *ast.ParenExpr:
		return s.length(f, e.X, fits)
	case *ast.CallExpr: // a conversion
		total := 0
		for _, arg := range e.Args {
			total = max(total, s.length(f, arg, fits))
		}
		return total
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return 0
		}
		n := s.length(f, e.X, fits) + s.length(f, e.Y, fits)
		if n > MaxStringBytes {
			*fits = false
			f.at(e.Pos(), LintBound, fmt.Sprintf("constants are joined to a string of more than %d bytes", MaxStringBytes), "build it when it is needed, with strings.Repeat or a strings.Builder")
			return 0
		}
		return n
	case *ast.Ident, *ast.SelectorExpr:
		if d, name := s.find(f, e); d.spec != nil {
			return s.constant(constantName{d.spec, name}, fits)
		}
	}
	return 0
}

func (s *scale) constant(c constantName, fits *bool) int {
	if n, ok := s.lengths[c]; ok {
		return n
	}
	s.lengths[c] = 0
	values := s.values[c.spec]
	for i, id := range c.spec.Names {
		if id.Name == c.name && i < len(values) {
			s.lengths[c] = s.length(s.home[c.spec], values[i], fits)
		}
	}
	return s.lengths[c]
}
