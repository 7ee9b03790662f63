package vet

import (
	"fmt"
	"go/ast"
)

// identifier refuses names that are not ASCII.
func (f *goFile) identifier(id *ast.Ident) {
	for _, r := range id.Name {
		if r > 0x7f {
			// Quoted, because a look-alike printed as it is would look alike here too.
			f.at(id.Pos(), LintName, fmt.Sprintf("the identifier %+q has a letter that is not ASCII (U+%04X)", id.Name, r), "name it in ASCII")
			return
		}
	}
}

// symbol refuses what has effects although its package is allowed.
func (f *goFile) symbol(sel *ast.SelectorExpr) {
	if path, name, ok := f.named(sel); ok {
		if a, bad := denied[path+"."+name]; bad {
			f.at(sel.Pos(), LintSymbol, fmt.Sprintf("%s.%s: %s", baseName(path), name, a.why), a.instead)
		}
		return
	}
	switch name := sel.Sel.Name; name {
	case "UnsafePointer", "UnsafeAddr":
		f.at(sel.Sel.Pos(), LintSymbol, name+": "+pointers, "decode into types of your own")
	}
}

// builtin refuses the two functions that write to the process's standard error. declared is every name the package
// declares at its level.
func (f *goFile) builtin(call *ast.CallExpr, declared map[string]bool) {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || id.Obj != nil || declared[id.Name] {
		return
	}
	if id.Name == "print" || id.Name == "println" {
		f.at(id.Pos(), LintSymbol, "the builtin "+id.Name+": "+stdio, useReport)
	}
}

// body refuses functions that are declared here and written elsewhere.
func (f *goFile) body(fn *ast.FuncDecl) {
	if fn.Body == nil {
		f.at(fn.Pos(), LintDeclaration, "the function "+fn.Name.Name+" has no body", "write it in Go")
	}
}

// declarations is every name each directory's package declares at its level.
func declarations(files []*goFile) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, f := range files {
		if f.syntax == nil {
			continue
		}
		names := all[f.dir]
		if names == nil {
			names = map[string]bool{}
			all[f.dir] = names
		}
		for _, decl := range f.syntax.Decls {
			for _, id := range declares(decl) {
				names[id.Name] = true
			}
		}
	}
	return all
}

// declares is what one declaration adds to its package's names.
func declares(decl ast.Decl) []*ast.Ident {
	var ids []*ast.Ident
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			ids = append(ids, decl.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				ids = append(ids, spec.Name)
			case *ast.ValueSpec:
				ids = append(ids, spec.Names...)
			}
		}
	}
	return ids
}
