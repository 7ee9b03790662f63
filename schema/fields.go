package schema

import (
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// field is a field of a struct that the decoder fills.
type field struct {
	name     string // in JSON
	goName   string
	index    []int
	pos      token.Pos // of its name
	t        typeExpr
	doc      *ast.CommentGroup
	tag      string // the jsonschema tag
	tagPos   token.Pos
	optional bool // by its json tag, or because it is behind an embedded pointer
	tagged   bool
}

// embeds is a struct one level further down.
type embeds struct {
	g        goType
	index    []int
	optional bool
}

// fields lists what the decoder fills of a struct, by the rules of the prelude's decoder, which are those of encoding/json:
// an embedded struct's fields count as the outer struct's; of two with one name the less nested wins, then the one named by
// its tag; where that leaves two, neither counts, which is a fault. They come in the order of the source.
func (b *builder) fields(g goType) []field {
	var found []field
	visited := map[string]bool{}
	for level, depth := []embeds{{g: g}}, 0; len(level) > 0 && depth < maxLevels; depth++ {
		times := map[string]int{} // a struct embedded twice at one level hides itself
		for _, e := range level {
			times[identify(e.g)]++
		}
		var next []embeds
		for _, e := range level {
			if visited[identify(e.g)] {
				continue
			}
			visited[identify(e.g)] = true
			own, below := b.level(e)
			next = append(next, below...)
			for _, f := range own {
				for range min(times[identify(e.g)], 2) {
					found = append(found, f)
				}
			}
		}
		level = next
		if len(found)+len(level) > maxNodes {
			b.faults = append(b.faults, b.p.fault(g.pos, "the struct has too many fields", "make it smaller"))
			return nil
		}
	}
	fields, tied := dominant(found)
	for _, same := range tied {
		for _, f := range same[1:] {
			b.faults = append(b.faults, b.tie(same[0], f))
		}
	}
	return fields
}

// tie is the fault of two fields with one name.
func (b *builder) tie(first, second field) Fault {
	if first.pos == second.pos {
		return b.p.fault(second.pos, fmt.Sprintf("the struct of the field %s is embedded twice at one depth, so nothing is decoded into it", second.goName), "embed it once")
	}
	at := b.p.fset.PositionFor(first.pos, false)
	return b.p.fault(second.pos, fmt.Sprintf("the fields %s (%s:%d) and %s both have the JSON name %q, so nothing is decoded into either", first.goName, at.Filename, at.Line, second.goName, second.name),
		`give each a name of its own, or leave one out with json:"-"`)
}

// identify tells a struct from others: by its name, or by where it is written.
func identify(g goType) string {
	if g.name != "" {
		return g.name
	}
	return "@" + strconv.Itoa(int(g.pos))
}

// level is the fields of one struct, and the structs that it embeds.
func (b *builder) level(e embeds) (own []field, below []embeds) {
	if e.g.fields == nil || e.g.fields.Fields == nil {
		return nil, nil
	}
	n := -1
	for _, decl := range e.g.fields.Fields.List {
		tag, tagPos := tagOf(decl)
		names := decl.Names
		embedded := len(names) == 0
		if embedded {
			names = []*ast.Ident{{NamePos: decl.Type.Pos(), Name: baseName(decl.Type)}}
		}
		for _, name := range names {
			n++
			t := e.g.in.at(decl.Type)
			var inner goType
			var behind, isStruct bool
			if embedded {
				inner, behind, isStruct = b.embedded(t)
			}
			if !ast.IsExported(name.Name) && !isStruct {
				continue
			}
			b.tag(decl, name.Name)
			value := tag.Get("json")
			if value == "-" {
				continue
			}
			parts := strings.Split(value, ",")
			if !goodName(parts[0]) {
				parts[0] = ""
			}
			options := parts[1:]
			index := append(slices.Clone(e.index), n)
			if behind && isStruct && !ast.IsExported(name.Name) {
				b.faults = append(b.faults, b.p.fault(decl.Pos(), "what "+name.Name+" holds is behind an embedded pointer to an unexported type, where nothing can be decoded",
					"embed the struct itself"))
				continue
			}
			if parts[0] == "" && isStruct {
				below = append(below, embeds{inner, index, e.optional || behind})
				continue
			}
			if slices.Contains(options, "string") {
				b.faults = append(b.faults, b.p.fault(tagPos, "the field "+name.Name+` has the json option "string", which the prelude does not decode`, "take it out"))
			}
			f := field{
				name: parts[0], goName: name.Name, index: index, pos: name.Pos(), t: t, doc: decl.Doc,
				tag: tag.Get("jsonschema"), tagPos: tagPos, tagged: parts[0] != "",
				optional: e.optional || slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero"),
			}
			if f.doc == nil {
				f.doc = decl.Comment
			}
			if !f.tagged {
				f.name = name.Name
			}
			own = append(own, f)
		}
	}
	return own, below
}

// embedded looks at the type of an embedded field: the struct whose fields count, and whether it is behind a pointer.
func (b *builder) embedded(t typeExpr) (g goType, behind, isStruct bool) {
	if star, ok := ast.Unparen(t.expr).(*ast.StarExpr); ok {
		t, behind = t.at(star.X), true
	}
	bare, err := b.p.spell(t, true, 0)
	if err != nil || bare.kind != kindStruct {
		return goType{}, behind, false
	}
	return bare, behind, true
}

// promotes reports whether a struct has a method from what it embeds: that of the least nested embedded type that has one
// of the name, where only one is so little nested, and no field of the name is.
func (p *Packages) promotes(g goType, method string, depth int) bool {
	visited := map[string]bool{}
	for level, n := []goType{g}, 0; len(level) > 0 && n < maxLevels; n++ {
		methods, others := 0, 0
		var next []goType
		for _, s := range level {
			if s.fields == nil || s.fields.Fields == nil || visited[identify(s)] {
				continue
			}
			visited[identify(s)] = true
			for _, decl := range s.fields.Fields.List {
				for _, name := range decl.Names {
					if name.Name == method {
						others++
					}
				}
				if len(decl.Names) > 0 {
					continue
				}
				t := s.in.at(decl.Type)
				if star, ok := ast.Unparen(t.expr).(*ast.StarExpr); ok {
					t = s.in.at(star.X)
				}
				inner, has := p.own(t, method, depth)
				if has {
					methods++
				} else if inner.kind == kindStruct {
					next = append(next, inner)
				}
			}
		}
		if methods+others > 0 {
			return methods == 1 && others == 0
		}
		if len(next) > maxNodes {
			return false
		}
		level = next
	}
	return false
}

// own is an embedded type, and whether it has a method that is its own.
func (p *Packages) own(t typeExpr, method string, depth int) (goType, bool) {
	if depth > maxDepth {
		return goType{}, false
	}
	if sel, ok := ast.Unparen(t.expr).(*ast.SelectorExpr); ok && t.in != nil {
		if id, ok := sel.X.(*ast.Ident); ok {
			switch s := standard[t.in.imports[id.Name]+"."+sel.Sel.Name]; s.as.kind {
			case kindText:
				return goType{}, method == unmarshalText
			case kindTime:
				return goType{}, true // it has both
			case kindSelf:
				return goType{}, true
			}
		}
	}
	g, err := p.spell(t, true, depth+1)
	if err != nil {
		return goType{}, false
	}
	if d, bind, ok := p.declaration(t); ok {
		if d.spec.Assign.IsValid() {
			return p.own(typeExpr{expr: d.spec.Type, in: d.in, bind: bind}, method, depth+1)
		}
		if d.in.pkg.methods[d.spec.Name.Name][method] {
			return g, true
		}
	}
	return g, false
}

// tagOf is a field's tag and where it stands.
func tagOf(decl *ast.Field) (reflect.StructTag, token.Pos) {
	if decl.Tag == nil {
		return "", decl.Pos()
	}
	text, err := strconv.Unquote(decl.Tag.Value)
	if err != nil {
		return "", decl.Tag.Pos()
	}
	return reflect.StructTag(text), decl.Tag.Pos()
}

// goodName reports whether encoding/json takes a tag's name for one.
func goodName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// dominant picks one field a name, or none. The candidates come by level. Those of a name that neither level nor tag decides
// are listed beside, by their place.
func dominant(found []field) (fields []field, tied [][]field) {
	best := map[string][]field{}
	for _, f := range found {
		old := best[f.name]
		switch {
		case old == nil || len(old[0].index) == len(f.index) && f.tagged && !old[0].tagged:
			best[f.name] = []field{f}
		case len(old[0].index) == len(f.index) && f.tagged == old[0].tagged:
			best[f.name] = append(old, f)
		}
	}
	for _, same := range best {
		if len(same) > 1 {
			tied = append(tied, same)
		} else {
			fields = append(fields, same[0])
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	slices.SortFunc(tied, func(a, b []field) int { return slices.Compare(a[0].index, b[0].index) })
	return fields, tied
}
