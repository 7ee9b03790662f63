package vet

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
)

// Use is one place where an extension's own source names something of a capability.
type Use struct {
	Capability string // as the manifest requests it
	Path       string // the file, from the tree's root
	Line, Col  int    // from 1; the column in bytes
	Symbol     string // such as "fs.Read"
}

// split are the capability packages whose functions belong to different capabilities; their types belong to none. In
// every other one, whatever is named is a use. report is implicit and is never requested, so it is no use.
var split = map[string]map[string]string{
	"fs":     {"Read": "fs_read", "List": "fs_read", "Write": "fs_write", "Edit": "fs_write"},
	"report": {},
}

// capability is what naming a symbol of a package uses, or "".
func capability(path, name string) string {
	pkg, ok := strings.CutPrefix(path, caps)
	if !ok {
		return ""
	}
	if functions, ok := split[pkg]; ok {
		return functions[name]
	}
	return pkg
}

// use records a capability's use.
func (f *goFile) use(sel *ast.SelectorExpr, uses *[]Use) {
	path, name, ok := f.named(sel)
	if !ok {
		return
	}
	if c := capability(path, name); c != "" {
		line, col := f.place(sel.Pos())
		*uses = append(*uses, Use{c, f.path, line, col, baseName(path) + "." + name})
	}
}

func sortUses(uses []Use) {
	slices.SortFunc(uses, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Capability, b.Capability), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

// judgeUses compares what is used with what is requested, both ways. incomplete says that a file could not be read
// whole, so that a request without a use proves nothing.
func judgeUses(uses []Use, m manifest.Manifest, tree source.Tree, incomplete bool, found *Findings) {
	requests := m.Requests()
	used, recorded := map[string]bool{}, map[string]int{}
	for _, u := range uses {
		used[u.Capability] = true
		if recorded[u.Path]++; recorded[u.Path] <= maxRecorded && !slices.Contains(requests, u.Capability) {
			*found = append(*found, Finding{u.Path, u.Line, u.Col, LintCapability,
				fmt.Sprintf("%s uses %s, and the manifest requests %s", u.Symbol, u.Capability, listed(requests)),
				fmt.Sprintf("add %q to requests, or do without it", u.Capability)})
		}
	}
	if incomplete {
		return
	}
	for _, c := range requests {
		if !used[c] {
			*found = append(*found, Finding{manifest.FileName, requestsLine(tree), 0, LintCapability,
				fmt.Sprintf("the manifest requests %s, and no source of the extension uses it", c),
				fmt.Sprintf("remove %q from requests, or use %s", c, packageOf(c))})
		}
	}
}

func listed(requests []string) string {
	if len(requests) == 0 {
		return "nothing"
	}
	return "only " + strings.Join(requests, ", ")
}

func packageOf(capability string) string {
	for pkg, functions := range split {
		for _, c := range functions {
			if c == capability {
				return caps + pkg
			}
		}
	}
	return caps + capability
}

// requestsLine is where the manifest requests, or 0: the decoded manifest does not say.
func requestsLine(tree source.Tree) int {
	text, _ := tree.File(manifest.FileName)
	for i, line := range strings.Split(string(text), "\n") {
		key, _, ok := strings.Cut(line, "=")
		if ok && strings.Trim(key, " \t\"'") == "requests" {
			return i + 1
		}
	}
	return 0
}
