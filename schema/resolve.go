package schema

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"path"
	"strings"
)

// kind is what the prelude's decoder does with a type.
type kind int

const (
	kindNone    kind = iota // holds no JSON
	kindAny                 // any or json.RawMessage: whatever comes
	kindString              //
	kindBoolean             //
	kindInteger             //
	kindFloat               //
	kindNumber              // json.Number
	kindText                // decodes itself from a string
	kindTime                // time.Time
	kindSelf                // decodes itself from anything
	kindStruct              //
	kindMap                 //
	kindSlice               //
	kindArray               //
	kindPointer             //
)

// goType is a type as far as decoding goes.
type goType struct {
	kind     kind
	bits     int // of a number
	unsigned bool
	length   int64    // of an array
	elem     typeExpr // of a pointer, slice, array or map
	key      typeExpr // of a map
	fields   *ast.StructType
	in       typeExpr // where fields stands
	name     string   // tells a declared type from every other; empty for a literal one
	short    string   // the declared type's own name
	doc      *ast.CommentGroup
	pos      token.Pos
	spelled  string // for messages
	opaque   bool   // a struct of the standard library without a field that counts
}

var basic = map[string]goType{
	"string": {kind: kindString}, "bool": {kind: kindBoolean}, "any": {kind: kindAny},
	"int": {kind: kindInteger, bits: 64}, "int8": {kind: kindInteger, bits: 8}, "int16": {kind: kindInteger, bits: 16},
	"int32": {kind: kindInteger, bits: 32}, "rune": {kind: kindInteger, bits: 32}, "int64": {kind: kindInteger, bits: 64},
	"uint": {kind: kindInteger, bits: 64, unsigned: true}, "uint8": {kind: kindInteger, bits: 8, unsigned: true},
	"byte": {kind: kindInteger, bits: 8, unsigned: true}, "uint16": {kind: kindInteger, bits: 16, unsigned: true},
	"uint32": {kind: kindInteger, bits: 32, unsigned: true}, "uint64": {kind: kindInteger, bits: 64, unsigned: true},
	"uintptr": {kind: kindInteger, bits: 64, unsigned: true},
	"float32": {kind: kindFloat, bits: 32}, "float64": {kind: kindFloat, bits: 64},
	"complex64": {}, "complex128": {}, "error": {},
}

// standard is the types of the standard library that arguments are made of. Methods are gone where a type is declared
// anew from one of them; what is left then is in underlying.
var standard = map[string]struct{ as, underlying goType }{
	"encoding/json.RawMessage": {goType{kind: kindAny}, goType{kind: kindSlice, elem: typeExpr{expr: ast.NewIdent("byte")}}},
	"encoding/json.Number":     {goType{kind: kindNumber}, goType{kind: kindString}},
	"time.Time":                {goType{kind: kindTime}, goType{kind: kindStruct, opaque: true}},
	"time.Duration":            {goType{kind: kindInteger, bits: 64}, goType{kind: kindInteger, bits: 64}},
	"time.Month":               {goType{kind: kindInteger, bits: 64}, goType{kind: kindInteger, bits: 64}},
	"time.Weekday":             {goType{kind: kindInteger, bits: 64}, goType{kind: kindInteger, bits: 64}},
	"net/netip.Addr":           {goType{kind: kindText}, goType{kind: kindStruct, opaque: true}},
	"net/netip.AddrPort":       {goType{kind: kindText}, goType{kind: kindStruct, opaque: true}},
	"net/netip.Prefix":         {goType{kind: kindText}, goType{kind: kindStruct, opaque: true}},
	"math/big.Float":           {goType{kind: kindText}, goType{kind: kindStruct, opaque: true}},
	"math/big.Rat":             {goType{kind: kindText}, goType{kind: kindStruct, opaque: true}},
	"math/big.Int":             {goType{kind: kindSelf}, goType{kind: kindStruct, opaque: true}},
	"regexp.Regexp":            {goType{kind: kindText}, goType{kind: kindStruct, opaque: true}},
	"net/url.Values": {
		goType{kind: kindMap, key: typeExpr{expr: ast.NewIdent("string")}, elem: typeExpr{expr: &ast.ArrayType{Elt: ast.NewIdent("string")}}},
		goType{kind: kindMap, key: typeExpr{expr: ast.NewIdent("string")}, elem: typeExpr{expr: &ast.ArrayType{Elt: ast.NewIdent("string")}}},
	},
}

