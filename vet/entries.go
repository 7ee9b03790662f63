package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/loomext/loomext/manifest"
)

const jsonMessage = "encoding/json.RawMessage"

// shape is what a function takes and gives, each type as its import path and name.
type shape struct{ params, results []string }

// toolShape is ext.Tool.
var toolShape = shape{[]string{extPath + ".Ctx", jsonMessage}, []string{extPath + ".Outcome", "error"}}

// hookShapes are the functions of each event.
var hookShapes = func() map[string]shape {
	on := func(params []string, results ...string) shape {
		return shape{append([]string{"context.Context"}, params...), append(results, "error")}
	}
	return map[string]shape{
		"session_start":      on([]string{hooks + ".SessionStart"}),
		"before_agent_start": on([]string{hooks + ".RunStart"}, "string"),
		"context":            on([]string{hooks + ".Context"}, "[]"+jsonMessage),
		"tool_call":          on([]string{hooks + ".Call"}, hooks+".Verdict"),
		"tool_result":        on([]string{jsonMessage}, jsonMessage),
		"agent_end":          on([]string{"string"}),
		"agent_settled":      on([]string{"string"}),
		"before_compact":     on([]string{hooks + ".Compaction"}, "string"),
		"usage":              on([]string{hooks + ".Usage"}),
	}
}()

// entry is one function the generated program calls.
type entry struct {
	dir, name, role string
	shape           shape
	variable        bool // may be a variable too
}

// judgeEntries looks for each entry's function and compares what its spelling tells of its type.
func judgeEntries(files []*goFile, m manifest.Manifest, declared map[string]map[string]bool) {
	var entries []entry
	seen := map[string]bool{}
	for _, t := range m.Tools() {
		if !seen[t.Entry] {
			seen[t.Entry] = true
			entries = append(entries, entry{t.Entry, "Run", fmt.Sprintf("the tool %q", t.Name), toolShape, true})
		}
	}
	for _, h := range m.Hooks() {
		if name, ok := manifest.HookFunc(h.Event); ok {
			entries = append(entries, entry{h.Entry, name, fmt.Sprintf("the event %q", h.Event), hookShapes[h.Event], false})
		}
	}
	for _, e := range entries {
		e.judge(files, declared[e.dir])
	}
}

func (e entry) judge(files []*goFile, declared map[string]bool) {
	var first *goFile
	for _, f := range files {
		if f.dir != e.dir {
			continue
		}
		if first == nil {
			first = f
			e.reachable(f)
		}
		if f.syntax == nil {
			return // what the package exports cannot be known; the file has findings of its own
		}
		for _, decl := range f.syntax.Decls {
			if slices.ContainsFunc(declares(decl), func(id *ast.Ident) bool { return id.Name == e.name }) {
				e.found(f, decl, declared)
				return
			}
		}
	}
	if first != nil {
		first.at(first.syntax.Name.Pos(), LintEntry, fmt.Sprintf("package %s is the entry of %s and exports no %s", first.syntax.Name.Name, e.role, e.name),
			"export "+e.signature())
	}
}

// reachable refuses a directory that the program at the root may not import.
func (e entry) reachable(f *goFile) {
	elems := strings.Split(e.dir, "/")
	if i := slices.Index(elems, "internal"); i > 0 {
		f.whole(LintEntry, fmt.Sprintf("%s is the entry of %s, and only packages below %s may import it", e.dir, e.role, strings.Join(elems[:i], "/")),
			"move the entry out of that internal directory")
	}
}

func (e entry) found(f *goFile, decl ast.Decl, declared map[string]bool) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Type.TypeParams != nil {
			f.at(decl.Name.Pos(), LintEntry, e.name+" has type parameters, and the program calls it without", "export "+e.signature())
			return
		}
		e.compare(f, decl.Name.Pos(), decl.Type, declared)
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.Name == e.name {
					f.at(spec.Name.Pos(), LintEntry, e.name+" is a type, and "+e.role+" needs a function", "export "+e.signature())
				}
			case *ast.ValueSpec:
				e.value(f, decl.Tok, spec, declared)
			}
		}
	}
}

