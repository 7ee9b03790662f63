package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/loomext/loomext/internal/tomlfile"
)

// shape is a schema as a graph: its subschemas, and which of them apply to the
// same value. It is what the cost of a check is computed from.
type shape struct {
	subs     map[string]*sub // by JSON pointer
	anchors  map[string]*sub
	booleans map[string]bool // pointers of true and false where a schema stands
}

// sub is one subschema.
type sub struct {
	pointer string
	object  map[string]any
	same    []*sub // apply to the same value as this one
	every   []*sub // apply to each item or property of the value
	named   []*sub // of these at most one applies to each item or property
	ref     string
	names   bool // stands in a propertyNames
	depth   int  // longest chain of same, 0 where not known yet
	open    bool // the chain through it is being followed
}

// place is where a keyword's subschemas apply: to the value itself, to each of
// its parts, or to one part each.
type place uint8

const (
	sameValue place = iota
	everyPart
	namedPart
	nowhere // the keyword only holds subschemas for others to refer to
)

// form is how a keyword holds subschemas.
type form uint8

const (
	oneSchema form = iota
	listOfSchemas
	mapOfSchemas
)

// applicators are the keywords of the dialect that hold subschemas.
var applicators = map[string]struct {
	form  form
	place place
}{
	"allOf":                 {listOfSchemas, sameValue},
	"anyOf":                 {listOfSchemas, sameValue},
	"oneOf":                 {listOfSchemas, sameValue},
	"not":                   {oneSchema, sameValue},
	"if":                    {oneSchema, sameValue},
	"then":                  {oneSchema, sameValue},
	"else":                  {oneSchema, sameValue},
	"dependentSchemas":      {mapOfSchemas, sameValue},
	"properties":            {mapOfSchemas, namedPart},
	"patternProperties":     {mapOfSchemas, everyPart},
	"additionalProperties":  {oneSchema, everyPart},
	"propertyNames":         {oneSchema, everyPart},
	"unevaluatedProperties": {oneSchema, everyPart},
	"items":                 {oneSchema, everyPart},
	"prefixItems":           {listOfSchemas, namedPart},
	"contains":              {oneSchema, everyPart},
	"unevaluatedItems":      {oneSchema, everyPart},
	"contentSchema":         {oneSchema, nowhere},
	"$defs":                 {mapOfSchemas, nowhere},
	"definitions":           {mapOfSchemas, nowhere},
}

// otherKeywords are the keywords of the dialect that hold none.
var otherKeywords = []string{
	"$schema", "$id", "$ref", "$anchor", "$comment", "$vocabulary",
	"type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
	"maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains",
	"maxProperties", "minProperties", "required", "dependentRequired",
	"format", "contentEncoding", "contentMediaType",
	"title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples",
}

// knownKeywords are all keywords of the dialect, sorted.
var knownKeywords = slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(applicators)), otherKeywords...)))

// refusedKeywords would be ignored, or would make the schema depend on more than
// its own text; each with what to write instead.
var refusedKeywords = map[string]string{
	"$dynamicRef":      "write $ref",
	"$dynamicAnchor":   "write $anchor",
	"$recursiveRef":    "write $ref",
	"$recursiveAnchor": "write $anchor",
	"$vocabulary":      "remove it: a tool's schema defines no dialect",
	"additionalItems":  "write items beside prefixItems",
	"dependencies":     "write dependentRequired or dependentSchemas",
	"nullable":         `write "null" into type`,
	"optional":         "leave the property out of required",
	"id":               "remove it, or write $anchor",
	"divisibleBy":      "write multipleOf",
	"extends":          "write allOf",
	"disallow":         "write not",
}

// annotations look like misspelt keywords and are none.
var annotations = []string{"example"}

// countKeywords hold a count. The validator keeps one in a machine word.
var countKeywords = []string{"maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains", "maxProperties", "minProperties"}

// survey walks a schema that the dialect's own schema has found valid.
func survey(root map[string]any) (*shape, SchemaFaults) {
	w := surveyor{shape: &shape{subs: map[string]*sub{}, anchors: map[string]*sub{}, booleans: map[string]bool{}}}
	w.schema(root, "", false)
	if len(w.shape.subs) > maxSubschemas {
		w.fault("", fmt.Sprintf("there are more than %d subschemas", maxSubschemas))
		return nil, w.faults
	}
	w.rootType(root)
	for _, p := range slices.Sorted(maps.Keys(w.shape.subs)) {
		w.resolve(w.shape.subs[p])
	}
	if len(w.faults) == 0 {
		for _, p := range slices.Sorted(maps.Keys(w.shape.subs)) {
			if w.chain(w.shape.subs[p]); len(w.faults) > 0 {
				break // one loop is seen from each of its members
			}
		}
	}
	return w.shape, w.faults
}

type surveyor struct {
	shape  *shape
	faults SchemaFaults
}

func (w *surveyor) fault(pointer, msg string) {
	w.faults = append(w.faults, SchemaFault{pointer, msg})
}

// schema notes one subschema and those below it. Boolean schemas cost nothing
// and are not noted.
func (w *surveyor) schema(v any, at string, names bool) *sub {
	object, ok := v.(map[string]any)
	if !ok || len(w.shape.subs) > maxSubschemas {
		w.shape.booleans[at] = !names
		return nil
	}
	s := &sub{pointer: at, object: object, names: names}
	w.shape.subs[at] = s
	for _, key := range slices.Sorted(maps.Keys(object)) {
		w.keyword(s, key, object[key])
	}
	w.required(s)
	return s
}