// resolve finds out what a type is.
func (p *Packages) resolve(t typeExpr, depth int) (goType, error) { return p.spell(t, false, depth) }

// spell resolves a type: bare, it is what remains when it is declared anew under another name, without methods.
func (p *Packages) spell(t typeExpr, bare bool, depth int) (goType, error) {
	if p.steps++; depth > maxDepth || p.steps > maxSteps {
		return goType{}, p.fault(t.expr.Pos(), "the type goes through too many others", "make it simpler")
	}
	g, err := p.spelled(t, bare, depth+1)
	g.pos = t.expr.Pos()
	if g.spelled == "" {
		g.spelled = spelling(t.expr)
	}
	return g, err
}

func (p *Packages) spelled(t typeExpr, bare bool, depth int) (goType, error) {
	switch x := t.expr.(type) {
	case *ast.ParenExpr:
		return p.spell(t.at(x.X), bare, depth)
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr:
		return p.named(t, bare, depth)
	case *ast.StarExpr:
		return goType{kind: kindPointer, elem: t.at(x.X)}, nil
	case *ast.MapType:
		return goType{kind: kindMap, key: t.at(x.Key), elem: t.at(x.Value)}, nil
	case *ast.StructType:
		g := goType{kind: kindStruct, fields: x, in: t}
		if bare {
			return g, nil
		}
		return p.withMethods(g, nil, depth)
	case *ast.InterfaceType:
		if x.Methods == nil || len(x.Methods.List) == 0 {
			return goType{kind: kindAny}, nil
		}
	case *ast.ArrayType:
		if x.Len == nil {
			return goType{kind: kindSlice, elem: t.at(x.Elt)}, nil
		}
		n, ok := p.length(x.Len, t.in, 0)
		if !ok {
			return goType{}, p.fault(x.Len.Pos(), "the length of the array cannot be told here, or is beyond reason", "write it as a number")
		}
		return goType{kind: kindArray, elem: t.at(x.Elt), length: n}, nil
	}
	return goType{kind: kindNone}, nil
}

// at is another expression in the same place.
func (t typeExpr) at(e ast.Expr) typeExpr { return typeExpr{expr: e, in: t.in, bind: t.bind} }

// named resolves a type that is called by a name, perhaps with type arguments.
func (p *Packages) named(t typeExpr, bare bool, depth int) (goType, error) {
	base, types := instance(t.expr)
	switch x := base.(type) {
	case *ast.Ident:
		if b, ok := t.bind[x.Name]; ok && types == nil {
			return p.spell(b, bare, depth)
		}
		if t.in != nil && x.Pos().IsValid() {
			if spec, known := p.local(t.in, x); spec != nil {
				name := fmt.Sprintf("%s@%d", x.Name, spec.Pos())
				return p.declared(t, typeDecl{spec: spec, doc: spec.Doc, in: t.in}, types, name, bare, depth)
			} else if known {
				return goType{}, fmt.Errorf("%w: %w", p.fault(x.Pos(), "the type parameter "+x.Name+" is bound where the function is called",
					"write ext.Typed with a type that has a name"), ErrUntold)
			}
			if d, ok := t.in.pkg.types[x.Name]; ok {
				return p.declared(t, d, types, x.Name, bare, depth)
			}
		}
		if b, ok := basic[x.Name]; ok {
			return b, nil
		}
		return goType{}, p.fault(x.Pos(), "there is no type "+x.Name, "declare it")
	case *ast.SelectorExpr:
		id, ok := x.X.(*ast.Ident)
		if !ok || t.in == nil {
			break
		}
		from := t.in.imports[id.Name]
		if dir, ours := p.dir(from); ours {
			if g := p.pkg(dir); g != nil {
				if d, ok := g.types[x.Sel.Name]; ok {
					return p.declared(t, d, types, x.Sel.Name, bare, depth)
				}
			}
			return goType{}, p.fault(x.Pos(), "there is no type "+spelling(x), "declare it")
		}
		if s, ok := standard[from+"."+x.Sel.Name]; ok {
			g := s.as
			if bare {
				g = s.underlying
			}
			g.spelled = path.Base(from) + "." + x.Sel.Name
			return g, nil
		}
		return goType{}, p.fault(x.Pos(), "no schema is known for "+spelling(x), "use a type of your own, or a string that the tool parses")
	}
	return goType{}, p.fault(t.expr.Pos(), spelling(t.expr)+" is no type", "correct it")
}

