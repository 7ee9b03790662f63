package manifest

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A glance is a schema in the few plain keywords that most are made of, fit to be
// held against arguments in one pass over their text that builds nothing. It says
// yes only where the whole check would find nothing. Whatever it does not know is a
// no, which says nothing: then the whole check decides, and names what is wrong.
//
// It is there because the whole check costs more than the call that it precedes.
type glance struct {
	kinds    kinds
	names    []string  // of members that the schema knows
	members  []*glance // theirs, in their order
	rest     *glance   // of other members; nil where they are refused
	required uint64    // a bit for each of names
	items    *glance
	words    []string // of an enum; nil where there is none
	least    int64
	most     int64
	bounded  bool // by least and most
}

// kinds is a set of the kinds of JSON values.
type kinds uint8

const (
	kindString  kinds = 1 << iota
	kindInteger       // written without a point or an exponent
	kindDecimal
	kindBoolean
	kindNull
	kindObject
	kindArray
	everyKind kinds = 1<<iota - 1
)

var kindsOf = map[string]kinds{
	"string": kindString, "number": kindInteger | kindDecimal, "integer": kindInteger, "boolean": kindBoolean,
	"null": kindNull, "object": kindObject, "array": kindArray,
}

// anything is what every value fits.
var anything = func() *glance {
	g := &glance{kinds: everyKind}
	g.rest, g.items = g, g
	return g
}()

// newGlance is nil where a schema says anything that is not known here.
func newGlance(schema any) *glance {
	if schema == true {
		return anything
	}
	object, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	g := &glance{kinds: everyKind, rest: anything, items: anything}
	for key, value := range object {
		if !g.keyword(key, value) {
			return nil
		}
	}
	required, _ := object["required"].([]any)
	for _, name := range required {
		at := slices.Index(g.names, name.(string))
		if at < 0 { // required, and nothing else is said of it
			if g.rest == nil {
				return nil
			}
			at = len(g.names)
			g.names, g.members = append(g.names, name.(string)), append(g.members, g.rest)
		}
		if at >= glanceMembers {
			return nil
		}
		g.required |= 1 << at
	}
	if len(g.names) > glanceMembers {
		return nil
	}
	return g
}

// keyword takes one keyword of a schema that is known to be a schema.
func (g *glance) keyword(key string, value any) bool {
	switch key {
	case "title", "description", "default", "examples", "$comment", "$schema", "deprecated", "readOnly", "writeOnly":
		return true // says nothing about a value
	case "required":
		return true // when the properties are known
	case "type":
		return g.types(value)
	case "properties":
		return g.properties(value)
	case "additionalProperties":
		if value == false {
			g.rest = nil
			return true
		}
		g.rest = newGlance(value)
		return g.rest != nil
	case "items":
		g.items = newGlance(value)
		return g.items != nil
	case "enum":
		return g.enum(value)
	case "minimum":
		return g.limit(value, &g.least)
	case "maximum":
		return g.limit(value, &g.most)
	}
	return false
}

func (g *glance) types(value any) bool {
	names, ok := value.([]any)
	if !ok {
		names = []any{value}
	}
	g.kinds = 0
	for _, name := range names {
		word, _ := name.(string)
		g.kinds |= kindsOf[word]
	}
	return g.kinds != 0
}

func (g *glance) properties(value any) bool {
	properties, _ := value.(map[string]any)
	for name, schema := range properties {
		member := newGlance(schema)
		if member == nil {
			return false
		}
		g.names, g.members = append(g.names, name), append(g.members, member)
	}
	return true
}

func (g *glance) enum(value any) bool {
	all, _ := value.([]any)
	g.words = []string{}
	for _, one := range all {
		word, ok := one.(string)
		if !ok {
			return false
		}
		g.words = append(g.words, word)
	}
	return true
}

func (g *glance) limit(value any, into *int64) bool {
	if !g.bounded {
		g.least, g.most, g.bounded = -glanceLimit, glanceLimit, true
	}
	number, _ := value.(json.Number)
	n, err := strconv.ParseInt(string(number), 10, 64)
	*into = n
	return err == nil && n >= -glanceLimit && n <= glanceLimit
}

// fits reports whether arguments surely fit. False says nothing.
func (g *glance) fits(args []byte) bool {
	if g == nil || len(args) > MaxArguments || !utf8.Valid(args) {
		return false
	}
	r := glanceReader{text: args, values: maxArgumentValues}
	return r.value(g, 0) && r.peek() == 0 && r.at == len(args)
}
