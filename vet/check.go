package vet

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/loomext/loomext/manifest"
)

// goVersion is the language that the generated go.mod says.
const goVersion = "go1.26"

// question is a source as the typed half gets it.
type question struct {
	Format  int               `json:"format"`
	Module  string            `json:"module"`
	Dir     string            `json:"dir"`     // of the compiled packages
	Exports map[string]string `json:"exports"` // import path to file
	Files   []sourceFile      `json:"files"`
	Entries []wanted          `json:"entries"`
}

type sourceFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// wanted is an entry that the generated program names.
type wanted struct {
	Dir   string `json:"dir"`
	Name  string `json:"name"`
	Role  string `json:"role"`
	Event string `json:"event"` // "" for a tool
}

// reply is what the typed half found, or the fault that kept it from looking.
type reply struct {
	Format     int      `json:"format"`
	Findings   Findings `json:"findings"`
	Uses       []Use    `json:"uses"`
	Incomplete bool     `json:"incomplete"` // something does not compile, so an absent use proves nothing
	Fault      string   `json:"fault"`
}

// checker type-checks the packages of one extension and holds what it learns against the rules.
type checker struct {
	q        question
	fset     *token.FileSet
	files    []*goFile
	byFile   map[*token.File]*goFile
	dirs     map[string][]*goFile // by directory
	packages map[string]*types.Package
	compiled types.Importer
	info     *types.Info
	found    Findings
	fault    error // of a compiled package

	verdicts  map[types.Type]*stranger
	strangers map[string]meeting
	said      map[string]remark
}

// check is the typed half, where it runs. begun is told of each package's directory before its turn.
func check(q question, begun func(dir string)) (r reply) {
	r.Format = replyFormat
	c := &checker{
		q: q, fset: token.NewFileSet(), byFile: map[*token.File]*goFile{}, dirs: map[string][]*goFile{}, packages: map[string]*types.Package{},
		verdicts: map[types.Type]*stranger{}, strangers: map[string]meeting{}, said: map[string]remark{},
		info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{}, Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		},
	}
	c.compiled = importer.ForCompiler(c.fset, "gc", c.open)
	if !c.parse() || !measureScale(c.files, q.Module) {
		return c.reply(r, true)
	}
	for _, dir := range c.order() {
		begun(dir)
		c.typecheck(dir)
		if c.fault != nil {
			r.Fault = c.fault.Error()
			return r
		}
	}
	broken := len(c.found) > 0
	c.judgeSizes()
	c.judgeInstances()
	c.judgeTypes()
	c.judgeObjects(&r.Uses)
	c.reportStrangers()
	begun(following)
	c.judgeShared()
	c.judgeEntries()
	if c.fault != nil {
		r.Fault = c.fault.Error()
	}
	return c.reply(r, broken)
}

func (c *checker) reply(r reply, incomplete bool) reply {
	for _, m := range c.said {
		c.at(m.pos, m.lint, m.what, m.instead)
	}
	r.Findings, r.Incomplete = c.found.sorted(), incomplete
	sortUses(r.Uses)
	return r
}

// open finds a compiled package.
func (c *checker) open(path string) (io.ReadCloser, error) {
	name, ok := c.q.Exports[path]
	if !ok {
		return nil, fmt.Errorf("%s is not among the compiled packages", path)
	}
	return os.Open(filepath.Join(c.q.Dir, name))
}

// parse reads the files anew, into one set of positions. They have passed the syntactic half, so nothing goes wrong.
func (c *checker) parse() bool {
	names := map[string]string{}
	for _, file := range c.q.Files {
		f := newFile(file.Path, []byte(file.Text), &c.found)
		syntax, err := parser.ParseFile(c.fset, file.Path, f.text, 0)
		if err != nil {
			f.syntaxErrors(err)
			return false
		}
		f.base, f.syntax = c.fset.File(syntax.FileStart), syntax
		c.byFile[f.base] = f
		c.files = append(c.files, f)
		c.dirs[f.dir] = append(c.dirs[f.dir], f)
		names[f.dir] = syntax.Name.Name
	}
	for _, f := range c.files {
		f.bind(c.q.Module, names)
		for _, n := range f.syntax.Decls {
			ast.Inspect(n, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSwitchStmt); ok {
					unhide(s)
				}
				return true
			})
		}
	}
	return true
}

// order is the extension's directories, each after those it imports.
func (c *checker) order() []string {
	var sorted []string
	seen := map[string]bool{}
	var visit func(dir string)
	visit = func(dir string) {
		if seen[dir] || c.dirs[dir] == nil {
			return
		}
		seen[dir] = true
		for _, f := range c.dirs[dir] {
			for _, spec := range f.syntax.Imports {
				if to, ok := ownDir(c.q.Module, f.specs[spec]); ok {
					visit(to)
				}
			}
		}
		sorted = append(sorted, dir)
	}
	for _, f := range c.files {
		visit(f.dir)
	}
	return sorted
}