// declared is a type by its declaration.
func (p *Packages) declared(t typeExpr, d typeDecl, types []ast.Expr, as string, bare bool, depth int) (goType, error) {
	bind, ok := bound(d.spec.TypeParams, types, t)
	if !ok {
		return goType{}, p.fault(t.expr.Pos(), d.spec.Name.Name+" has another number of type parameters", "correct the type arguments")
	}
	inner := typeExpr{expr: d.spec.Type, in: d.in, bind: bind}
	if d.spec.Assign.IsValid() {
		return p.spell(inner, bare, depth)
	}
	g, err := p.spell(inner, true, depth)
	if err != nil {
		return g, err
	}
	g.name, g.short, g.doc, g.spelled = d.in.pkg.dir+"."+as, d.spec.Name.Name, d.doc, d.spec.Name.Name
	for _, a := range types {
		g.name += "[" + p.identity(t.at(a), depth) + "]"
		g.spelled = spelling(t.expr)
	}
	if bare {
		return g, nil
	}
	var methods map[string]bool
	if !strings.Contains(as, "@") { // a type inside a function has no methods
		methods = d.in.pkg.methods[d.spec.Name.Name]
	}
	return p.withMethods(g, methods, depth)
}

// withMethods is a type that may decode itself, by methods of its own or of what it embeds.
func (p *Packages) withMethods(g goType, methods map[string]bool, depth int) (goType, error) {
	for _, m := range []struct {
		name string
		kind kind
	}{{unmarshalJSON, kindSelf}, {unmarshalText, kindText}} {
		has := methods[m.name]
		if !has && g.kind == kindStruct {
			key := g.name + "." + m.name
			known, cached := p.promoted[key]
			if has = known; !cached {
				has = p.promotes(g, m.name, depth)
				if g.name != "" {
					p.promoted[key] = has
				}
			}
		}
		if has {
			g.kind = m.kind
			return g, nil
		}
	}
	return g, nil
}

// declaration finds the declaration in the tree that a spelling names.
func (p *Packages) declaration(t typeExpr) (typeDecl, map[string]typeExpr, bool) {
	base, types := instance(t.expr)
	var d typeDecl
	ok := false
	switch x := base.(type) {
	case *ast.Ident:
		if t.in != nil {
			d, ok = t.in.pkg.types[x.Name]
		}
	case *ast.SelectorExpr:
		if id, isIdent := x.X.(*ast.Ident); isIdent && t.in != nil {
			if dir, ours := p.dir(t.in.imports[id.Name]); ours {
				if g := p.pkg(dir); g != nil {
					d, ok = g.types[x.Sel.Name]
				}
			}
		}
	}
	if !ok {
		return typeDecl{}, nil, false
	}
	bind, ok := bound(d.spec.TypeParams, types, t)
	return d, bind, ok
}

