package vet

import (
	"context"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vendorize"
)

// Package is a source that passed, with its manifest. It is made by [Syntax], and by [Typed] of one that Syntax made.
type Package struct {
	tree     source.Tree
	manifest manifest.Manifest
	module   string
	uses     []Use
	typed    bool
	report   jail.Report
}

// Tree is the source.
func (p Package) Tree() source.Tree { return p.tree }

// Manifest is the manifest the source was judged against.
func (p Package) Manifest() manifest.Manifest { return p.manifest }

// noModule begins the module path of an extension that has none of its own. The domain is reserved, so nothing else has it.
const noModule = "extension.invalid/"

// Module is the path the extension's packages import each other by: the author's, or extension.invalid/<name>.
func (p Package) Module() string { return p.module }

// Uses is every place that uses a capability, sorted by capability and place. report is implicit and not among them.
func (p Package) Uses() []Use { return slices.Clone(p.uses) }

// Syntax judges every .go file of a tree by its spelling, and the tree against its manifest. The error is [Findings],
// all of them, or the context's error.
func Syntax(ctx context.Context, tree source.Tree, m manifest.Manifest) (Package, error) {
	p := Package{tree: tree, manifest: m, module: tree.Module()}
	if p.module == "" {
		p.module = noModule + m.Name()
	}
	var found Findings
	var files []*goFile
	incomplete := false
	for _, path := range tree.Paths() {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return Package{}, fmt.Errorf("%s: %s: %w", Layer, plain(path), err)
		}
		text, _ := tree.File(path)
		f := read(path, text, &found)
		incomplete = incomplete || f.syntax == nil
		files = append(files, f)
	}
	names := packages(files)
	declared := declarations(files)
	for _, f := range files {
		if f.syntax != nil {
			f.bind(p.module, names)
			f.nodes(declared[f.dir], &p.uses)
		}
	}
	judgeImports(files, p.module, tree)
	judgeEntries(files, m, declared)
	sortUses(p.uses)
	judgeUses(p.uses, m, tree, incomplete, &found)
	if len(found) > 0 {
		return Package{}, found.sorted()
	}
	return p, nil
}

// nodes takes every node of a file to the lints that look at one.
func (f *goFile) nodes(declared map[string]bool, uses *[]Use) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			f.identifier(n)
		case *ast.SelectorExpr:
			f.symbol(n)
			f.use(n, uses)
		case *ast.CallExpr:
			f.builtin(n, declared)
			f.variable(n)
		case *ast.FuncDecl:
			f.body(n)
		case *ast.TypeSwitchStmt:
			unhide(n)
		case *ast.AssignStmt, *ast.IncDecStmt, *ast.RangeStmt, *ast.UnaryExpr:
			f.variable(n)
		}
		return true
	})
}

// Typed reports whether the source passed the typed half too.
func (p Package) Typed() bool { return p.typed }

// Jail is what stood around the child that type-checked the source. It is empty before that.
func (p Package) Jail() jail.Report { return p.report }

// Root is the build root: the .go files of the extension's packages, the vendored prelude and the generated program
// that runs with the given configuration. Documents and the manifest are not in it.
func (p Package) Root(config manifest.Config) (*vendorize.Root, error) {
	root, err := vendorize.New(p.module)
	if err != nil {
		return nil, err
	}
	for _, path := range p.tree.Paths() {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		text, _ := p.tree.File(path)
		if err := root.Add(path, text); err != nil {
			return nil, err
		}
	}
	ours, err := gen.Satellite(p.manifest, p.module, config)
	if err != nil {
		return nil, err
	}
	for path, text := range ours {
		if err := root.AddSatellite(path, text); err != nil {
			return nil, err
		}
	}
	return root, nil
}