func (e entry) value(f *goFile, tok token.Token, spec *ast.ValueSpec, declared map[string]bool) {
	i := slices.IndexFunc(spec.Names, func(id *ast.Ident) bool { return id.Name == e.name })
	if i < 0 {
		return
	}
	pos := spec.Names[i].Pos()
	switch {
	case tok == token.CONST:
		f.at(pos, LintEntry, e.name+" is a constant, and "+e.role+" needs a function", "export "+e.signature())
	case !e.variable:
		f.at(pos, LintEntry, e.name+" is a variable, and a hook's entry is a function", "export "+e.signature())
	case spec.Type != nil:
		if fn, ok := spec.Type.(*ast.FuncType); ok {
			e.compare(f, pos, fn, declared)
		} else if is := f.spelled(spec.Type, declared); is != "" && is != extPath+".Tool" {
			f.at(pos, LintEntry, fmt.Sprintf("Run is a variable of type %s, and a tool's entry is of type ext.Tool", short(is)), "export "+e.signature())
		} else if len(spec.Values) == 0 {
			f.at(pos, LintEntry, "Run is a variable without a value, so the tool is nil", "give it one where it is declared")
		}
	case i < len(spec.Values) && len(spec.Names) == len(spec.Values):
		if lit, ok := ast.Unparen(spec.Values[i]).(*ast.FuncLit); ok {
			e.compare(f, pos, lit.Type, declared)
		}
	}
}

// compare judges a function's type as far as its spelling is certain; an alias or a type of the extension's own is
// left to the types.
func (e entry) compare(f *goFile, pos token.Pos, fn *ast.FuncType, declared map[string]bool) {
	for _, side := range []struct {
		what string
		have *ast.FieldList
		want []string
	}{{"parameter", fn.Params, e.shape.params}, {"result", fn.Results, e.shape.results}} {
		have := flatten(side.have)
		if len(have) != len(side.want) {
			f.at(pos, LintEntry, fmt.Sprintf("%s has %s, and %s needs %s", e.name, counted(len(have), side.what), e.role, counted(len(side.want), side.what)),
				"make it "+e.signature())
			return
		}
		for i, t := range have {
			if is := f.spelled(t, declared); is != "" && is != side.want[i] {
				f.at(t.Pos(), LintEntry, fmt.Sprintf("%s %d of %s is %s, and %s needs %s", side.what, i+1, e.name, short(is), e.role, short(side.want[i])),
					"make it "+e.signature())
			}
		}
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func flatten(fields *ast.FieldList) []ast.Expr {
	if fields == nil {
		return nil
	}
	var types []ast.Expr
	for _, field := range fields.List {
		for range max(1, len(field.Names)) {
			types = append(types, field.Type)
		}
	}
	return types
}

// spelled is a type as its import path and name where its spelling is certain to mean that and nothing else, or "".
func (f *goFile) spelled(e ast.Expr, declared map[string]bool) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if e.Obj == nil && !declared[e.Name] && predeclared[e.Name] {
			return e.Name
		}
	case *ast.SelectorExpr:
		if path, name, ok := f.named(e); ok && !f.own(path) {
			return path + "." + name
		}
	case *ast.ArrayType:
		if elem := f.spelled(e.Elt, declared); elem != "" && e.Len == nil {
			return "[]" + elem
		}
	case *ast.StarExpr:
		if elem := f.spelled(e.X, declared); elem != "" {
			return "*" + elem
		}
	case *ast.Ellipsis:
		if elem := f.spelled(e.Elt, declared); elem != "" {
			return "..." + elem
		}
	case *ast.MapType:
		return "a map"
	case *ast.ChanType:
		return "a channel"
	case *ast.FuncType:
		return "a function"
	}
	return ""
}

var predeclared = map[string]bool{
	"any": true, "bool": true, "byte": true, "complex128": true, "complex64": true, "error": true, "float32": true, "float64": true,
	"int": true, "int16": true, "int32": true, "int64": true, "int8": true, "rune": true, "string": true, "uint": true,
	"uint16": true, "uint32": true, "uint64": true, "uint8": true, "uintptr": true,
}

// short is a type with its package's name for its path: "[]encoding/json.RawMessage" is "[]json.RawMessage".
func short(spelled string) string {
	bare := strings.TrimLeft(spelled, "*[].")
	return spelled[:len(spelled)-len(bare)] + bare[strings.LastIndexByte(bare, '/')+1:]
}

// signature is the entry as the author would write it.
func (e entry) signature() string {
	list := func(types []string) string {
		out := make([]string, len(types))
		for i, t := range types {
			out[i] = short(t)
		}
		return strings.Join(out, ", ")
	}
	text := fmt.Sprintf("func %s(%s) ", e.name, list(e.shape.params))
	if len(e.shape.results) == 1 {
		return text + e.shape.results[0]
	}
	return text + "(" + list(e.shape.results) + ")"
}