// identity tells a type argument from others.
func (p *Packages) identity(t typeExpr, depth int) string {
	g, err := p.resolve(t, depth)
	if err == nil && g.name != "" {
		return g.name
	}
	text := spelling(t.expr)
	if err != nil || len(t.bind) == 0 || depth > maxDepth {
		return text
	}
	// A literal type of type parameters, such as []T.
	switch g.kind {
	case kindPointer, kindSlice, kindArray:
		return fmt.Sprintf("%d/%d:%s", g.kind, g.length, p.identity(g.elem, depth+1))
	case kindMap:
		return fmt.Sprintf("map[%s]%s", p.identity(g.key, depth+1), p.identity(g.elem, depth+1))
	case kindStruct:
		return fmt.Sprintf("%s@%d", text, g.pos)
	}
	return g.spelled
}

// length evaluates the length of an array: numbers, constants of the tree, and arithmetic.
func (p *Packages) length(e ast.Expr, in *file, depth int) (int64, bool) {
	const most = 1 << 20 // elements: no call has as many
	if depth > maxDepth || in == nil {
		return 0, false
	}
	var n int64
	switch x := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		v := constant.MakeFromLiteral(x.Value, x.Kind, 0)
		i, exact := constant.Int64Val(constant.ToInt(v))
		if !exact {
			return 0, false
		}
		n = i
	case *ast.Ident:
		v, ok := in.pkg.values[x.Name]
		if !ok || !v.constant || v.value == nil || usesIota(v.value) {
			return 0, false
		}
		return p.length(v.value, v.in, depth+1)
	case *ast.SelectorExpr:
		id, ok := x.X.(*ast.Ident)
		if !ok {
			return 0, false
		}
		dir, ours := p.dir(in.imports[id.Name])
		if g := p.pkg(dir); ours && g != nil {
			if v, ok := g.values[x.Sel.Name]; ok && v.constant && v.value != nil && !usesIota(v.value) {
				return p.length(v.value, v.in, depth+1)
			}
		}
		return 0, false
	case *ast.BinaryExpr:
		a, ok := p.length(x.X, in, depth+1)
		if !ok {
			return 0, false
		}
		b, ok := p.length(x.Y, in, depth+1)
		if !ok {
			return 0, false
		}
		switch {
		case x.Op == token.ADD:
			n = a + b
		case x.Op == token.SUB:
			n = a - b
		case x.Op == token.MUL:
			n = a * b
		case x.Op == token.QUO && b != 0:
			n = a / b
		default:
			return 0, false
		}
	default:
		return 0, false
	}
	return n, n >= 0 && n <= most
}

// spelling is a type as a message shows it.
func spelling(e ast.Expr) string {
	const deepest = 6
	var write func(e ast.Expr, depth int) string
	write = func(e ast.Expr, depth int) string {
		if depth > deepest {
			return "…"
		}
		in := func(e ast.Expr) string { return write(e, depth+1) }
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.ParenExpr:
			return in(x.X)
		case *ast.SelectorExpr:
			return in(x.X) + "." + x.Sel.Name
		case *ast.StarExpr:
			return "*" + in(x.X)
		case *ast.ArrayType:
			if x.Len == nil {
				return "[]" + in(x.Elt)
			}
			return "[" + in(x.Len) + "]" + in(x.Elt)
		case *ast.BasicLit:
			return x.Value
		case *ast.MapType:
			return "map[" + in(x.Key) + "]" + in(x.Value)
		case *ast.IndexExpr:
			return in(x.X) + "[" + in(x.Index) + "]"
		case *ast.IndexListExpr:
			parts := make([]string, len(x.Indices))
			for i, t := range x.Indices {
				parts[i] = in(t)
			}
			return in(x.X) + "[" + strings.Join(parts, ", ") + "]"
		case *ast.StructType:
			return "struct{…}"
		case *ast.InterfaceType:
			return "interface{…}"
		case *ast.FuncType:
			return "func(…)"
		case *ast.ChanType:
			return "chan " + in(x.Value)
		}
		return "…"
	}
	return write(e, 0)
}
