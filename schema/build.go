package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"math"
	"strconv"
	"strings"

	"github.com/loomext/loomext/manifest"
)

// The forms that a model is told of text that is more than text.
const (
	timePattern   = `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$`
	base64Pattern = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`
)

// Schema is the derived schema of one tool's arguments.
type Schema struct {
	root *node
	defs []def
	text []byte
}

type def struct {
	name string
	node *node
}

// Of derives the schema of the arguments of the tool whose entry package is in a directory of the tree. The error is
// [Faults], or wraps [ErrUntold].
func (p *Packages) Of(dir string) (*Schema, error) {
	t, err := p.argument(dir)
	if err != nil {
		return nil, err
	}
	s, b, err := p.derive(t, false)
	switch {
	case err != nil:
		return nil, faultsOf(err)
	case b.untold != nil:
		return nil, b.untold
	case len(b.faults) > 0:
		return nil, b.faults.sorted()
	}
	if _, err := manifest.CompileSchema(s.text); err != nil {
		return nil, Faults{p.fault(t.expr.Pos(), "the schema of "+s.root.spelled+" is none that a manifest takes: "+strings.ReplaceAll(err.Error(), "\n", ", "),
			"change the type, or what its jsonschema tags say")}
	}
	return s, nil
}

// Disagreements lists where a schema file lets through what the tool of a directory does not take, speaks of a field that
// its type does not have, or leaves one out, by pointer into the file. A file that says more than the type can, in any way
// a schema has, does not disagree: an author may write it by hand. What a jsonschema tag says, it says for the file too.
//
// What the source does not tell is passed over. A field that nothing can be decoded into is listed, without a pointer.
func (p *Packages) Disagreements(dir string, file []byte) []Difference {
	t, err := p.argument(dir)
	if err != nil {
		return nil
	}
	s, b, err := p.derive(t, true)
	if err != nil || b.untold != nil {
		return nil
	}
	var list []Difference
	for _, f := range b.faults.sorted() {
		list = append(list, Difference{Msg: f.Error()})
	}
	return append(list, s.disagreements(file)...)
}

// derive builds the schema twice: which types refer to themselves is known after the first time.
func (p *Packages) derive(t typeExpr, lenient bool) (*Schema, *builder, error) {
	g, err := p.resolve(t, 0)
	if err != nil {
		return nil, nil, err
	}
	var b *builder
	var s *Schema
	recursive := map[string]bool{}
	for range 2 {
		b = &builder{p: p, lenient: lenient, recursive: recursive, names: map[string]string{}, taken: map[string]bool{}}
		s = &Schema{root: b.root(t, g)}
		s.defs = b.defs
	}
	if !lenient && len(b.faults) == 0 {
		s.text = s.render()
	}
	return s, b, nil
}

// faultsOf keeps an error that says the type cannot be told, and makes faults of any other.
func faultsOf(err error) error {
	var f Fault
	if errors.Is(err, ErrUntold) || !errors.As(err, &f) {
		return err
	}
	return Faults{f}
}

// JSON is the schema as it stands in a file: indented, with a newline at the end. The bytes are not to be changed.
func (s *Schema) JSON() []byte { return s.text }

func (s *Schema) render() []byte {
	members := append([]keyword{{"$schema", encode(manifest.Dialect)}}, s.root.members()...)
	if len(s.defs) > 0 {
		var defs []keyword
		for _, d := range s.defs {
			defs = append(defs, keyword{d.name, d.node.text()})
		}
		members = append(members, keyword{"$defs", object(defs)})
	}
	var out bytes.Buffer
	if err := json.Indent(&out, object(members), "", "  "); err != nil {
		return object(members)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// builder makes the subschemas of one type.
type builder struct {
	p         *Packages
	lenient   bool // what the source does not tell is unknown, and no fault
	faults    Faults
	untold    error
	nodes     int
	inside    []string          // the declared types around
	recursive map[string]bool   // those that were met inside themselves
	names     map[string]string // in $defs, by type
	taken     map[string]bool
	defs      []def
	top       string // the declared type of the arguments
}

// root is the schema of arguments, which are an object whatever the type.
func (b *builder) root(t typeExpr, g goType) *node {
	for range maxDepth {
		if g.kind != kindPointer {
			break
		}
		t = g.elem
		inner, err := b.p.resolve(t, 0)
		if err != nil {
			b.fail(err)
			return &node{unknown: true, failed: true}
		}
		g = inner
	}
	switch g.kind {
	case kindAny:
		return &node{types: []string{"object"}, spelled: g.spelled}
	case kindStruct, kindMap:
	default:
		b.faults = append(b.faults, b.p.fault(t.expr.Pos(), "arguments are an object, and "+g.spelled+" decodes from something else", "make it a struct"))
		return &node{unknown: true, failed: true}
	}
	b.top = g.name
	if g.name != "" {
		b.inside = append(b.inside, g.name)
	}
	n := b.form(g)
	n.types = []string{"object"}
	if u, _ := n.untold(); u != nil && !b.lenient {
		b.faults = append(b.faults, b.p.fault(t.expr.Pos(), "the type "+u.spelled+" decodes itself, and nothing says from what", "make the arguments a struct"))
	}
	return n
}

func (b *builder) fail(err error) {
	if b.lenient {
		return
	}
	var f Fault
	if errors.Is(err, ErrUntold) || !errors.As(err, &f) {
		b.untold = err
	}
	b.faults = append(b.faults, f)
}

// build is the subschema of a type.
func (b *builder) build(t typeExpr) (*node, goType) {
	g, err := b.p.resolve(t, 0)
	if err != nil {
		b.fail(err)
		return &node{unknown: true, failed: true}, g
	}
	if b.nodes++; b.nodes > maxNodes || len(b.inside) > maxDepth {
		if b.nodes == maxNodes+1 || len(b.inside) > maxDepth {
			b.faults = append(b.faults, b.p.fault(t.expr.Pos(), "the type holds too much for a schema that a model reads", "make it smaller"))
		}
		return &node{unknown: true, failed: true}, g
	}
	if len(b.faults) > maxFaults {
		return &node{unknown: true, failed: true}, g
	}
	if g.name == "" {
		return b.form(g), g
	}
	for _, name := range b.inside {
		if name == g.name {
			b.recursive[g.name] = true
			return b.reference(g), g
		}
	}
	if b.recursive[g.name] {
		b.define(g)
		return b.reference(g), g
	}
	return b.within(g), g
}

// within is the form of a declared type, with its name known to what it holds.
func (b *builder) within(g goType) *node {
	b.inside = append(b.inside, g.name)
	n := b.form(g)
	b.inside = b.inside[:len(b.inside)-1]
	return n
}

func (b *builder) reference(g goType) *node {
	nullable := g.kind == kindSlice || g.kind == kindMap || g.kind == kindPointer
	n := &node{ref: "#", spelled: g.spelled}
	if g.name != b.top {
		// What is defined says of itself that it may be null.
		n.ref = "#/$defs/" + b.name(g)
	} else {
		n.nullable = nullable // the arguments themselves never are
	}
	return n
}

// name is what a type is called in $defs.
func (b *builder) name(g goType) string {
	if name, ok := b.names[g.name]; ok {
		return name
	}
	name := g.short
	for i := 2; b.taken[name]; i++ {
		name = g.short + "_" + strconv.Itoa(i)
	}
	b.names[g.name], b.taken[name] = name, true
	return name
}

// define puts a type into $defs, once.
func (b *builder) define(g goType) {
	if g.name == b.top {
		return
	}
	name := b.name(g)
	for _, d := range b.defs {
		if d.name == name {
			return
		}
	}
	at := len(b.defs)
	b.defs = append(b.defs, def{name: name, node: &node{}})
	n := b.within(g)
	if text := prose(g.doc); text != "" {
		n.set("description", text)
	}
	b.defs[at].node = n
}

// form is the subschema of a type without regard to its name.
func (b *builder) form(g goType) *node {
	n := &node{spelled: g.spelled}
	switch g.kind {
	case kindNone:
		n.unknown, n.failed = true, true
		b.faults = append(b.faults, b.p.fault(g.pos, "the Go type "+g.spelled+" holds no JSON", "give the field another type"))
	case kindAny:
	case kindSelf:
		n.unknown = true
	case kindString, kindText:
		n.types = []string{"string"}
	case kindTime:
		n.types = []string{"string"}
		n.set("format", "date-time")
		n.set("pattern", timePattern)
	case kindBoolean:
		n.types = []string{"boolean"}
	case kindNumber:
		n.types = []string{"number"}
	case kindFloat:
		n.types = []string{"number"}
		if g.bits == 32 {
			n.set("minimum", json.RawMessage(fmt.Sprint(-math.MaxFloat32)))
			n.set("maximum", json.RawMessage(fmt.Sprint(math.MaxFloat32)))
		}
	case kindInteger:
		n.types = []string{"integer"}
		low, high, bounded := bounds(g)
		if g.unsigned || bounded {
			n.set("minimum", low)
		}
		if bounded {
			n.set("maximum", high)
		}
	case kindStruct:
		n.types, n.object = []string{"object"}, true
		b.properties(n, g)
	case kindMap:
		n.types = []string{"object", "null"}
		b.mapKey(g)
		n.values = b.element(g.elem)
	case kindSlice:
		if e, err := b.p.spell(g.elem, true, 0); err == nil && e.kind == kindInteger && e.bits == 8 && e.unsigned {
			n.types = []string{"string", "null"}
			n.set("contentEncoding", "base64")
			n.set("pattern", base64Pattern)
			break
		}
		n.types = []string{"array", "null"}
		n.items = b.element(g.elem)
	case kindArray:
		n.types = []string{"array"}
		n.set("minItems", g.length)
		n.set("maxItems", g.length)
		n.items = b.element(g.elem)
	case kindPointer:
		inner := b.element(g.elem)
		inner.mayBeNull()
		return inner
	}
	return n
}

// mayBeNull lets a subschema that a tag has not bounded yet take null.
func (n *node) mayBeNull() {
	switch {
	case n.ref != "":
		n.nullable = true
	case len(n.types) == 0:
	case n.types[len(n.types)-1] != "null":
		n.types = append(n.types[:len(n.types):len(n.types)], "null")
	}
}

// bounds is the range of an integer type. One of 64 bits has none that a model should be told.
func bounds(g goType) (low, high int64, bounded bool) {
	switch {
	case g.bits == 64:
		return 0, 0, false
	case g.unsigned:
		return 0, 1<<g.bits - 1, true
	}
	return -1 << (g.bits - 1), 1<<(g.bits-1) - 1, true
}

// element is the subschema of what a slice, an array or a map holds.
func (b *builder) element(t typeExpr) *node {
	n, g := b.build(t)
	if text := prose(g.doc); text != "" && n.ref == "" {
		if _, has := n.get("description"); !has {
			n.set("description", text)
		}
	}
	return n
}

// mapKey wants keys that are strings, or made of them.
func (b *builder) mapKey(g goType) {
	key, err := b.p.resolve(g.key, 0)
	if err != nil {
		b.fail(err)
		return
	}
	under, err := b.p.spell(g.key, true, 0)
	if err == nil && key.kind != kindText && under.kind != kindString {
		b.faults = append(b.faults, b.p.fault(g.pos, "the Go type "+g.spelled+" has keys that are no strings", "use a map by string"))
	}
}

// properties fills in the fields of a struct.
func (b *builder) properties(n *node, g goType) {
	for _, f := range b.fields(g) {
		inner, t := b.build(f.t)
		required := !f.optional && t.kind != kindPointer
		if text := prose(f.doc); text != "" {
			inner.set("description", text)
		} else if text := prose(t.doc); text != "" && inner.ref == "" {
			inner.set("description", text)
		}
		if b.tags(inner, f) {
			required = true
		}
		if u, prefix := inner.untold(); u != nil && !b.lenient {
			b.faults = append(b.faults, b.p.fault(f.t.expr.Pos(), "the type "+u.spelled+" decodes itself, and nothing says from what",
				fmt.Sprintf(`say it in the field's tag: jsonschema:"%stype=string", or "%[1]stype=any"`, prefix)))
		}
		n.props = append(n.props, prop{name: f.name, goName: f.goName, node: inner, required: required})
	}
	b.blank(n, g)
}

// untold is a subschema that nothing is known of, and what a tag writes before a keyword of it.
func (n *node) untold() (u *node, prefix string) {
	for ; n != nil; prefix += "items." {
		if n.unknown {
			if n.failed {
				return nil, ""
			}
			return n, prefix
		}
		if n.items != nil {
			n = n.items
		} else {
			n = n.values
		}
	}
	return nil, ""
}

// prose is a comment as a description: a paragraph is a line.
func prose(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var paragraphs []string
	for paragraph := range strings.SplitSeq(doc.Text(), "\n\n") {
		if words := strings.Fields(paragraph); len(words) > 0 {
			paragraphs = append(paragraphs, strings.Join(words, " "))
		}
	}
	return strings.Join(paragraphs, "\n")
}
