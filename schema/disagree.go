package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// disagreements compares what the file lets through with what decodes; see [Packages.Disagreements].
func (s *Schema) disagreements(text []byte) []Difference {
	v, err := decoded(text)
	if err != nil {
		return []Difference{{"", "the file is not JSON: " + err.Error()}}
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	j := judge{file: root, defs: map[string]*node{}}
	for _, d := range s.defs {
		j.defs["#/$defs/"+d.name] = d.node
	}
	j.defs["#"] = s.root
	j.subschema("", root, s.root, 0)
	return j.sorted()
}

type judge struct {
	differ
	file map[string]any
	defs map[string]*node
}

// combining are the keywords under which a schema may say elsewhere what it does not say here.
var combining = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "patternProperties", "unevaluatedProperties"}

const maxJudged = 24 // levels of the file: beyond it no one finds the field

func (j *judge) subschema(at string, have any, want *node, depth int) {
	if depth > maxJudged || len(j.list) > maxFaults {
		return
	}
	nullable := want.nullable
	for range maxDepth {
		if want.ref == "" {
			break
		}
		if want = j.defs[want.ref]; want == nil {
			return
		}
	}
	if have == false || want.unknown {
		return
	}
	file, ok := j.deref(have)
	if !ok {
		if have == true && len(want.types) > 0 {
			j.add(at, "the schema takes anything, and %s takes %s", want.spelled, kinds(want.types))
		}
		return
	}
	elsewhere := slices.ContainsFunc(combining, func(k string) bool { _, there := file[k]; return there })
	j.types(at, file, want, nullable, elsewhere)
	j.tagged(at, file, want)
	if want.object {
		j.properties(at, file, want, elsewhere, depth)
	}
	if want.values != nil {
		if props, ok := file["properties"].(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(props)) {
				j.subschema(below(at+"/properties", name), props[name], want.values, depth+1)
			}
		}
		if more, there := file["additionalProperties"]; there {
			j.subschema(at+"/additionalProperties", more, want.values, depth+1)
		}
	}
	if want.items != nil {
		if items, there := file["items"]; there {
			j.subschema(at+"/items", items, want.items, depth+1)
		}
	}
}

// deref follows references within the file.
func (j *judge) deref(v any) (map[string]any, bool) {
	for range maxDepth {
		file, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		ref, ok := file["$ref"].(string)
		if !ok {
			return file, true
		}
		if len(file) > 1 && file["type"] != nil {
			return file, true // it says enough by itself
		}
		v = any(j.file)
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#"), "/") {
			if part == "" {
				continue
			}
			object, ok := v.(map[string]any)
			if !ok {
				return nil, false
			}
			v = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
	}
	return nil, false
}

// types compares the JSON types that the file lets through with those that decode.
func (j *judge) types(at string, file map[string]any, want *node, nullable, elsewhere bool) {
	if len(want.types) == 0 {
		return
	}
	allowed := func(t string) bool {
		return slices.Contains(want.types, t) || t == "integer" && slices.Contains(want.types, "number") || t == "null" && nullable
	}
	var says []string
	_, hasEnum := file["enum"]
	_, hasConst := file["const"]
	switch t := file["type"].(type) {
	case string:
		says = []string{t}
	case []any:
		for _, v := range t {
			if s, ok := v.(string); ok {
				says = append(says, s)
			}
		}
	default:
		switch {
		case hasEnum:
			values, _ := file["enum"].([]any)
			for _, v := range values {
				says = append(says, typeOf(v))
			}
		case hasConst:
			says = []string{typeOf(file["const"])}
		case elsewhere:
			return
		case at == "": // arguments are an object
			return
		default:
			j.add(at, "the schema takes anything, and %s takes %s", want.spelled, kinds(want.types))
			return
		}
	}
	for _, t := range says {
		if allowed(t) {
			continue
		}
		if at == "" && t == "null" {
			continue
		}
		j.add(at+"/type", "the schema takes %s, and %s takes %s", t, want.spelled, kinds(want.types))
		return
	}
	if !hasEnum && !hasConst && !elsewhere {
		j.bounds(at, file, want)
	}
}

// bounds compares ranges, where the Go type has one.
func (j *judge) bounds(at string, file map[string]any, want *node) {
	for _, side := range []struct{ key, exclusive, word string }{{"minimum", "exclusiveMinimum", "below"}, {"maximum", "exclusiveMaximum", "above"}} {
		bound, ok := want.get(side.key)
		if !ok || want.tagged[side.key] {
			continue
		}
		limit, _ := rational(json.Number(bound))
		held := false
		for _, key := range []string{side.key, side.exclusive} {
			n, ok := file[key].(json.Number)
			if !ok {
				continue
			}
			if v, ok := rational(n); ok && limit != nil {
				c := v.Cmp(limit)
				held = held || side.key == "minimum" && c >= 0 || side.key == "maximum" && c <= 0
			}
		}
		if !held {
			j.add(below(at, side.key), "the schema takes numbers %s %s, and %s does not", side.word, bound, want.spelled)
		}
	}
}

// tagged holds the file to what jsonschema tags say, prose excepted.
func (j *judge) tagged(at string, file map[string]any, want *node) {
	for _, k := range want.keywords {
		if !want.tagged[k.name] || slices.Contains([]string{"title", "description", "default", "examples", "deprecated"}, k.name) {
			continue
		}
		said, _ := decoded(k.value)
		have, there := file[k.name]
		if !there {
			j.add(below(at, k.name), "the schema does not have it; the jsonschema tag says %s", short(said))
			continue
		}
		var d differ
		d.compare(below(at, k.name), k.name, have, said)
		if len(d.list) > 0 {
			j.add(below(at, k.name), "the schema says %s, the jsonschema tag says %s", short(have), short(said))
		}
	}
}

// properties compares names: what the model is told of and what the tool reads.
func (j *judge) properties(at string, file map[string]any, want *node, elsewhere bool, depth int) {
	props, _ := file["properties"].(map[string]any)
	fields := map[string]prop{}
	for _, p := range want.props {
		fields[p.name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		place := below(at+"/properties", name)
		if f, ok := fields[name]; ok {
			j.subschema(place, props[name], f.node, depth+1)
			continue
		}
		if props[name] == false {
			continue
		}
		near := ""
		for _, p := range want.props {
			if _, taken := props[p.name]; !taken && strings.EqualFold(p.name, name) {
				near = fmt.Sprintf("; it has %s, and names match exactly", p.name)
			}
		}
		j.add(place, "the Go type %s has no field of this name, so what is sent is ignored%s", want.spelled, near)
	}
	if elsewhere {
		return
	}
	for _, p := range want.props {
		if _, there := props[p.name]; !there {
			j.add(below(at+"/properties", p.name), "the schema does not have it, and the Go type %s has the field %s", want.spelled, p.goName)
		}
	}
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if r, ok := rational(v); ok && r.IsInt() {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func kinds(types []string) string { return strings.Join(types, " or ") }
