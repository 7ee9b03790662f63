package schema

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
)

const (
	extPath   = "github.com/loomext/loomext/prelude/ext"
	entryName = "Run"
)

// typeExpr is a type as it is spelled, with what its names mean where it stands.
type typeExpr struct {
	expr ast.Expr
	in   *file
	bind map[string]typeExpr // type parameters
}

// argument finds the type that the entry package of a tool decodes its arguments into.
func (p *Packages) argument(dir string) (typeExpr, error) {
	p.steps = 0
	g := p.pkg(dir)
	if len(p.faults) > 0 {
		return typeExpr{}, p.faults.sorted()
	}
	if g == nil {
		return typeExpr{}, fmt.Errorf("there is no package in %q: %w", dir, ErrUntold)
	}
	s := search{p: p, seen: map[ast.Node]bool{}}
	var run ast.Node
	var in *file
	if v, ok := g.values[entryName]; ok && v.value != nil {
		run, in = v.value, v.in
		if found, ok := s.direct(v.value, v.in); ok {
			return found, nil
		}
	} else if f, ok := g.funcs[entryName]; ok {
		run, in = f.decl, f.in
	} else {
		return typeExpr{}, fmt.Errorf("%s declares no %s: %w", dir, entryName, ErrUntold)
	}
	s.reach(run, in)
	at := p.fset.PositionFor(run.Pos(), false)
	switch {
	case s.unclear != nil:
		return typeExpr{}, errors.Join(s.unclear, ErrUntold)
	case len(s.found) == 0:
		return typeExpr{}, fmt.Errorf("%s:%d: %s uses neither ext.Typed nor ext.DecodeArgs: %w", at.Filename, at.Line, entryName, ErrUntold)
	}
	for _, other := range s.found[1:] {
		if !p.same(s.found[0], other) {
			return typeExpr{}, fmt.Errorf("%s:%d: %s decodes arguments into more than one type: %w", at.Filename, at.Line, entryName, ErrUntold)
		}
	}
	return s.found[0], nil
}

// same reports whether two spellings are one type.
func (p *Packages) same(a, b typeExpr) bool {
	if a.expr == b.expr {
		return true
	}
	x, err := p.resolve(a, 0)
	if err != nil {
		return false
	}
	y, err := p.resolve(b, 0)
	return err == nil && x.name != "" && x.name == y.name
}

// search goes from Run through what it names.
type search struct {
	p       *Packages
	seen    map[ast.Node]bool
	found   []typeExpr
	unclear error
}

// direct is the type of Run where its value is a call of ext.Typed, perhaps under another name or in a conversion.
func (s *search) direct(e ast.Expr, in *file) (typeExpr, bool) {
	for range maxFollow {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			v, ok := in.pkg.values[x.Name]
			if !ok || v.value == nil {
				return typeExpr{}, false
			}
			e, in = v.value, v.in
		case *ast.CallExpr:
			callee, types := instance(x.Fun)
			switch {
			case in.names(callee, extPath, "Typed"):
				return s.typed(x, types, in)
			case in.names(callee, extPath, "Tool") && len(x.Args) == 1:
				e = x.Args[0]
			default:
				return typeExpr{}, false
			}
		default:
			return typeExpr{}, false
		}
	}
	return typeExpr{}, false
}

// instance takes the type arguments off a function.
func instance(e ast.Expr) (callee ast.Expr, types []ast.Expr) {
	switch x := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		return ast.Unparen(x.X), []ast.Expr{x.Index}
	case *ast.IndexListExpr:
		return ast.Unparen(x.X), x.Indices
	default:
		return x, nil
	}
}

// names reports whether an expression is a symbol of a package.
func (f *file) names(e ast.Expr, importPath, symbol string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != symbol {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && f.imports[x.Name] == importPath
}

// reach looks through a function or an expression, and through those of the tree that it names.
func (s *search) reach(n ast.Node, in *file) {
	if s.seen[n] || len(s.seen) > maxFollow {
		return
	}
	s.seen[n] = true
	type next struct {
		n  ast.Node
		in *file
	}
	var later []next
	follow := func(g *pkg, name string) {
		if g == nil {
			return
		}
		if f, ok := g.funcs[name]; ok {
			later = append(later, next{f.decl, f.in})
		} else if v, ok := g.values[name]; ok && v.value != nil && !v.constant {
			later = append(later, next{v.value, v.in})
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			callee, types := instance(x.Fun)
			switch {
			case in.names(callee, extPath, "Typed"):
				if found, ok := s.typed(x, types, in); ok {
					s.found = append(s.found, found)
				}
				return false
			case in.names(callee, extPath, "DecodeArgs"):
				if len(types) == 1 {
					s.found = append(s.found, typeExpr{expr: types[0], in: in})
				}
				return false
			}
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				if dir, ours := s.p.dir(in.imports[id.Name]); ours && in.imports[id.Name] != "" {
					follow(s.p.pkg(dir), x.Sel.Name)
					return false
				}
			}
		case *ast.Ident:
			follow(in.pkg, x.Name)
		}
		return true
	})
	for _, l := range later {
		s.reach(l.n, l.in)
	}
}

