package vet

import (
	"fmt"
	"go/ast"
	"go/token"
)

// variable refuses writes to variables of packages outside the extension, and taking their addresses. What is written
// through a pointer that was copied first is for the typed half.
func (f *goFile) variable(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt, *ast.IncDecStmt, *ast.RangeStmt:
		writes(n, f.written)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			if sel, what := f.foreign(n.X); sel != nil {
				f.at(n.Pos(), LintVariable, "the address of "+what+", which belongs to another package", "copy the value into a variable of your own")
			}
		}
	case *ast.CallExpr:
		f.builtinWrite(n)
	}
}

func (f *goFile) written(e ast.Expr) {
	if sel, what := f.foreign(e); sel != nil {
		f.at(sel.Pos(), LintVariable, "a write to "+what+", which belongs to another package", "keep the value in a variable of your own")
	}
}

// writes gives every expression that a statement writes to.
func writes(statement ast.Node, written func(ast.Expr)) {
	switch n := statement.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, left := range n.Lhs {
				written(left)
			}
		}
	case *ast.IncDecStmt:
		written(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			written(n.Key)
			written(n.Value)
		}
	}
}

// operand is what an expression takes its value from, or nil where it is not a part of another, or behind it.
func operand(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return e.X
	case *ast.StarExpr:
		return e.X
	case *ast.IndexExpr:
		return e.X
	case *ast.SliceExpr:
		return e.X
	case *ast.TypeAssertExpr:
		return e.X
	}
	return nil
}

// builtinWrite looks at the builtins that change what their first argument refers to.
func (f *goFile) builtinWrite(call *ast.CallExpr) {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || id.Obj != nil || len(call.Args) == 0 {
		return
	}
	switch id.Name {
	case "clear", "copy", "delete":
		f.written(call.Args[0])
	case "append": // into the room behind a shortened slice
		if _, shortened := ast.Unparen(call.Args[0]).(*ast.SliceExpr); shortened && !clipped(call.Args[0]) {
			f.written(call.Args[0])
		}
	}
}

// foreign finds the variable of another package that an expression is, or is a part of, or is behind. A call on the
// way ends the search: what a function returned is its own matter.
func (f *goFile) foreign(e ast.Expr) (*ast.SelectorExpr, string) {
	for e != nil {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			if path, name, ok := f.named(x); ok {
				if f.own(path) {
					return nil, ""
				}
				return x, fmt.Sprintf("%s.%s", baseName(path), name)
			}
			e = x.X
		default:
			e = operand(x)
		}
	}
	return nil, ""
}
