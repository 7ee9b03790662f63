package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// glanceSchemas are of the plain kind, every keyword that a glance knows among them.
var glanceSchemas = []string{
	`{"type":"object"}`,
	`true`,
	`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","minimum":-3,"maximum":40},"c":{"type":["boolean","null"]}},"required":["a"]}`,
	`{"type":"object","properties":{"a":{"enum":["x","y z"]},"b":{"type":"array","items":{"type":"number"}}},"additionalProperties":false}`,
	`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer"}},"required":["b","z"]}},"additionalProperties":{"type":"string"}}`,
	`{"title":"t","description":"d","$comment":"c","default":{},"examples":[{}],"$schema":"https://json-schema.org/draft/2020-12/schema","deprecated":true,"readOnly":true,"writeOnly":false,"properties":{"a":true,"z":{"maximum":7}},"required":["c"]}`,
	`{"properties":{"a":{"minimum":0},"b":{"type":"number","maximum":10}}}`,
}

// otherSchemas say what no glance may pass over.
var otherSchemas = []string{
	`{"properties":{"a":{"type":"string","format":"date"}}}`,
	`{"properties":{"a":false}}`,
	`{"properties":{"a":{"type":"string","minLength":2}}}`,
	`{"properties":{"a":{"const":1}}}`,
	`{"properties":{"a":{"enum":[1,"x"]}}}`,
	`{"properties":{"a":{"minimum":0.5}}}`,
	`{"properties":{"a":{"minimum":1e16}}}`,
	`{"properties":{"a":{"exclusiveMinimum":0}}}`,
	`{"properties":{"a":{"pattern":"x"}}}`,
	`{"patternProperties":{"a":{"type":"string"}}}`,
	`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
	`{"not":{"required":["a"]}}`,
	`{"$ref":"#/$defs/x","$defs":{"x":{"required":["a"]}}}`,
	`{"minProperties":1}`, `{"unevaluatedProperties":false}`, `{"dependentRequired":{"a":["b"]}}`,
	`{"properties":{"a":{"type":"array","uniqueItems":true}}}`, `{"properties":{"a":{"prefixItems":[{"type":"string"}]}}}`,
	`{"properties":{"a":{"multipleOf":2}}}`, `{"properties":{"a":{"type":"array","contains":{"type":"string"}}}}`,
	`{"propertyNames":{"maxLength":1}}`, `{"if":{"required":["a"]},"then":{"required":["b"]}}`,
}

func compiledForGlance(t testing.TB, text string) *Schema {
	t.Helper()
	if text == "true" {
		text = `{}`
	}
	s, err := CompileSchema([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func TestAGlanceKnowsPlainSchemasAndNoOthers(t *testing.T) {
	for _, text := range glanceSchemas {
		if compiledForGlance(t, text).glance == nil {
			t.Errorf("%s is not known", text)
		}
	}
	for _, text := range otherSchemas {
		if compiledForGlance(t, text).glance != nil {
			t.Errorf("%s is taken for one that a glance can judge", text)
		}
	}
	many := map[string]any{}
	for i := range glanceMembers + 1 {
		many[fmt.Sprint("m", i)] = map[string]any{"type": "string"}
	}
	if newGlance(map[string]any{"properties": many}) != nil {
		t.Error("more members than bits")
	}
}

// agree fails where a glance says yes and the whole check does not.
func agree(t rapid.TB, s *Schema, schema string, args []byte) (yes bool) {
	if !s.glance.fits(args) {
		return false
	}
	whole := &Schema{root: s.root, meter: s.meter, shape: s.shape}
	if faults := whole.Check(args); len(faults) > 0 || !json.Valid(args) {
		t.Fatalf("%s with %.200q: a glance says yes, the check %v", schema, args, faults)
	}
	return true
}

func TestAGlanceThatSaysYesIsACheckThatFindsNothing(t *testing.T) {
	var all []*Schema
	for _, text := range glanceSchemas {
		all = append(all, compiledForGlance(t, text))
	}
	yes := make([]int, len(all))
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(glanceObject(3).Draw(t, "text"))
		if rapid.IntRange(0, 3).Draw(t, "broken") == 0 {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		for i, s := range all {
			if agree(t, s, glanceSchemas[i], text) {
				yes[i]++
			}
		}
	})
	for i, n := range yes {
		if n == 0 {
			t.Errorf("%s: it never says yes", glanceSchemas[i])
		}
	}
}

func TestAGlanceKeepsTheBoundsOfArguments(t *testing.T) {
	s := compiledForGlance(t, `{"type":"object"}`)
	nested := func(depth int) string {
		return `{"a":` + strings.Repeat("[", depth-1) + "1" + strings.Repeat("]", depth-1) + `}`
	}
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"m%d":0`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for _, c := range []struct {
		name, args string
		fits       bool
	}{
		{"as deep as may be", nested(maxArgumentDepth), true},
		{"deeper", nested(maxArgumentDepth + 1), false},
		{"as many members as are told apart", members(glanceMembers), true},
		{"more", members(glanceMembers + 1), false},
		{"as many values as may be", `{"a":[` + strings.Repeat("0,", maxArgumentValues-3) + `0]}`, true},
		{"more", `{"a":[` + strings.Repeat("0,", maxArgumentValues-2) + `0]}`, false},
		{"as long as may be", `{"a":"` + strings.Repeat("x", MaxArguments-8) + `"}`, true},
		{"longer", `{"a":"` + strings.Repeat("x", MaxArguments-7) + `"}`, false},
		{"a name twice", `{"a":1,"a":1}`, false},
		{"a name twice, once by an escape", `{"a":1,"\u0061":1}`, false},
		{"no UTF-8", "{\"a\":\"\xff\"}", false},
		{"two values", `{} {}`, false},
		{"a NUL after it", "{}\x00", false},
		{"nothing", ``, false},
		{"space around", " \t\r\n{ } \n", true},
	} {
		if got := s.glance.fits([]byte(c.args)); got != c.fits {
			t.Errorf("%s: %t", c.name, got)
		}
		agree(t, s, "object", []byte(c.args))
	}
}

