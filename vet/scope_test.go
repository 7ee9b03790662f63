package vet

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"testing"
)

// shadows is every way a name can hide an import, or seem to.
const shadows = `package p

import (
	"fmt"
	"time"
)

var a = time.Local

type T struct{ time, fmt int }

type time2 = struct{ x [time.Nanosecond]int; time int; y time.Duration }

func (time T) recv(d time.Duration) (e time.Duration) { _ = time.fmt; return fmt.X }

func params(time T, d time.Duration) (fmt time.Duration) { _ = time.time; _ = fmt.X; return }

func generic[time any](x time, y fmt.Stringer) { _ = fmt.X }

func body(x any, c chan T) {
	time := time.Now()
	_ = time.Local
	{
		var fmt = fmt.Sprint(time.x)
		_ = fmt.y
	}
	_ = fmt.Println
	for fmt := range fmt.Seq {
		_ = fmt.x
	}
	for _, fmt = range fmt.Seq {
		_ = fmt.x
	}
	if fmt := fmt.F(); fmt.ok {
		_ = fmt.x
	} else if fmt.y {
		type fmt struct{ f *fmt.T }
	}
	switch fmt := x.(type) {
	case fmt.Stringer:
		_ = fmt.x
	}
	select {
	case fmt := <-fmt.C:
		_ = fmt.x
	case fmt.V = <-c:
	}
fmt:
	for {
		break fmt
	}
	func(fmt T) { _ = fmt.x; const fmt2 = fmt.x }(fmt.y)
	_ = T{fmt: fmt.X, time: time.X}
	_ = map[any]any{fmt.K: fmt.V}
	const fmt = fmt.C
	_ = fmt.x
	func() { _ = fmt.x; fmt := 1; _ = fmt.x }()
}

func later() { _ = fmt.x; fmt := 1; _ = fmt.x; go fmt.F() }
`

// What named takes for an imported package is what the type checker takes for one, in the file above and in packages of
// the standard library.
func TestNamesAgreeWithTheTypeChecker(t *testing.T) {
	judged := agree(t, map[string]string{"p.go": shadows})
	if judged < 40 {
		t.Errorf("only %d selectors were compared", judged)
	}
	root := goroot(t)
	for _, pkg := range []string{"fmt", "time", "net/http", "encoding/json", "go/types", "text/template"} {
		dir := filepath.Join(root, "src", pkg)
		found, err := build.Default.ImportDir(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{}
		for _, name := range found.GoFiles {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = string(text)
		}
		judged += agree(t, texts)
	}
	t.Logf("%d selectors compared", judged)
}

func agree(t *testing.T, texts map[string]string) (judged int) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range texts {
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: nowhere{}, Error: func(error) {}, FakeImportC: true}
	config.Check("p", fset, files, info)
	for _, f := range files {
		g := &goFile{syntax: f}
		g.bind("extension.invalid/x", nil)
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSwitchStmt); ok {
				unhide(s)
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || info.Uses[id] == nil {
				return true
			}
			_, imported := info.Uses[id].(*types.PkgName)
			if _, _, named := g.named(sel); named != imported {
				t.Errorf("%v: %s.%s is taken for an import: %v, and is one: %v", fset.Position(sel.Pos()), id.Name, sel.Sel.Name, named, imported)
			}
			judged++
			return true
		})
	}
	return judged
}

// nowhere imports every package as an empty one: which names are packages does not depend on what is in them.
type nowhere struct{}

func (nowhere) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, baseName(path))
	p.MarkComplete()
	return p, nil
}
