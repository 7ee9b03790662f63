package vet

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"sort"
	"strconv"
)

// goFile is one .go file of the tree while it is judged.
type goFile struct {
	path, dir string
	text      []byte
	lines     []int // offset of the start of each line
	found     *Findings
	recorded  int

	comments []comment // every comment, from the tokens: they are there even where the file does not parse
	base     *token.File
	syntax   *ast.File // nil where the file was not parsed
	module   string
	imports  map[string]string          // what an import is called in this file, to its path
	specs    map[*ast.ImportSpec]string // the unquoted path of each import
}

type comment struct {
	offset int
	text   string
}

// maxRecorded is the most findings of one file that are held, a bound on memory. It is far above MaxFindings because
// the rules run one after the other, and the first by place are the ones to show.
const maxRecorded = 20 * MaxFindings

// add records a finding at an offset of the file.
func (f *goFile) add(offset int, lint, what, instead string) {
	if f.recorded++; f.recorded > maxRecorded {
		return
	}
	line := sort.SearchInts(f.lines, offset+1)
	*f.found = append(*f.found, Finding{f.path, line, offset - f.lines[line-1] + 1, lint, what, instead})
}

// at records a finding at a node's place.
func (f *goFile) at(pos token.Pos, lint, what, instead string) {
	f.add(f.offset(pos), lint, what, instead)
}

func (f *goFile) offset(pos token.Pos) int {
	if !pos.IsValid() {
		return 0
	}
	return min(max(int(pos)-f.base.Base(), 0), len(f.text))
}

func (f *goFile) place(pos token.Pos) (line, col int) {
	offset := f.offset(pos)
	line = sort.SearchInts(f.lines, offset+1)
	return line, offset - f.lines[line-1] + 1
}

func newFile(filePath string, text []byte, found *Findings) *goFile {
	f := &goFile{path: filePath, dir: path.Dir(filePath), text: text, found: found, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

// read judges one file as bytes and as tokens and parses it where that is safe.
func read(filePath string, text []byte, found *Findings) *goFile {
	f := newFile(filePath, text, found)
	clean := f.characters()
	f.name()
	shallow := f.tokens()
	f.directives()
	if !shallow {
		return f
	}
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		// Characters that are refused are usually no syntax either; saying it twice helps nobody.
		if clean {
			f.syntaxErrors(err)
		}
		return f
	}
	f.base, f.syntax = fset.File(syntax.FileStart), syntax
	if !f.bounded() {
		f.syntax = nil
	}
	return f
}

// syntaxErrors takes offsets and not the parser's lines, which a line directive moves.
func (f *goFile) syntaxErrors(err error) {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		f.add(0, LintSyntax, err.Error(), "correct the file")
		return
	}
	for _, e := range list {
		f.add(min(e.Pos.Offset, len(f.text)), LintSyntax, e.Msg, "correct it; gofmt -e shows what the parser expects")
	}
}

// named is the path of the imported package an expression names, and the name after it: the halves of "time" and
// "Local" in time.Local. Scopes of the file are honored, so a variable that is called like an import is not one.
func (f *goFile) named(e ast.Expr) (path, name string, ok bool) {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", "", false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok || id.Obj != nil {
		return "", "", false
	}
	path, ok = f.imports[id.Name]
	return path, sel.Sel.Name, ok
}

// unhide corrects the parser's scopes, which hold the variable of a type switch to be visible in the types of its cases.
func unhide(s *ast.TypeSwitchStmt) {
	for _, clause := range s.Body.List {
		for _, t := range clause.(*ast.CaseClause).List {
			ast.Inspect(t, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && id.Obj != nil && id.Obj.Decl == s.Assign {
					id.Obj = nil
				}
				return true
			})
		}
	}
}

// bind fills the file's table of imports. own is the package name of each directory of the extension.
func (f *goFile) bind(module string, own map[string]string) {
	f.module = module
	f.imports, f.specs = map[string]string{}, map[*ast.ImportSpec]string{}
	for _, spec := range f.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused it
		}
		f.specs[spec] = p
		name := baseName(p)
		if dir, ok := ownDir(module, p); ok && own[dir] != "" {
			name = own[dir]
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name != "_" && name != "." {
			f.imports[name] = p
		}
	}
}

// baseName is the package name of an import path of the seam.
func baseName(p string) string {
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && base[1] >= '2' && base[1] <= '9' {
		return path.Base(path.Dir(p))
	}
	return base
}

// ownDir is the directory of one of the extension's own packages.
func ownDir(module, importPath string) (dir string, ok bool) {
	if importPath == module {
		return ".", true
	}
	if len(importPath) > len(module) && importPath[:len(module)] == module && importPath[len(module)] == '/' {
		return importPath[len(module)+1:], true
	}
	return "", false
}

// own reports whether an import path is one of the extension's own packages.
func (f *goFile) own(importPath string) bool {
	_, ok := ownDir(f.module, importPath)
	return ok
}