// typed is the T of one call of ext.Typed.
func (s *search) typed(call *ast.CallExpr, types []ast.Expr, in *file) (typeExpr, bool) {
	if len(types) == 1 {
		return typeExpr{expr: types[0], in: in}, true
	}
	if len(call.Args) == 1 {
		if t, ok := s.p.second(call.Args[0], in, 0); ok {
			return t, true
		}
	}
	at := s.p.fset.PositionFor(call.Pos(), false)
	s.unclear = fmt.Errorf("%s:%d: the type that ext.Typed is for cannot be told; write ext.Typed[arguments](…)", at.Filename, at.Line)
	return typeExpr{}, false
}

// second is the type of a function's second parameter: of a literal, a function or a variable of the tree, a method, or
// what a function gives.
func (p *Packages) second(e ast.Expr, in *file, depth int) (typeExpr, bool) {
	if depth > maxFollow {
		return typeExpr{}, false
	}
	of := func(t *ast.FuncType, in *file, bind map[string]typeExpr) (typeExpr, bool) {
		params := flat(t.Params)
		if len(params) != 2 {
			return typeExpr{}, false
		}
		return typeExpr{expr: params[1], in: in, bind: bind}, true
	}
	named := func(g *pkg, name string, types []ast.Expr) (typeExpr, bool) {
		if g == nil {
			return typeExpr{}, false
		}
		if f, ok := g.funcs[name]; ok {
			bind, ok := bound(f.decl.Type.TypeParams, types, typeExpr{in: in})
			if !ok {
				return typeExpr{}, false
			}
			return of(f.decl.Type, f.in, bind)
		}
		if v, ok := g.values[name]; ok {
			if t, ok := ast.Unparen(orNil(v.typ)).(*ast.FuncType); ok {
				return of(t, v.in, nil)
			}
			if v.value != nil {
				return p.second(v.value, v.in, depth+1)
			}
		}
		return typeExpr{}, false
	}
	callee, types := instance(e)
	switch x := callee.(type) {
	case *ast.FuncLit:
		return of(x.Type, in, nil)
	case *ast.Ident:
		return named(in.pkg, x.Name, types)
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok && in.imports[id.Name] != "" {
			if dir, ours := p.dir(in.imports[id.Name]); ours {
				return named(p.pkg(dir), x.Sel.Name, types)
			}
			return typeExpr{}, false
		}
		if methods := in.pkg.byMethod[x.Sel.Name]; len(methods) == 1 && methods[0].decl.Recv.List[0].Type != nil {
			return of(methods[0].decl.Type, methods[0].in, nil)
		}
	case *ast.CallExpr:
		maker, ok := x.Fun.(*ast.Ident)
		if !ok {
			return typeExpr{}, false
		}
		f, ok := in.pkg.funcs[maker.Name]
		if !ok || f.decl.Type.TypeParams != nil {
			return typeExpr{}, false
		}
		if results := flat(f.decl.Type.Results); len(results) == 1 {
			if t, ok := ast.Unparen(results[0]).(*ast.FuncType); ok {
				return of(t, f.in, nil)
			}
		}
	}
	return typeExpr{}, false
}

func orNil(e ast.Expr) ast.Expr {
	if e == nil {
		return &ast.BadExpr{}
	}
	return e
}

// bound pairs type parameters with type arguments, which mean what they do where they stand.
func bound(params *ast.FieldList, types []ast.Expr, where typeExpr) (map[string]typeExpr, bool) {
	var names []*ast.Ident
	if params != nil {
		for _, field := range params.List {
			names = append(names, field.Names...)
		}
	}
	if len(names) != len(types) {
		return nil, false
	}
	if len(names) == 0 {
		return nil, true
	}
	bind := map[string]typeExpr{}
	for i, name := range names {
		bind[name.Name] = typeExpr{expr: types[i], in: where.in, bind: where.bind}
	}
	return bind, true
}

// localType is what a name means inside the function around it: a type that is declared there; known alone is a type
// parameter that nothing here binds.
type localType struct {
	spec  *ast.TypeSpec
	known bool
}

// local looks a name up in the function around it, once.
func (p *Packages) local(f *file, id *ast.Ident) (spec *ast.TypeSpec, known bool) {
	l, ok := p.locals[id]
	if !ok {
		var cost int
		l, cost = f.local(id.Name, id.Pos())
		p.steps += cost / 16 // to pass a node over is cheaper than to look at a type
		p.locals[id] = l
	}
	return l.spec, l.known
}

func (f *file) local(name string, at token.Pos) (found localType, cost int) {
	for _, decl := range f.syntax.Decls {
		if at < decl.Pos() || at >= decl.End() {
			continue
		}
		if d, ok := decl.(*ast.FuncDecl); ok && d.Type.TypeParams != nil {
			for _, field := range d.Type.TypeParams.List {
				for _, param := range field.Names {
					found.known = found.known || param.Name == name
				}
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			cost++
			if n == nil || at < n.Pos() || at >= n.End() {
				return false
			}
			var list []ast.Stmt
			switch x := n.(type) {
			case *ast.BlockStmt:
				list = x.List
			case *ast.CaseClause:
				list = x.Body
			case *ast.CommClause:
				list = x.Body
			}
			for _, stmt := range list {
				d, ok := stmt.(*ast.DeclStmt)
				if !ok || d.Pos() > at {
					continue
				}
				g, ok := d.Decl.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, s := range g.Specs {
					if t, ok := s.(*ast.TypeSpec); ok && t.Name.Name == name && t.Pos() <= at {
						found = localType{t, true}
					}
				}
			}
			return true
		})
	}
	return found, cost
}
