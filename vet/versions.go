package vet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// version is a local variable from one assignment of the whole of it to the end of the block, or to the next such assignment
// in that block: what was assigned before is gone there.
//
//	p := palette.WebSafe
//	p = slices.Clone(p)
//	p[0] = color.Black // writes to the clone
//
// An assignment deeper inside may have happened or not, so its version flows into the one around it.
type version struct {
	from, to token.Pos
	list     ast.Node // where the statement stands
	outer    *version
}

// maxVersions is how many assignments of one variable are told apart.
const maxVersions = 64

// separation finds the variables that can be told apart by their assignments: those that only the function knows which
// declares them, and whose address nothing has.
type separation struct {
	w         *flow
	functions []ast.Node
	owner     map[*types.Var]ast.Node
	shared    map[*types.Var]bool
	defined   map[*types.Var]bool // by an assignment that is told apart
	jumps     map[ast.Node]bool   // functions with a goto
	found     map[*types.Var][]*version
}

func (w *flow) separate(file *ast.File) {
	s := &separation{
		w: w, owner: map[*types.Var]ast.Node{}, shared: map[*types.Var]bool{}, defined: map[*types.Var]bool{}, jumps: map[ast.Node]bool{},
		found: map[*types.Var][]*version{},
	}
	var nodes []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			if function(nodes[len(nodes)-1]) {
				s.functions = s.functions[:len(s.functions)-1]
			}
			nodes = nodes[:len(nodes)-1]
			return true
		}
		nodes = append(nodes, n)
		if function(n) {
			s.functions = append(s.functions, n)
		}
		s.look(n)
		return true
	})
	for v, list := range s.found {
		alone := len(list) == 1 && s.defined[v]
		if !alone && len(list) <= maxVersions && !s.shared[v] && !s.jumps[s.owner[v]] {
			nest(list)
			w.versions[v] = list
		}
	}
}

func function(n ast.Node) bool {
	switch n.(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		return true
	}
	return false
}

func (s *separation) look(n ast.Node) {
	switch n := n.(type) {
	case *ast.Ident:
		s.named(n)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			s.share(n.X)
		}
	case *ast.SliceExpr: // of an array
		if _, array := underlying(s.w.c.info.TypeOf(n.X)).(*types.Array); array {
			s.share(n.X)
		}
	case *ast.SelectorExpr: // a method may take the address
		if selection := s.w.c.info.Selections[n]; selection != nil && selection.Kind() == types.MethodVal {
			if _, has := underlying(selection.Recv()).(*types.Pointer); !has && !types.IsInterface(selection.Recv()) {
				s.share(n.X)
			}
		}
	case *ast.BranchStmt:
		if n.Tok == token.GOTO {
			s.jumps[s.functions[len(s.functions)-1]] = true
		}
	case *ast.BlockStmt:
		s.list(n, n.List, n.End())
	case *ast.CaseClause:
		s.list(n, n.Body, n.End())
	case *ast.CommClause:
		s.list(n, n.Body, n.End())
	}
}

// named keeps which function a variable belongs to, and whether another one uses it.
func (s *separation) named(id *ast.Ident) {
	v, ok := s.w.c.info.ObjectOf(id).(*types.Var)
	if !ok || v.IsField() || len(s.functions) == 0 {
		return
	}
	here := s.functions[len(s.functions)-1]
	if s.w.c.info.Defs[id] != nil {
		s.owner[v] = here
	} else if s.owner[v] != here {
		s.shared[v] = true
	}
}

// share is for a variable that is changed through a pointer too.
func (s *separation) share(e ast.Expr) {
	for e != nil {
		switch x := e.(type) {
		case *ast.Ident:
			if v, ok := s.w.c.info.ObjectOf(x).(*types.Var); ok {
				s.shared[v] = true
			}
			return
		case *ast.SelectorExpr:
			e = x.X
		default:
			e = operand(x)
		}
	}
}

// list finds the assignments that stand in a list of statements themselves.
func (s *separation) list(in ast.Node, list []ast.Stmt, end token.Pos) {
	for _, statement := range list {
		for labeled, ok := statement.(*ast.LabeledStmt); ok; labeled, ok = statement.(*ast.LabeledStmt) {
			statement = labeled.Stmt
		}
		switch n := statement.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.ASSIGN || n.Tok == token.DEFINE {
				for _, left := range n.Lhs {
					s.begin(left, n.End(), end, in)
				}
			}
		case *ast.DeclStmt:
			decl, _ := n.Decl.(*ast.GenDecl)
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok {
					for _, id := range spec.Names {
						s.begin(id, spec.End(), end, in)
					}
				}
			}
		}
	}
}

func (s *separation) begin(left ast.Expr, from, to token.Pos, in ast.Node) {
	id, ok := ast.Unparen(left).(*ast.Ident)
	if !ok {
		return
	}
	v, ok := s.w.c.info.ObjectOf(id).(*types.Var)
	if !ok || len(s.found[v]) > maxVersions {
		return
	}
	if s.w.c.info.Defs[id] != nil {
		s.defined[v] = true
	}
	s.found[v] = append(s.found[v], &version{from: from, to: to, list: in})
}

// nest ends each version at the next in its list, and finds the one around it.
func nest(list []*version) {
	for _, v := range list {
		for _, other := range list {
			if other.list == v.list && other.from > v.from && other.from < v.to {
				v.to = other.from
			}
		}
	}
	for _, v := range list {
		for _, other := range list {
			if other.list != v.list && other.from < v.from && v.from <= other.to && (v.outer == nil || other.from > v.outer.from) {
				v.outer = other
			}
		}
	}
}

// version is the one that a variable has at a place, or nil where all its assignments count.
func (w *flow) version(v *types.Var, pos token.Pos) *version {
	var at *version
	for _, one := range w.versions[v] {
		if one.from <= pos && pos < one.to && (at == nil || one.from > at.from) {
			at = one
		}
	}
	return at
}

// local links a local variable, named in an assignment that ends at a place, and is where a value goes then: to the version
// that begins there, or to the one around the name and to all of the variable.
func (w *flow) local(v *types.Var, named, end token.Pos) []node {
	all := node{obj: v}
	for _, one := range w.versions[v] {
		if one.from == end {
			began := node{obj: v, at: one}
			w.link(all, []item{{node: began}})
			if one.outer != nil {
				w.link(node{obj: v, at: one.outer}, []item{{node: began}})
			}
			return []node{began}
		}
	}
	if around := w.version(v, named); around != nil {
		return []node{all, {obj: v, at: around}}
	}
	return []node{all}
}