// at records a finding at a place in any of the files.
func (c *checker) at(pos token.Pos, lint, what, instead string) {
	if f := c.byFile[c.fset.File(pos)]; f != nil {
		f.at(pos, lint, what, instead)
	} else {
		c.files[0].whole(lint, what, instead)
	}
}

// once is at for what may be met several times on a line: the first place of it is reported, at the end.
func (c *checker) once(pos token.Pos, lint, what, instead string) {
	f := c.byFile[c.fset.File(pos)]
	if f == nil {
		return
	}
	line, _ := f.place(pos)
	key := fmt.Sprint(f.path, ":", line, " ", lint, " ", what)
	if have, ok := c.said[key]; !ok || pos < have.pos {
		c.said[key] = remark{pos, lint, what, instead}
	}
}

// remark is a finding that waits for the end.
type remark struct {
	pos                 token.Pos
	lint, what, instead string
}

// own reports whether a package is the extension's.
func (c *checker) own(pkg *types.Package) bool { return pkg != nil && c.packages[pkg.Path()] == pkg }

// entryType is the type that an entry must be assignable to.
func (c *checker) entryType(w wanted) (types.Type, error) {
	if w.Event == "" {
		pkg, err := c.Import(extPath)
		if err != nil {
			return nil, err
		}
		if tool := pkg.Scope().Lookup("Tool"); tool != nil {
			return tool.Type(), nil
		}
		return nil, errors.New("the compiled prelude has no ext.Tool")
	}
	pkg, err := c.Import(hooks)
	if err != nil {
		return nil, err
	}
	name, _ := manifest.HookFunc(w.Event)
	if fn, ok := pkg.Scope().Lookup(name).(*types.Func); ok && fn.Signature().Params().Len() == 1 {
		return fn.Signature().Params().At(0).Type(), nil
	}
	return nil, fmt.Errorf("the compiled prelude has no hook.%s", name)
}

// judgeEntries compares the type of every entry with what the generated program makes of it.
func (c *checker) judgeEntries() {
	for _, w := range c.q.Entries {
		files := c.dirs[w.Dir]
		if len(files) == 0 {
			continue // the manifest's own check has said so
		}
		path := c.q.Module + "/" + w.Dir
		obj := c.packages[path].Scope().Lookup(w.Name)
		want, err := c.entryType(w)
		switch {
		case err != nil:
			c.fault = err
			return
		case obj == nil:
			files[0].at(files[0].syntax.Name.Pos(), LintEntry, fmt.Sprintf("package %s is the entry of %s and exports no %s", files[0].syntax.Name.Name, w.Role, w.Name),
				"export "+c.spell(w, want))
			continue
		}
		kind := ""
		switch obj.(type) {
		case *types.Func:
		case *types.Var:
			if w.Event != "" {
				kind = "a variable"
			}
		case *types.TypeName:
			kind = "a type"
		default:
			kind = "a constant"
		}
		switch {
		case kind != "":
			c.at(obj.Pos(), LintEntry, fmt.Sprintf("%s is %s, and %s needs a function", w.Name, kind, w.Role), "export "+c.spell(w, want))
		case invalid(obj.Type()):
		case !types.AssignableTo(obj.Type(), want):
			c.at(obj.Pos(), LintEntry, fmt.Sprintf("%s is of type %s, and %s needs %s", w.Name, typeText(obj.Type()), w.Role, typeText(want)), "make it "+c.spell(w, want))
		}
	}
}

// spell is an entry as the author would write it.
func (c *checker) spell(w wanted, want types.Type) string {
	text := typeText(want.Underlying())
	return "func " + w.Name + text[len("func"):]
}

func invalid(t types.Type) bool {
	basic, ok := t.(*types.Basic)
	return ok && basic.Kind() == types.Invalid
}

// maxTypeText is where the text of a type is cut.
const maxTypeText = 200

// typeText is a type with packages by their names, not endless.
func typeText(t types.Type) string {
	w := typeWriter{limit: maxTypeText}
	w.write(t)
	return w.String()
}

// entriesWanted is every entry of a manifest once.
func entriesWanted(m manifest.Manifest) []wanted {
	var all []wanted
	for _, t := range m.Tools() {
		w := wanted{Dir: t.Entry, Name: "Run", Role: fmt.Sprintf("the tool %q", t.Name)}
		if !slices.ContainsFunc(all, func(have wanted) bool { return have.Dir == w.Dir }) {
			all = append(all, w)
		}
	}
	for _, h := range m.Hooks() {
		if name, ok := manifest.HookFunc(h.Event); ok {
			all = append(all, wanted{Dir: h.Entry, Name: name, Role: fmt.Sprintf("the event %q", h.Event), Event: h.Event})
		}
	}
	return all
}
