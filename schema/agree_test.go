package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/prelude/ext"
	"github.com/loomext/loomext/schema"
)

// sources is a tree in memory.
type sources map[string]string

func (s sources) File(path string) ([]byte, bool) {
	text, ok := s[path]
	return []byte(text), ok
}

func (s sources) Paths() []string { return slices.Sorted(maps.Keys(s)) }

const module = "example.com/ext"

// compiled is one type both ways: its name in types_test.go, and the decoder for it.
type compiled struct {
	name   string
	decode func(json.RawMessage) error
	// exact is a type of which the schema leaves out no spelling that decodes, required apart.
	exact bool
	// picky is a type that refuses texts of which the schema only knows that they are texts.
	picky bool
}

func of[T any](name string, exact bool) compiled {
	return compiled{name: name, decode: func(raw json.RawMessage) error { _, err := ext.DecodeArgs[T](raw); return err }, exact: exact}
}

func picky(c compiled) compiled {
	c.picky = true
	return c
}

var compiledTypes = []compiled{
	picky(of[texts]("texts", true)),
	of[scalars]("scalars", true),
	of[options]("options", true),
	of[containers]("containers", true),
	of[embedding]("embedding", true),
	of[tree]("tree", true),
	of[cyclic]("cyclic", true),
	of[generic]("generic", true),
	of[encoded]("encoded", false),
	of[decoding]("decoding", true),
	of[tagged]("tagged", false),
	of[mapped]("mapped", false), // null decodes, and is no call
	of[map[string]any]("map[string]any", false),
	of[*point]("*point", false),
}

func derive(t testing.TB, name string) *schema.Schema {
	t.Helper()
	text, err := os.ReadFile("types_test.go")
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Read(sources{
		"tool/types.go": string(text),
		"tool/run.go":   "package schema_test\n\nimport \"github.com/loomext/loomext/prelude/ext\"\n\nvar Run = ext.Typed[" + name + "](nil)\n",
	}, module).Of("tool")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// The law of this package: what fits the schema decodes. And where nothing but required and tags narrows it, what decodes
// fits.
func TestSchemaAndDecoderAgree(t *testing.T) {
	for _, c := range compiledTypes {
		t.Run(c.name, func(t *testing.T) {
			text := derive(t, c.name).JSON()
			strict, err := manifest.CompileSchema(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			var root map[string]any
			if err := json.Unmarshal(text, &root); err != nil {
				t.Fatal(err)
			}
			relaxed, err := manifest.CompileSchema(withoutRequired(t, root))
			if err != nil {
				t.Fatal(err)
			}
			fit, unfit := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				g := guided{t: rt, root: root, wrong: rapid.SampledFrom([]int{0, 0, 2, 10}).Draw(rt, "wrong")}
				doc, err := json.Marshal(g.value(root, 0))
				if err != nil {
					rt.Fatal(err)
				}
				faults, refusal := strict.Check(doc), c.decode(doc)
				if len(faults) == 0 {
					fit++
					if refusal != nil && !c.picky {
						rt.Fatalf("%s fits the schema and does not decode: %v", doc, refusal)
					}
				} else {
					unfit++
				}
				if loose := relaxed.Check(doc); c.exact && refusal == nil && len(loose) > 0 {
					rt.Fatalf("%s decodes and does not fit the schema: %v", doc, loose)
				}
			})
			if fit == 0 || unfit == 0 && c.name != "map[string]any" {
				t.Errorf("%d documents fitted and %d did not: the test compares nothing", fit, unfit)
			}
		})
	}
}

// withoutRequired is the schema with every field optional.
func withoutRequired(t *testing.T, root map[string]any) []byte {
	t.Helper()
	var strip func(v any) any
	strip = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for name, inner := range v {
				if _, isList := inner.([]any); name != "required" || !isList {
					out[name] = strip(inner)
				}
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i := range v {
				out[i] = strip(v[i])
			}
			return out
		}
		return v
	}
	text, err := json.Marshal(strip(root))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// guided makes values that a schema asks for, and now and then something else.
type guided struct {
	t     *rapid.T
	root  map[string]any
	wrong int // in a hundred, at each value
}

const deepest = 6

func (g *guided) odds(percent int, label string) bool {
	return rapid.IntRange(0, 99).Draw(g.t, label) < percent
}