// required finds a property that must be given and must not be there: one that
// is spelt in two ways.
func (w *surveyor) required(s *sub) {
	properties, listed := s.object["properties"].(map[string]any)
	_, patterns := s.object["patternProperties"]
	if open, closed := s.object["additionalProperties"].(bool); !listed || patterns || !closed || open {
		return
	}
	names, _ := s.object["required"].([]any)
	for i, v := range names {
		name, _ := v.(string)
		if _, there := properties[name]; there {
			continue
		}
		msg := tomlfile.Quote(name) + " is required, but no such property is allowed"
		if near, ok := tomlfile.Nearest(name, slices.Sorted(maps.Keys(properties))); ok {
			msg += "; did you mean " + tomlfile.Quote(near) + "?"
		}
		w.fault(s.pointer+"/required/"+strconv.Itoa(i), msg)
	}
}

func (w *surveyor) keyword(s *sub, key string, value any) {
	at := s.pointer + "/" + escapePointer(key)
	if instead, refused := refusedKeywords[key]; refused {
		w.fault(at, tomlfile.Quote(key)+" has no place in a tool's schema; "+instead)
		return
	}
	switch key {
	case "$ref":
		s.ref, _ = value.(string)
	case "$anchor":
		name, _ := value.(string)
		if w.shape.anchors[name] != nil {
			w.fault(at, "another $anchor is "+tomlfile.Quote(name)+"; name each once")
		}
		w.shape.anchors[name] = s
	case "$id", "$schema":
		if s.pointer != "" {
			w.fault(at, key+" stands only at the root: a tool's schema is one document")
		}
	case "pattern":
		text, _ := value.(string)
		w.pattern(at, text)
	case "patternProperties":
		properties, _ := value.(map[string]any)
		for _, text := range slices.Sorted(maps.Keys(properties)) {
			w.pattern(at+"/"+escapePointer(text), text)
		}
	default:
		if n, ok := value.(json.Number); ok && slices.Contains(countKeywords, key) && !exact(n) {
			w.fault(at, "the number is out of range")
		}
	}
	if a, ok := applicators[key]; ok {
		w.apply(s, key, value, a.form, a.place)
		return
	}
	if !slices.Contains(otherKeywords, key) && !slices.Contains(annotations, key) {
		if near, ok := tomlfile.Nearest(key, knownKeywords); ok && tomlfile.Slips(key, near) <= 2 {
			w.fault(at, "there is no keyword "+tomlfile.Quote(key)+"; did you mean "+tomlfile.Quote(near)+"?")
		}
	}
}

func (w *surveyor) pattern(at, text string) {
	if _, err := compilePattern(text); err != nil {
		w.fault(at, err.Error())
	}
}

// apply notes the subschemas that one keyword holds.
func (w *surveyor) apply(s *sub, key string, value any, f form, p place) {
	at := s.pointer + "/" + escapePointer(key)
	names := s.names || key == "propertyNames"
	var held []*sub
	switch f {
	case oneSchema:
		held = append(held, w.schema(value, at, names))
	case listOfSchemas:
		items, _ := value.([]any)
		for i, item := range items {
			held = append(held, w.schema(item, at+"/"+strconv.Itoa(i), names))
		}
	case mapOfSchemas:
		items, _ := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(items)) {
			held = append(held, w.schema(items[key], at+"/"+escapePointer(key), names))
		}
	}
	held = slices.DeleteFunc(held, func(s *sub) bool { return s == nil })
	switch p {
	case sameValue:
		s.same = append(s.same, held...)
	case everyPart:
		s.every = append(s.every, held...)
	case namedPart:
		s.named = append(s.named, held...)
	}
}

// rootType checks that the schema is one of arguments at all.
func (w *surveyor) rootType(root map[string]any) {
	switch t := root["type"].(type) {
	case string:
		if t != "object" {
			w.fault("/type", `arguments are an object; write "object"`)
		}
	case []any:
		if !slices.Contains(t, any("object")) {
			w.fault("/type", `arguments are an object; write "object"`)
		}
	}
}

// resolve finds what a $ref refers to.
func (w *surveyor) resolve(s *sub) {
	if _, there := s.object["$ref"]; !there {
		return
	}
	at := s.pointer + "/$ref"
	fragment, local := strings.CutPrefix(s.ref, "#")
	if !local {
		w.fault(at, tomlfile.Quote(s.ref)+" is outside of this file; copy what it names under $defs")
		return
	}
	decoded, err := url.PathUnescape(fragment)
	if _, malformed := url.Parse(s.ref); err != nil || malformed != nil {
		w.fault(at, tomlfile.Quote(s.ref)+" is not a URI reference; write unusual characters as %XX")
		return
	}
	target := w.shape.subs[decoded]
	if decoded != "" && decoded[0] != '/' {
		target = w.shape.anchors[decoded]
	}
	switch {
	case target != nil && target.names:
		w.fault(at, tomlfile.Quote(s.ref)+" leads into a propertyNames; put the schema under $defs")
	case target != nil:
		s.same = append(s.same, target)
	case !w.shape.booleans[decoded]:
		w.fault(at, tomlfile.Quote(s.ref)+" names no subschema of this file")
	}
}

// chain computes how many schemas apply to one value through each other, and
// refuses a chain that is too long or bites its own tail.
func (w *surveyor) chain(s *sub) int {
	if s.open {
		w.fault(s.pointer, "this schema leads back to itself without going into a value, so no check would end")
		return 0
	}
	if s.depth > 0 {
		return s.depth
	}
	s.open = true
	longest := 0
	for _, next := range s.same {
		longest = max(longest, w.chain(next))
		if len(w.faults) > 0 {
			break
		}
	}
	s.open = false
	s.depth = longest + 1
	if s.depth > maxChain && len(w.faults) == 0 {
		w.fault(s.pointer, fmt.Sprintf("more than %d schemas apply to one value through each other", maxChain))
	}
	return s.depth
}
