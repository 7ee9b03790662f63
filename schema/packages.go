package schema

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Files is the source of an extension; a source.Tree is one.
type Files interface {
	File(path string) ([]byte, bool)
	Paths() []string
}

// Packages is the packages of one extension. They are parsed when something of them is needed.
type Packages struct {
	files  Files
	module string
	fset   *token.FileSet
	read   map[string]*pkg
	faults Faults // of parsing
	// promoted is whether a declared struct has a method of what it embeds, by both names.
	promoted map[string]bool
	locals   map[*ast.Ident]localType
	steps    int // of one derivation
}

// Read makes Packages of source whose packages import each other under a module path.
func Read(files Files, module string) *Packages {
	return &Packages{files: files, module: module, fset: token.NewFileSet(), read: map[string]*pkg{}, promoted: map[string]bool{}, locals: map[*ast.Ident]localType{}}
}

// file is a parsed file.
type file struct {
	path    string
	pkg     *pkg
	syntax  *ast.File
	imports map[string]string // by the name in the file
}

// pkg is the declarations of a package's top level.
type pkg struct {
	dir, name string
	files     []*file
	types     map[string]typeDecl
	funcs     map[string]funcDecl
	values    map[string]valueDecl
	methods   map[string]map[string]bool // type → what of UnmarshalJSON and UnmarshalText it has
	byMethod  map[string][]funcDecl
}

type typeDecl struct {
	spec *ast.TypeSpec
	doc  *ast.CommentGroup
	in   *file
}

type funcDecl struct {
	decl *ast.FuncDecl
	in   *file
}

// valueDecl is a variable or a constant. A constant that goes by iota or repeats the one before has no value.
type valueDecl struct {
	typ, value ast.Expr
	constant   bool
	in         *file
}

// pkg parses the package of a directory; it is nil where there is none.
func (p *Packages) pkg(dir string) *pkg {
	if known, ok := p.read[dir]; ok {
		return known
	}
	g := &pkg{
		dir: dir, types: map[string]typeDecl{}, funcs: map[string]funcDecl{}, values: map[string]valueDecl{},
		methods: map[string]map[string]bool{}, byMethod: map[string][]funcDecl{},
	}
	for _, name := range p.files.Paths() {
		if path.Dir(name) != dir || path.Ext(name) != ".go" {
			continue
		}
		text, _ := p.files.File(name)
		syntax, err := parser.ParseFile(p.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			p.unparsed(name, err)
			continue
		}
		f := &file{path: name, pkg: g, syntax: syntax, imports: map[string]string{}}
		g.name = syntax.Name.Name
		g.files = append(g.files, f)
		for _, decl := range syntax.Decls {
			g.declare(f, decl)
		}
	}
	if len(g.files) == 0 {
		g = nil
	}
	p.read[dir] = g
	if g != nil {
		for _, f := range g.files {
			p.bindImports(f)
		}
	}
	return g
}

func (p *Packages) unparsed(name string, err error) {
	fault := Fault{Path: name, Line: 1, Col: 1, What: err.Error(), Fix: "correct it"}
	if list, ok := err.(scanner.ErrorList); ok && len(list) > 0 {
		fault.Line, fault.Col, fault.What = list[0].Pos.Line, list[0].Pos.Column, list[0].Msg
	}
	p.faults = append(p.faults, fault)
}

func (g *pkg) declare(f *file, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			g.funcs[d.Name.Name] = funcDecl{d, f}
			return
		}
		g.byMethod[d.Name.Name] = append(g.byMethod[d.Name.Name], funcDecl{d, f})
		if len(d.Recv.List) == 1 && decodesItself(d) {
			base := baseName(d.Recv.List[0].Type)
			if g.methods[base] == nil {
				g.methods[base] = map[string]bool{}
			}
			g.methods[base][d.Name.Name] = true
		}
	case *ast.GenDecl:
		for i, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				doc := s.Doc
				if doc == nil && len(d.Specs) == 1 {
					doc = d.Doc
				}
				g.types[s.Name.Name] = typeDecl{s, doc, f}
			case *ast.ValueSpec:
				for j, name := range s.Names {
					v := valueDecl{typ: s.Type, constant: d.Tok == token.CONST, in: f}
					if len(s.Values) == len(s.Names) {
						v.value = s.Values[j]
					}
					if v.constant && usesIota(v.value) && i > 0 {
						v.value = nil
					}
					g.values[name.Name] = v
				}
			}
		}
	}
}

const (
	unmarshalJSON = "UnmarshalJSON"
	unmarshalText = "UnmarshalText"
)

// decodesItself reports whether a method is that of json.Unmarshaler or encoding.TextUnmarshaler.
func decodesItself(d *ast.FuncDecl) bool {
	if d.Name.Name != unmarshalJSON && d.Name.Name != unmarshalText {
		return false
	}
	params, results := flat(d.Type.Params), flat(d.Type.Results)
	if len(params) != 1 || len(results) != 1 {
		return false
	}
	list, ok := ast.Unparen(params[0]).(*ast.ArrayType)
	result, isIdent := ast.Unparen(results[0]).(*ast.Ident)
	return ok && list.Len == nil && isIdent && result.Name == "error"
}

// flat is the types of a list of parameters, one for each.
func flat(list *ast.FieldList) []ast.Expr {
	var types []ast.Expr
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		for range max(len(field.Names), 1) {
			types = append(types, field.Type)
		}
	}
	return types
}

// baseName is the name of a type without package, pointer and type arguments.
func baseName(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.SelectorExpr:
			return x.Sel.Name
		default:
			return ""
		}
	}
}

func usesIota(e ast.Expr) bool {
	found := false
	if e != nil {
		ast.Inspect(e, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && id.Name == "iota"
			return !found
		})
	}
	return found
}

// bindImports finds what each import of a file is called in it.
func (p *Packages) bindImports(f *file) {
	for _, spec := range f.syntax.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(to)
		if spec.Name != nil {
			name = spec.Name.Name
		} else if dir, ours := p.dir(to); ours {
			if other := p.packageName(dir); other != "" {
				name = other
			}
		} else if strings.HasPrefix(name, "v") && strings.Trim(name[1:], "0123456789") == "" && len(name) > 1 {
			name = path.Base(path.Dir(to)) // math/rand/v2
		}
		f.imports[name] = to
	}
}

// packageName reads a package's clause alone, so that packages that import each other do not go round.
func (p *Packages) packageName(dir string) string {
	if known := p.read[dir]; known != nil {
		return known.name
	}
	i := slices.IndexFunc(p.files.Paths(), func(name string) bool { return path.Dir(name) == dir && path.Ext(name) == ".go" })
	if i < 0 {
		return ""
	}
	name := p.files.Paths()[i]
	text, _ := p.files.File(name)
	syntax, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return syntax.Name.Name
}

// dir is the directory of the tree that an import path names.
func (p *Packages) dir(importPath string) (string, bool) {
	if importPath == p.module {
		return ".", true
	}
	return strings.CutPrefix(importPath, p.module+"/")
}

func (p *Packages) fault(pos token.Pos, what, fix string) Fault {
	at := p.fset.PositionFor(pos, false)
	return Fault{Path: at.Filename, Line: at.Line, Col: at.Column, What: what, Fix: fix}
}
