package vet

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
)

// Bounds on one file's shape. Each was measured against the compiler: at the bound a source costs it a second or two,
// a few times beyond it minutes or gigabytes. The size of a file and of the tree are bounded where the tree is read.
const (
	// MaxDepth is how deep brackets, and the nodes of the syntax tree, may nest. A chain of binary operators and one
	// of else-ifs count as one level each.
	MaxDepth = 200
	// MaxClosureDepth is how deep function literals may nest.
	MaxClosureDepth = 16
	// MaxClosures is the most function literals of one file.
	MaxClosures = 1000
	// MaxReach is the most tokens between an enclosing separator and the innermost one, summed over the nesting. It
	// bounds the recursion of the parser where no bracket does: in runs of "*", "[]", "chan" or "else if".
	MaxReach = 10_000
	// MaxWeight is the most statements, calls and operators of one function, or of one file's package variables
	// together, which the compiler makes one function of. A logical operator weighs logicalWeight.
	MaxWeight = 5000
	// MaxCases is the most cases of one switch or select.
	MaxCases = 2000
)

// logicalWeight is how much more than an addition a && or || costs the compiler.
const logicalWeight = 4

// tokens gathers the comments and measures nesting before anything recursive runs. It reports whether a parser may.
func (f *goFile) tokens() bool {
	var s scanner.Scanner
	base := token.NewFileSet().AddFile("", -1, len(f.text))
	s.Init(base, f.text, func(token.Position, string) {}, scanner.ScanComments)
	outer := make([]int, 0, MaxDepth) // the reach at which each open bracket stands
	reach, floor := 0, 0
	for {
		pos, tok, lit := s.Scan()
		offset := int(pos) - base.Base()
		switch tok {
		case token.EOF:
			return true
		case token.COMMENT:
			f.comments = append(f.comments, comment{offset, lit})
			continue
		case token.LPAREN, token.LBRACK, token.LBRACE:
			if len(outer) == MaxDepth {
				f.add(offset, LintBound, fmt.Sprintf("brackets nest more than %d deep", MaxDepth), "give the inner parts names of their own")
				return false
			}
			outer = append(outer, floor)
			reach++
			floor = reach
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if len(outer) > 0 {
				reach, floor = floor, outer[len(outer)-1]
				outer = outer[:len(outer)-1]
			}
		case token.COMMA, token.SEMICOLON:
			reach = floor
		default:
			reach++
		}
		if reach > MaxReach {
			f.add(offset, LintBound, fmt.Sprintf("more than %d tokens depend on each other here", MaxReach), "break the expression or the chain into parts with names")
			return false
		}
	}
}

// bounded walks the parsed file once and reports whether its depth is within bounds; other bounds are findings, but
// the file can still be judged.
func (f *goFile) bounded() bool {
	m := measure{file: f}
	for _, decl := range f.syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			saved := m.weight
			m.weight, m.heavy = 0, false
			ast.Walk(&m, fn)
			m.weight, m.heavy = saved, saved > MaxWeight
			continue
		}
		ast.Walk(&m, decl)
	}
	return !m.deep
}

// measure is a visitor; nodes is the way from a declaration to the node at hand.
type measure struct {
	file     *goFile
	nodes    []ast.Node
	depth    int
	closures int // open
	total    int // of the file
	weight   int
	heavy    bool // said already
	deep     bool // said already
}

func (m *measure) Visit(n ast.Node) ast.Visitor {
	if n == nil {
		last := m.nodes[len(m.nodes)-1]
		m.nodes = m.nodes[:len(m.nodes)-1]
		if !m.chained(last) {
			m.depth--
		}
		if _, ok := last.(*ast.FuncLit); ok {
			m.closures--
		}
		return nil
	}
	if m.deep {
		return nil
	}
	if !m.chained(n) {
		m.depth++
	}
	if m.depth > MaxDepth {
		m.deep = true
		m.file.at(n.Pos(), LintBound, fmt.Sprintf("the syntax nests more than %d deep", MaxDepth), "give the inner parts names of their own")
	}
	m.count(n)
	m.nodes = append(m.nodes, n)
	return m
}

// chained reports whether a node continues what its parent, the last of nodes, began: the left side of a binary
// operator that is one itself, or the if of an else.
func (m *measure) chained(n ast.Node) bool {
	if len(m.nodes) == 0 {
		return false
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		parent, ok := m.nodes[len(m.nodes)-1].(*ast.BinaryExpr)
		return ok && parent.X == n
	case *ast.IfStmt:
		parent, ok := m.nodes[len(m.nodes)-1].(*ast.IfStmt)
		return ok && parent.Else == n
	}
	return false
}

func (m *measure) count(n ast.Node) {
	f := m.file
	switch n := n.(type) {
	case *ast.FuncLit:
		m.closures++
		m.total++
		if m.closures == MaxClosureDepth+1 {
			f.at(n.Pos(), LintBound, fmt.Sprintf("function literals nest more than %d deep", MaxClosureDepth), "make the inner ones functions with names")
		}
		if m.total == MaxClosures+1 {
			f.at(n.Pos(), LintBound, fmt.Sprintf("the file has more than %d function literals", MaxClosures), "use functions with names, or data that one function reads")
		}
	case *ast.BinaryExpr:
		m.weight++
		if n.Op == token.LAND || n.Op == token.LOR {
			m.weight += logicalWeight - 1
		}
	case *ast.CallExpr, *ast.CaseClause, *ast.CommClause:
		m.weight++
	case *ast.SwitchStmt:
		m.cases(n, n.Body)
	case *ast.TypeSwitchStmt:
		m.cases(n, n.Body)
	case *ast.SelectStmt:
		m.cases(n, n.Body)
	case *ast.BlockStmt, *ast.ExprStmt:
	case ast.Stmt:
		m.weight++
	}
	if m.weight > MaxWeight && !m.heavy {
		m.heavy = true
		f.at(n.Pos(), LintBound, fmt.Sprintf("one function, or the file's package variables together, have more than %d statements, calls and operators", MaxWeight),
			"split it, or make a table of constants and read it")
	}
}

func (m *measure) cases(n ast.Stmt, body *ast.BlockStmt) {
	total := len(body.List)
	for _, clause := range body.List {
		if c, ok := clause.(*ast.CaseClause); ok && len(c.List) > 1 {
			total += len(c.List) - 1
		}
	}
	m.weight++
	if total > MaxCases {
		m.file.at(n.Pos(), LintBound, fmt.Sprintf("a switch has %d cases; at most %d", total, MaxCases), "look the value up in a map")
	}
}