func (g *guided) value(s any, depth int) any {
	sub, _ := s.(map[string]any)
	if ref, ok := sub["$ref"].(string); ok {
		target := any(g.root)
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#"), "/") {
			if part != "" {
				target = target.(map[string]any)[part]
			}
		}
		return g.value(target, depth)
	}
	if forms, ok := sub["anyOf"].([]any); ok {
		form := forms[rapid.IntRange(0, len(forms)-1).Draw(g.t, "form")]
		if depth > deepest {
			form = forms[len(forms)-1]
		}
		return g.value(form, depth)
	}
	if depth > 0 && g.odds(g.wrong, "wrong") || len(sub) == 0 {
		return g.anything(2)
	}
	var types []string
	switch t := sub["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		for _, v := range t {
			types = append(types, v.(string))
		}
	default:
		return g.anything(2)
	}
	if values, ok := sub["enum"].([]any); ok {
		return rapid.SampledFrom(values).Draw(g.t, "enum")
	}
	kind := rapid.SampledFrom(types).Draw(g.t, "type")
	if depth > deepest && slices.Contains(types, "null") {
		kind = "null"
	}
	switch kind {
	case "null":
		return nil
	case "boolean":
		return rapid.Bool().Draw(g.t, "bool")
	case "integer", "number":
		return g.number(sub, kind)
	case "string":
		return g.text(sub)
	case "array":
		n := rapid.IntRange(0, 3).Draw(g.t, "items")
		if low, ok := sub["minItems"].(float64); ok && !g.odds(g.wrong, "short") {
			n = max(n, int(low))
		}
		if high, ok := sub["maxItems"].(float64); ok && !g.odds(g.wrong, "long") {
			n = min(n, int(high))
		}
		list := make([]any, 0, n)
		for range n {
			list = append(list, g.value(sub["items"], depth+1))
		}
		return list
	}
	object := map[string]any{}
	props, _ := sub["properties"].(map[string]any)
	required, _ := sub["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		must := slices.Contains(required, any(name))
		if must && !g.odds(g.wrong, "leave out") || !must && depth < deepest && g.odds(50, "leave in") {
			object[name] = g.value(props[name], depth+1)
		}
	}
	if sub["additionalProperties"] != false || g.odds(g.wrong, "more") {
		for range rapid.IntRange(0, 1).Draw(g.t, "extra") {
			object[rapid.SampledFrom([]string{"other", "Text", "x", ""}).Draw(g.t, "name")] = g.value(sub["additionalProperties"], depth+1)
		}
	}
	return object
}

func (g *guided) number(sub map[string]any, kind string) any {
	if kind == "number" && g.odds(50, "fraction") {
		return json.Number(rapid.SampledFrom([]string{"0.5", "-1.25", "1e3", "1.0", "3.5e38", "-1e300", "1.4999"}).Draw(g.t, "fraction"))
	}
	n := rapid.OneOf(rapid.Int64Range(-3, 12), rapid.Int64Range(-70000, 70000), rapid.Int64Range(-1<<62, 1<<62)).Draw(g.t, "integer")
	if low, ok := sub["minimum"].(float64); ok && !g.odds(g.wrong, "low") {
		n = max(n, int64(min(low, 1<<62)))
	}
	if high, ok := sub["maximum"].(float64); ok && !g.odds(g.wrong, "high") {
		n = min(n, int64(min(high, 1<<62)))
	}
	if m, ok := sub["multipleOf"].(float64); ok {
		n -= n % int64(m)
	}
	if _, ok := sub["exclusiveMinimum"]; ok {
		n = 1
	}
	if g.odds(20, "spelling") && n > -1000 && n < 1000 {
		return json.Number(fmt.Sprintf("%d.0", n))
	}
	return json.Number(fmt.Sprint(n))
}

func (g *guided) text(sub map[string]any) any {
	pattern, _ := sub["pattern"].(string)
	switch {
	case sub["format"] == "date-time":
		return rapid.SampledFrom([]string{"2026-01-31T23:59:59Z", "2024-02-29T00:00:00.5+05:30", "2026-01-31", "2026-01-31 00:00:00Z"}).Draw(g.t, "time")
	case sub["contentEncoding"] == "base64":
		return rapid.SampledFrom([]string{"", "AA==", "AAA=", "AAAA", "A", "AAA", "AA=", "+/+/", "-_-_", "AAAAA", "AAAA=AAA"}).Draw(g.t, "base64")
	case strings.HasPrefix(pattern, "^[a-z]"):
		return rapid.StringMatching(`[a-z]{0,6}`).Draw(g.t, "word")
	}
	// What netip, big.Rat and regexp take as well; a schema knows of them that they are text.
	return rapid.SampledFrom([]string{"", "1"}).Draw(g.t, "text")
}

// anything is any JSON value.
func (g *guided) anything(depth int) any {
	switch n := rapid.IntRange(0, 8).Draw(g.t, "kind"); {
	case n == 0:
		return nil
	case n == 1:
		return rapid.Bool().Draw(g.t, "bool")
	case n == 2:
		return rapid.SampledFrom([]string{"", "a", "AA==", "2026-01-31T23:59:59Z", "true"}).Draw(g.t, "string")
	case n <= 4:
		return json.Number(rapid.SampledFrom([]string{"0", "-1", "1.5", "127", "128", "-129", "256", "1e2", "65536", "4294967296", "-0.0"}).Draw(g.t, "number"))
	case n == 5 && depth > 0:
		return []any{g.anything(depth - 1)}
	case n == 6 && depth > 0:
		return map[string]any{rapid.SampledFrom([]string{"X", "value", "text"}).Draw(g.t, "name"): g.anything(depth - 1)}
	}
	return json.Number("2")
}
