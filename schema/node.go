package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// node is one subschema, and what in the source it is of.
type node struct {
	types    []string  // JSON types; none is all of them
	keywords []keyword // in the order that they are written, types excepted
	props    []prop    // of a struct, in the order of the source
	object   bool      // props is all there is, even if it is empty
	closed   bool      // no other property is allowed
	items    *node     // of a slice or an array
	values   *node     // of a map
	ref      string    // a type that refers to itself, by its place in the schema
	nullable bool      // with ref
	unknown  bool      // the type decodes itself and nothing says how, or
	failed   bool      // a fault says why nothing is known

	spelled string          // the Go type
	tagged  map[string]bool // the keywords that a jsonschema tag set
}

type keyword struct {
	name  string
	value json.RawMessage
}

type prop struct {
	name     string
	goName   string
	node     *node
	required bool
}

func (n *node) get(name string) (json.RawMessage, bool) {
	i := slices.IndexFunc(n.keywords, func(k keyword) bool { return k.name == name })
	if i < 0 {
		return nil, false
	}
	return n.keywords[i].value, true
}

func (n *node) set(name string, value any) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		raw = encode(value)
	}
	if i := slices.IndexFunc(n.keywords, func(k keyword) bool { return k.name == name }); i >= 0 {
		n.keywords[i].value = raw
		return
	}
	n.keywords = append(n.keywords, keyword{name, raw})
}

// encode is JSON as a person writes it, with "<" as it is. What it is given always has an encoding.
func encode(value any) json.RawMessage {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// order is how the keywords of one subschema are written: what it is, how it is bounded, what it holds.
var order = []string{
	"title", "description", "deprecated", "type", "format", "contentEncoding", "pattern", "minLength", "maxLength", "minimum",
	"exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties",
	"maxProperties", "enum", "default", "examples",
}

// members is the subschema as an object's members in order.
func (n *node) members() []keyword {
	var out []keyword
	add := func(name string, value json.RawMessage) { out = append(out, keyword{name, value}) }
	for _, name := range order {
		if name == "type" {
			switch len(n.types) {
			case 0:
			case 1:
				add("type", encode(n.types[0]))
			default:
				add("type", encode(n.types))
			}
		} else if value, ok := n.get(name); ok {
			add(name, value)
		}
	}
	if n.ref != "" {
		ref := object([]keyword{{"$ref", encode(n.ref)}})
		if n.nullable {
			add("anyOf", array([]json.RawMessage{ref, object([]keyword{{"type", encode("null")}})}))
		} else {
			add("$ref", encode(n.ref))
		}
		return out
	}
	if n.object && len(n.props) > 0 {
		var props []keyword
		var required []string
		for _, p := range n.props {
			props = append(props, keyword{p.name, p.node.text()})
			if p.required {
				required = append(required, p.name)
			}
		}
		add("properties", object(props))
		if len(required) > 0 {
			add("required", encode(required))
		}
	}
	if n.closed {
		add("additionalProperties", encode(false))
	}
	// What says nothing is left out.
	if n.values != nil {
		if text := n.values.text(); len(text) > len("{}") {
			add("additionalProperties", text)
		}
	}
	if n.items != nil {
		if text := n.items.text(); len(text) > len("{}") {
			add("items", text)
		}
	}
	return out
}

func (n *node) text() json.RawMessage { return object(n.members()) }

func object(members []keyword) json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encode(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}

func array(items []json.RawMessage) json.RawMessage {
	var b strings.Builder
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item)
	}
	b.WriteByte(']')
	return json.RawMessage(b.String())
}
