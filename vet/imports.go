package vet

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/loomext/loomext/source"
)

// judgeImports compares every import's path, unquoted, with the seam and the extension's own packages.
func judgeImports(files []*goFile, module string, tree source.Tree) {
	own := map[string]bool{}
	for _, dir := range tree.Packages() {
		own[dir] = true
	}
	edges := map[string]map[string]*ast.ImportSpec{} // directory to imported directory
	home := map[*ast.ImportSpec]*goFile{}
	for _, f := range files {
		if f.syntax == nil {
			continue
		}
		for _, spec := range f.syntax.Imports {
			path, ok := f.specs[spec]
			if !ok {
				continue
			}
			f.judgeSpelling(spec, path)
			dir, isOwn := ownDir(module, path)
			switch {
			case isOwn && !own[dir]:
				f.at(spec.Path.Pos(), LintImport, fmt.Sprintf("%q is not a package of this extension", path), missingPackage(dir))
			case isOwn:
				if edges[f.dir] == nil {
					edges[f.dir] = map[string]*ast.ImportSpec{}
				}
				if edges[f.dir][dir] == nil {
					edges[f.dir][dir], home[spec] = spec, f
				}
			case !allowed[path]:
				a := refusal(path)
				if better, ok := strayOwn(module, path, own); ok {
					a = better
				}
				f.at(spec.Path.Pos(), LintImport, fmt.Sprintf("%q: %s", path, a.why), a.instead)
			}
		}
	}
	cycles(edges, home)
}

// judgeSpelling refuses forms of an import that hide what is imported or where its names come from.
func (f *goFile) judgeSpelling(spec *ast.ImportSpec, path string) {
	if spec.Path.Value != `"`+path+`"` {
		f.at(spec.Path.Pos(), LintImport, fmt.Sprintf("the path of %q is not spelled plainly", path), "write it in double quotes without escapes")
	}
	if spec.Name == nil {
		return
	}
	switch {
	case spec.Name.Name == ".":
		f.at(spec.Name.Pos(), LintImport, "a dot import, which hides where names come from", "import the package by its name")
	case spec.Name.Name == "_" && strings.HasPrefix(path, prelude) && allowed[path]:
		f.at(spec.Name.Pos(), LintImport, "a blank import of the prelude, which names a capability and uses nothing of it", "remove it")
	}
}

// strayOwn recognizes an import that is meant for a package of the extension itself and does not say so, because
// go.mod is missing or says another path: one that ends in a directory of the tree.
func strayOwn(module, path string, own map[string]bool) (advice, bool) {
	for at, r := range path {
		if r != '/' || !own[path[at+1:]] || !strings.Contains(path[:at], ".") {
			continue
		}
		if strings.HasPrefix(module, noModule) {
			return advice{
				"an extension carries no other modules, and its own packages have no path, for there is no go.mod with a module line",
				"if this is the directory " + path[at+1:] + " beside it, add a go.mod that says: module " + path[:at],
			}, true
		}
		return advice{
			"an extension carries no other modules, and go.mod says that this one is " + module,
			"if this is the directory " + path[at+1:] + " beside it, import " + module + path[at:],
		}, true
	}
	return advice{}, false
}

func missingPackage(dir string) string {
	for elem := range strings.SplitSeq(dir, "/") {
		switch {
		case elem == "vendor", elem == "testdata", elem == "docs", strings.HasPrefix(elem, "."):
			return fmt.Sprintf("move it: directories named %s do not reach an install", elem)
		case elem == "loom_satellite":
			return "remove it; that package is the generated program"
		}
	}
	return "add a directory " + dir + " with the package's .go files, or correct the path"
}

// cycles reports each import that closes a cycle of the extension's own packages.
func cycles(edges map[string]map[string]*ast.ImportSpec, home map[*ast.ImportSpec]*goFile) {
	const (
		open = 1
		done = 2
	)
	state := map[string]int{}
	var way []string
	var visit func(dir string)
	visit = func(dir string) {
		state[dir] = open
		way = append(way, dir)
		for _, to := range slices.Sorted(maps.Keys(edges[dir])) {
			switch state[to] {
			case open:
				spec := edges[dir][to]
				loop := append(slices.Clone(way[slices.Index(way, to):]), to)
				home[spec].at(spec.Path.Pos(), LintImport, "an import cycle: "+strings.Join(loop, " imports "), "move what both need into a package of its own")
			case 0:
				visit(to)
			}
		}
		way = way[:len(way)-1]
		state[dir] = done
	}
	for _, dir := range slices.Sorted(maps.Keys(edges)) {
		if state[dir] == 0 {
			visit(dir)
		}
	}
}
