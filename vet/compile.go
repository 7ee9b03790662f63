package vet

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"runtime"
	"strings"
)

// typecheck checks one package and reports what the compiler would.
func (c *checker) typecheck(dir string) {
	files := c.dirs[dir]
	path := c.q.Module
	if dir != "." {
		path += "/" + dir
	}
	faults := &compileFaults{c: c}
	defer func() {
		faults.report()
		if p := recover(); p != nil {
			files[0].whole(LintCompile, fmt.Sprintf("the type checker failed over this package: %v", p), "write it more plainly")
		}
	}()
	config := types.Config{
		GoVersion: goVersion,
		Importer:  c,
		Sizes:     types.SizesFor("gc", runtime.GOARCH),
		Error:     faults.add,
	}
	var syntax []*ast.File
	for _, f := range files {
		syntax = append(syntax, f.syntax)
	}
	pkg := types.NewPackage(path, files[0].syntax.Name.Name)
	c.packages[path] = pkg
	_ = types.NewChecker(&config, c.fset, pkg, c.info).Files(syntax)
}

// Import is for the type checker: the extension's own packages as they were checked, all others as they were compiled.
func (c *checker) Import(path string) (*types.Package, error) {
	if own := c.packages[path]; own != nil {
		return own, nil
	}
	if !allowed[path] {
		return nil, fmt.Errorf("%s is outside the seam", path)
	}
	pkg, err := c.compiled.Import(path)
	if err != nil && c.fault == nil {
		c.fault = fmt.Errorf("the compiled package %s cannot be read: %w", path, err)
	}
	return pkg, err
}

// compileFaults is what the type checker says of a package. It says where else to look in errors of their own.
type compileFaults struct {
	c    *checker
	list []types.Error
}

func (f *compileFaults) add(err error) {
	var e types.Error
	if f.c.fault != nil || !errors.As(err, &e) {
		return
	}
	more, follows := strings.CutPrefix(e.Msg, "\t")
	if !follows || len(f.list) == 0 {
		f.list = append(f.list, e)
		return
	}
	last := &f.list[len(f.list)-1]
	last.Msg += ", " + more
	if file := f.c.byFile[f.c.fset.File(e.Pos)]; file != nil {
		line, col := file.place(e.Pos)
		last.Msg += fmt.Sprintf(" at %s:%d:%d", file.path, line, col)
	}
}

func (f *compileFaults) report() {
	for _, e := range f.list {
		f.c.at(e.Pos, LintCompile, e.Msg, "correct it")
	}
}