func FuzzGlance(f *testing.F) {
	for _, schema := range append(glanceSchemas, otherSchemas...) {
		f.Add([]byte(schema), []byte(`{"a":"x","b":[1,-2.5],"c":null}`))
	}
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		s, err := CompileSchema(schema)
		if err != nil || s.glance == nil {
			return
		}
		// What the whole check gives up on for its cost, a glance may well have time for.
		if faults := (&Schema{root: s.root, meter: s.meter, shape: s.shape}).Check(args); len(faults) > 0 && faults[0].Msg == errSpent.Error() {
			return
		}
		agree(t, s, string(schema), args)
	})
}

func glanceObject(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		b.WriteByte('{')
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{`"a"`, `"b"`, `"c"`, `"z"`, `"\u0061"`}), 0, 4, rapid.ID).Draw(t, "names")
		for i, name := range names {
			if i > 0 {
				b.WriteString(" ,")
			}
			b.WriteString(name + ":" + glanceValue(depth-1).Draw(t, "value"))
		}
		b.WriteByte('}')
		return b.String()
	})
}

func glanceValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := 6
		if depth > 0 {
			kinds = 8
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return "null"
		case 1:
			return rapid.SampledFrom([]string{"true", "false", "tru", "nul"}).Draw(t, "literal")
		case 2:
			return fmt.Sprint(rapid.IntRange(-50, 50).Draw(t, "int"))
		case 3:
			return rapid.SampledFrom([]string{"1.0", "1.5", "-0", "-0.5", "1e3", "01", "1.", "-", "12345678901234567890", "999999999999999", "0.1E-2", ".5"}).Draw(t, "number")
		case 4:
			return rapid.SampledFrom([]string{`"x"`, `"y z"`, `"\u0078"`, `"\ud800"`, `"\q"`, "\"a\nb\"", `"ä\"\\\n long enough to need words"`, `"`}).Draw(t, "string")
		case 5, 6:
			text, _ := json.Marshal(rapid.String().Draw(t, "text"))
			return string(text)
		case 7:
			items := rapid.SliceOfN(glanceValue(depth-1), 0, 3).Draw(t, "items")
			return "[" + strings.Join(items, ", ") + "]"
		}
		return glanceObject(depth).Draw(t, "object")
	})
}
