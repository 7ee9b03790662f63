package decode

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	numberType      = reflect.TypeFor[json.Number]()
)

// shape is what the walk needs to know of a Go type, found once.
type shape struct {
	unmarshalJSON bool
	unmarshalText bool
	fields        map[string]field // of a struct, by the JSON name
	problem       string           // why nothing can be decoded into the struct
}

type field struct {
	name   string
	number int   // among the struct's fields, from 0
	index  []int // as reflect.Value.FieldByIndex takes it
}

var shapes sync.Map // reflect.Type → *shape; as many as the program has types

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	pointer := reflect.PointerTo(t)
	s := &shape{
		unmarshalJSON: t.Kind() != reflect.Interface && pointer.Implements(jsonUnmarshaler),
		unmarshalText: t.Kind() != reflect.Interface && pointer.Implements(textUnmarshaler),
	}
	if t.Kind() == reflect.Struct {
		s.fields, s.problem = fieldsOf(t)
	}
	known, _ := shapes.LoadOrStore(t, s)
	return known.(*shape)
}

// field finds the field that a member's name, quoted as it stands, belongs to.
func (s *shape) field(quoted []byte) (field, bool) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		found, ok := s.fields[string(inner)]
		return found, ok
	}
	name, ok := jsontext.Unquote(quoted)
	if !ok {
		return field{}, false
	}
	found, ok := s.fields[name]
	return found, ok
}

// candidate is a field before the names of all levels are compared.
type candidate struct {
	field
	tagged bool
}

// fieldsOf applies the rules of encoding/json: an embedded struct's fields count
// as the outer struct's; of two with one name the less nested wins, then the one
// named by its tag; where that leaves two, neither counts.
func fieldsOf(t reflect.Type) (fields map[string]field, problem string) {
	type embedded struct {
		t     reflect.Type
		index []int
	}
	var found []candidate
	visited := map[reflect.Type]bool{}
	for level := []embedded{{t: t}}; len(level) > 0; {
		times := map[reflect.Type]int{} // a struct embedded twice at one level hides itself
		for _, e := range level {
			times[e.t]++
		}
		var next []embedded
		for _, e := range level {
			if visited[e.t] {
				continue
			}
			visited[e.t] = true
			for i := range e.t.NumField() {
				sf := e.t.Field(i)
				name, options, use := fieldTag(sf)
				if !use {
					continue
				}
				index := append(slices.Clone(e.index), i)
				if name == "" && sf.Anonymous && structType(sf.Type) != nil {
					next = append(next, embedded{structType(sf.Type), index})
					continue
				}
				if slices.Contains(options, "string") {
					problem = "the Go field " + sf.Name + ` has the json option "string", which is not supported; take it out`
				}
				c := candidate{field{name: name, index: index}, name != ""}
				if name == "" {
					c.name = sf.Name
				}
				for range min(times[e.t], 2) {
					found = append(found, c)
				}
			}
		}
		level = next
	}
	return dominant(found), problem
}

func fieldTag(sf reflect.StructField) (name string, options []string, use bool) {
	if !sf.IsExported() && (!sf.Anonymous || structType(sf.Type) == nil) {
		return "", nil, false
	}
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return "", nil, false
	}
	parts := strings.Split(tag, ",")
	if !goodName(parts[0]) {
		parts[0] = ""
	}
	return parts[0], parts[1:], true
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

// structType is the struct that an embedded field promotes from, or nil.
func structType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		return t
	}
	return nil
}

// dominant picks one field a name, or none. The candidates come by level.
func dominant(found []candidate) map[string]field {
	best := map[string]candidate{}
	tied := map[string]bool{}
	for _, c := range found {
		old, ok := best[c.name]
		switch {
		case !ok || len(old.index) == len(c.index) && c.tagged && !old.tagged:
			best[c.name] = c
			tied[c.name] = false
		case len(old.index) == len(c.index) && c.tagged == old.tagged:
			tied[c.name] = true
		}
	}
	fields := map[string]field{}
	for name, c := range best {
		if !tied[name] {
			c.number = len(fields)
			fields[name] = c.field
		}
	}
	return fields
}

// bitset remembers the numbers it was given.
type bitset struct {
	low  uint64
	rest map[int]bool
}

// add reports whether n was there before.
func (b *bitset) add(n int) bool {
	if n < 64 {
		had := b.low>>n&1 == 1
		b.low |= 1 << n
		return had
	}
	if b.rest == nil {
		b.rest = map[int]bool{}
	}
	had := b.rest[n]
	b.rest[n] = true
	return had
}
