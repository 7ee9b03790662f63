package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/schema"
)

// tool is a tree with one tool, whose file has the imports that the body uses.
func tool(body string) sources {
	text := "package tool\n\nimport (\n\t\"github.com/loomext/loomext/prelude/ext\"\n"
	for _, path := range []string{"encoding/json", "time", "math/big", "example.com/ext/lib"} {
		if name := path[strings.LastIndex(path, "/")+1:]; strings.Contains(body, name+".") {
			text += "\t\"" + path + "\"\n"
		}
	}
	return sources{"tool/tool.go": text + ")\n\n" + body + "\n"}
}

const typed = "var Run = ext.Typed(func(_ ext.Ctx, a args) (ext.Outcome, error) { return ext.Outcome{}, nil })\n"

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var v map[string]json.RawMessage
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	delete(v, "$schema")
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// However an entry says what it decodes into, it is found.
func TestTypeIsFoundFromRun(t *testing.T) {
	const want = `{"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}`
	const args = "type args struct { N int `json:\"n\"` }\n"
	lib := "package lib\n\nimport (\n\"encoding/json\"\n\"github.com/loomext/loomext/prelude/ext\"\n)\n\ntype Args struct { N int `json:\"n\"` }\n" +
		"func Answer(_ ext.Ctx, a Args) (ext.Outcome, error) { return ext.Outcome{}, nil }\n" +
		"func Tool() ext.Tool { return ext.Typed(Answer) }\n" +
		"func Raw(_ ext.Ctx, raw json.RawMessage) (ext.Outcome, error) { _, err := ext.DecodeArgs[Args](raw); return ext.Outcome{}, err }\n"
	for name, body := range map[string]string{
		"a literal":              args + typed,
		"a function":             args + "var Run = ext.Typed(answer)\nfunc answer(_ ext.Ctx, a args) (ext.Outcome, error) { return ext.Outcome{}, nil }",
		"a variable":             args + "var Run = ext.Typed(answer)\nvar answer = func(_ ext.Ctx, a args) (ext.Outcome, error) { return ext.Outcome{}, nil }",
		"a type argument":        args + "var Run = ext.Typed[args](nil)",
		"a conversion":           args + "var Run = ext.Tool(ext.Typed[args](nil))",
		"a declared type":        args + "var Run ext.Tool = (ext.Typed[args](nil))",
		"another variable":       args + "var Run = other\nvar other = ext.Typed[args](nil)",
		"a method":               args + "type s struct{}\nfunc (s) answer(_ ext.Ctx, a args) (ext.Outcome, error) { return ext.Outcome{}, nil }\nvar Run = ext.Typed(s{}.answer)",
		"a generic function":     args + "var Run = ext.Typed(answer[args])\nfunc answer[T any](_ ext.Ctx, a T) (ext.Outcome, error) { return ext.Outcome{}, nil }",
		"what a function gives":  args + "var Run = ext.Typed(answer())\nfunc answer() func(ext.Ctx, args) (ext.Outcome, error) { return nil }",
		"a decorated tool":       args + "var Run = logged(ext.Typed[args](nil))\nfunc logged(t ext.Tool) ext.Tool { return t }",
		"a function that makes":  args + "var Run = made()\nfunc made() ext.Tool { return ext.Typed[args](nil) }",
		"DecodeArgs":             args + "func Run(_ ext.Ctx, raw json.RawMessage) (ext.Outcome, error) { a, err := ext.DecodeArgs[args](raw); _ = a; return ext.Outcome{}, err }",
		"DecodeArgs twice":       args + "func Run(_ ext.Ctx, raw json.RawMessage) (ext.Outcome, error) { ext.DecodeArgs[args](raw); ext.DecodeArgs[args](raw); return ext.Outcome{}, nil }",
		"a type in the function": "func Run(_ ext.Ctx, raw json.RawMessage) (ext.Outcome, error) { type args struct { N int `json:\"n\"` }; _, err := ext.DecodeArgs[args](raw); return ext.Outcome{}, err }",
		"a literal type":         "var Run = ext.Typed(func(_ ext.Ctx, a struct { N int `json:\"n\"` }) (ext.Outcome, error) { return ext.Outcome{}, nil })",
		"a pointer":              args + "var Run = ext.Typed[*args](nil)",
		"an alias":               args + "type other = args\nvar Run = ext.Typed[other](nil)",
		"another package":        "var Run = ext.Typed(lib.Answer)",
		"another package's type": "var Run = ext.Typed[lib.Args](nil)",
		"another package's tool": "var Run = lib.Tool()",
		"another package's Run":  "var Run ext.Tool = lib.Raw",
	} {
		t.Run(name, func(t *testing.T) {
			files := tool(body)
			files["lib/lib.go"] = lib
			s, err := schema.Read(files, module).Of("tool")
			if err != nil {
				t.Fatal(err)
			}
			if got := compact(t, s.JSON()); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestUntoldTypesAreSaidToBe(t *testing.T) {
	const args = "type args struct { N int }\ntype more struct { M int }\n"
	for name, body := range map[string]string{
		"nothing decoded":     "func Run(_ ext.Ctx, raw json.RawMessage) (ext.Outcome, error) { return ext.Outcome{}, nil }",
		"two types":           args + "func Run(_ ext.Ctx, raw json.RawMessage) (ext.Outcome, error) { ext.DecodeArgs[args](raw); ext.DecodeArgs[more](raw); return ext.Outcome{}, nil }",
		"no Run":              args,
		"not a function":      "var Run = ext.Typed(answers[0])\nvar answers []func(ext.Ctx, int) (ext.Outcome, error)",
		"a type parameter":    args + "var Run = made[args]()\nfunc made[T any]() ext.Tool { return ext.Typed[T](nil) }",
		"variables in a ring": "var Run = a\nvar a = b\nvar b = a",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.Read(tool(body), module).Of("tool")
			if !errors.Is(err, schema.ErrUntold) {
				t.Errorf("the error is %v", err)
			}
			if d := schema.Read(tool(body), module).Disagreements("tool", []byte(`{"type":"object"}`)); len(d) > 0 {
				t.Errorf("it disagrees: %v", d)
			}
		})
	}
}

func TestFaultsHaveTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"an unknown keyword", "type args struct {\n\tN int `jsonschema:\"minimun=3\"`\n}\n", `tool/tool.go:8:8: jsonschema tag of N: there is no "minimun"`},
		{"a keyword in other letters", "type args struct {\n\tN int `jsonschema:\"min=3\"`\n}\n", `did you mean minimum?`},
		{"a keyword of another type", "type args struct {\n\tN int `jsonschema:\"minLength=3\"`\n}\n", `tool/tool.go:8:8: jsonschema tag of N: minLength is for string, and int is none`},
		{"a bound that is no number", "type args struct {\n\tN int `jsonschema:\"minimum=x\"`\n}\n", `"x" is no number`},
		{"a bound beyond the type", "type args struct {\n\tN uint8 `jsonschema:\"maximum=256\"`\n}\n", `maximum is 256, and uint8 has 255`},
		{"an enum of another type", "type args struct {\n\tN int `jsonschema:\"enum=1|two\"`\n}\n", `"two" is no integer`},
		{"a value twice", "type args struct {\n\tN int `jsonschema:\"enum=1|1\"`\n}\n", `1 is there twice`},
		{"a pattern that is none", "type args struct {\n\tS string `jsonschema:\"pattern=(\"`\n}\n", `is no regular expression`},
		{"a flag with a value", "type args struct {\n\tS []int `jsonschema:\"uniqueItems=true\"`\n}\n", `uniqueItems is said without a value`},
		{"a keyword without one", "type args struct {\n\tS string `jsonschema:\"pattern\"`\n}\n", `pattern wants a value`},
		{"items of no list", "type args struct {\n\tS string `jsonschema:\"items.minLength=1\"`\n}\n", `items. is for slices, arrays and maps`},
		{"a blank field's keyword", "type args struct {\n\t_ struct{} `jsonschema:\"enum=1\"`\n}\n", `jsonschema tag of _: there is no "enum"`},
		{"a channel", "type args struct {\n\tC chan int\n}\n", `tool/tool.go:8:4: the Go type chan int holds no JSON; give the field another type`},
		{"a function", "type args struct {\n\tC []func()\n}\n", `holds no JSON`},
		{"an interface", "type args struct {\n\tE error\n}\n", `the Go type error holds no JSON`},
		{"a complex number", "type args struct {\n\tC complex128\n}\n", `holds no JSON`},
		{"keys that are no strings", "type args struct {\n\tM map[int]string\n}\n", `has keys that are no strings`},
		{"the option string", "type args struct {\n\tN int `json:\"n,string\"`\n}\n", `tool/tool.go:8:8: the field N has the json option "string"`},
		{"an embedded pointer", "type args struct {\n\t*inner\n}\ntype inner struct{ N int }\n", `tool/tool.go:8:2: what inner holds is behind an embedded pointer`},
		{"a type that decodes itself", "type args struct {\n\tS []self\n}\ntype self struct{}\nfunc (*self) UnmarshalJSON([]byte) error { return nil }\n", `jsonschema:"items.type=string"`},
		{"a number of another kind", "type args struct {\n\tB big.Int\n}\n", `the type big.Int decodes itself`},
		{"an unknown standard type", "type args struct {\n\tB time.Location\n}\n", `no schema is known for time.Location`},
		{"an undeclared type", "type args struct {\n\tB nothing\n}\n", `there is no type nothing`},
		{"a length", "type args struct {\n\tB [1 << 3]int\n}\n", `the length of the array cannot be told here`},
		{"one name twice", "type args struct {\n\tA int `json:\"x\"`\n\tB int `json:\"x\"`\n}\n", "tool/tool.go:9:2: the fields A (tool/tool.go:8) and B both have the JSON name \"x\", so nothing is decoded into either; give each a name of its own"},
		{"one name three times", "type args struct {\n\tA, B int `json:\"x\"`\n\tC int `json:\"x\"`\n}\n", "tool/tool.go:9:2: the fields A (tool/tool.go:8) and C both have"},
		{"one name inside", "type args struct {\n\tL []place\n}\ntype place struct {\n\tA int `json:\"x\"`\n\tB int `json:\"x\"`\n}\n", "tool/tool.go:12:2: the fields A (tool/tool.go:11) and B both have"},
		{"one name in two that are embedded", "type args struct {\n\ta\n\tb\n}\ntype a struct { Name int }\ntype b struct { Name int }\n", "tool/tool.go:12:17: the fields Name (tool/tool.go:11) and Name both have the JSON name \"Name\""},
		{"a struct embedded twice", "type args struct {\n\ta\n\tb\n}\ntype a struct { inner }\ntype b struct { inner }\ntype inner struct { N int }\n", "tool/tool.go:13:21: the struct of the field N is embedded twice at one depth"},
		{"a tag without its end", "type args struct {\n\tN int `json:\"n`\n}\n", "tool/tool.go:8:8: the tag of N is not read from \"json:\\\"n\" on; write each part as key:\"value\""},
		{"a tag with a space", "type args struct {\n\tN int `json: \"n\"`\n}\n", "the tag of N is not read from"},
		{"a tag without quotes", "type args struct {\n\tN int `json:n`\n}\n", "the tag of N is not read from"},
		{"a tag with a comma between", "type args struct {\n\tN int `json:\"n\",jsonschema:\"minimum=1\"`\n}\n", "the tag of N has the key \",jsonschema\""},
		{"the second half of a tag", "type args struct {\n\tN int `json:\"n\" jsonschema:minimum=3`\n}\n", "is not read from \"jsonschema:minimum=3\" on"},
		{"a tag in other letters", "type args struct {\n\tN int `JSON:\"n\" json_schema:\"minimum=3\"`\n}\n", "the tag of N has the key \"json_schema\", which nothing reads; write jsonschema"},
		{"a tag twice", "type args struct {\n\tN int `json:\"n\" json:\"m\"`\n}\n", "the tag of N has json twice, and the first is read"},
		{"a name that is none", "type args struct {\n\tN int `json:\"'n'\"`\n}\n", "the tag of N gives it the JSON name \"'n'\", which encoding/json does not take, so that the name is N"},
		{"an unknown option", "type args struct {\n\tN int `json:\"n,omitemtpy\"`\n}\n", "the tag of N has the json option \"omitemtpy\", which is none; write omitempty"},
		{"a tag of a field that is embedded", "type args struct {\n\tinner `json\"x\"`\n}\ntype inner struct{ N int }\n", "the tag of inner is not read from"},
		{"a tag of a blank field", "type args struct {\n\t_ struct{} `jsonschema: \"additionalProperties=false\"`\n}\n", "the tag of _ is not read from"},
		{"no object", "type args []int\n", `arguments are an object, and args decodes from something else`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := schema.Read(tool(c.body+typed), module).Of("tool")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// Source that asks for more than it says ends soon, with a sentence.
func TestBombsEndWithASentence(t *testing.T) {
	double := func(kind string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "type t%d struct { "+kind+" }\n", i, i+1)
		}
		fmt.Fprintf(&b, "type t%d struct { N int }\n", n)
		return b.String()
	}
	bombs := map[string]string{
		"structs that double":     strings.ReplaceAll(double("A, B t%d", 40), "type t0 struct", "type args struct"),
		"embedded that double":    strings.ReplaceAll(strings.ReplaceAll(double("t%d; X struct{ t1 }", 40), "type t0 struct", "type args struct"), "t0", "args"),
		"generics that grow":      "type g[T any] struct { X *g[[]T] }\ntype args struct { G g[int] }\n",
		"generics that double":    "type g[T any] struct { X *g[map[string]T]; Y *g[[]T] }\ntype args struct { G g[int] }\n",
		"generics in generics":    "type g[T any] T\ntype args struct { X " + strings.Repeat("g[", 60) + "int" + strings.Repeat("]", 60) + " }\n",
		"generics through others": "type g[A, B any] struct { X h[A, h[B, A]] }\ntype h[A, B any] struct { Y *g[B, g[A, B]] }\ntype args struct { X g[int, string] }\n",
		"a type that is itself":   "type args args\n",
		"types in a ring":         "type args b\ntype b c\ntype c args\n",
		"slices in slices":        "type args struct { X " + strings.Repeat("[]", 20000) + "int }\n",
		"pointers to pointers":    "type args struct { X " + strings.Repeat("*", 10000) + "int }\n",
		"a length that grows":     "const a = 99999 * 99999 * 99999 * 99999\ntype args struct { X [a]int }\n",
		"constants in a ring":     "const a = b\nconst b = a\ntype args struct { X [a]int }\n",
		"a struct inside itself":  "type args struct { A args }\n",
		"embedded in itself":      "type args struct { *Args }\ntype Args struct { *Args; N int }\n",
	}
	var many strings.Builder
	many.WriteString("type args struct {\n")
	for i := range 3000 {
		fmt.Fprintf(&many, "F%d int\n", i)
	}
	bombs["many fields"] = many.String() + "}\n"
	for name, body := range bombs {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			s, err := schema.Read(tool(body+typed), module).Of("tool")
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			if err == nil {
				if _, err := manifest.CompileSchema(s.JSON()); err != nil {
					t.Error(err)
				}
			} else if !strings.Contains(err.Error(), "; ") {
				t.Errorf("no sentence: %v", err)
			}
			schema.Read(tool(body+typed), module).Disagreements("tool", []byte(`{"type":"object","properties":{"X":{"type":"integer"}}}`))
		})
	}
}

func TestDescriptionsAreComments(t *testing.T) {
	s, err := schema.Read(tool(`
// args is for whoever reads the source; a tool is described by its manifest.
type args struct {
	// City is where.
	// In any
	// spelling.
	//
	// Or a code.
	City string `+"`json:\"city\"`"+`
	Unit unit   `+"`json:\"unit\"`"+` // of the answer
	Near []unit `+"`json:\"near\"`"+`
	At   *unit  `+"`json:\"at\" jsonschema:\"description=Said here\\\\, not there.\"`"+`
}

// unit is a unit.
type unit struct{}
`+typed), module).Of("tool")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"properties":{"city":{"description":"City is where. In any spelling.\nOr a code.","type":"string"},` +
		`"unit":{"description":"of the answer","type":"object"},` +
		`"near":{"type":["array","null"],"items":{"description":"unit is a unit.","type":"object"}},` +
		`"at":{"description":"Said here, not there.","type":["object","null"]}},"required":["city","unit","near"],"type":"object"}`
	if got := compact(t, s.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Tags that encoding/json reads in its own way. The decoder has a test of the same.
func TestOddTags(t *testing.T) {
	s, err := schema.Read(tool("type args struct {\n\tA int `json:\"-,\"`\n\tC int `json:\"-\"`\n\tD, E int `json:\",omitempty\"`\n\tF int `json:\"f,\" yaml:\"x\"`\n\th int `json:x`\n}\n"+typed), module).Of("tool")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"properties":{"-":{"type":"integer"},"D":{"type":"integer"},"E":{"type":"integer"},"f":{"type":"integer"}},"required":["-","f"],"type":"object"}`
	if got := compact(t, s.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTheSameSourceGivesTheSameBytes(t *testing.T) {
	for _, c := range compiledTypes {
		first := string(derive(t, c.name).JSON())
		for range 5 {
			if again := string(derive(t, c.name).JSON()); again != first {
				t.Fatalf("%s: %s\nand %s", c.name, first, again)
			}
		}
		if d := derive(t, c.name).Differences([]byte(first)); len(d) > 0 {
			t.Errorf("%s differs from itself: %v", c.name, d)
		}
	}
}

// What is derived never disagrees with what it is derived from.
func TestDerivedSchemasAgree(t *testing.T) {
	text, err := os.ReadFile("types_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range compiledTypes {
		files := sources{
			"tool/types.go": string(text),
			"tool/run.go":   "package schema_test\n\nimport \"github.com/loomext/loomext/prelude/ext\"\n\nvar Run = ext.Typed[" + c.name + "](nil)\n",
		}
		if d := schema.Read(files, module).Disagreements("tool", derive(t, c.name).JSON()); len(d) > 0 {
			t.Errorf("%s: %v", c.name, d)
		}
	}
}

const forecast = `
type args struct {
	City string ` + "`json:\"city\"`" + `
	Days int    ` + "`json:\"days,omitempty\" jsonschema:\"maximum=7\"`" + `
	Size uint8  ` + "`json:\"size,omitempty\"`" + `
	At   *place ` + "`json:\"at\"`" + `
	Tags []string
}

type place struct {
	Lat float64 ` + "`json:\"lat\"`" + `
}
` + typed

func TestDifferencesNameEachPlace(t *testing.T) {
	s, err := schema.Read(tool(forecast), module).Of("tool")
	if err != nil {
		t.Fatal(err)
	}
	const file = `{"type": "object", "required": ["Tags", "place"], "properties": {
		"city": {"type": "string", "minLength": 1}, "days": {"maximum": 7.0, "type": ["integer"]},
		"size": {"type": "integer", "minimum": 0, "maximum": 9}, "a/b": true,
		"at": {"type": ["null", "object"], "properties": {"lat": {"type": "integer"}}, "required": ["lat"]},
		"Tags": {"type": ["array", "null"], "items": {"type": "string"}}}}`
	var got []string
	for _, d := range s.Differences([]byte(file)) {
		got = append(got, d.Error())
	}
	want := []string{
		`/$schema: the file does not have it; the type says "https://json-schema.org/draft/2020-12/schema"`,
		`/properties/at/properties/lat/type: the file says "integer", the type says "number"`,
		`/properties/a~1b: the type does not say it; the file has true`,
		`/properties/city/minLength: the type does not say it; the file has 1`,
		`/properties/size/maximum: the file says 9, the type says 255`,
		`/required: the file lacks "city", which the type says`,
		`/required: the file has "place", which the type does not say`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDisagreements(t *testing.T) {
	const fine = `"city":{"type":"string"},"days":{"type":"integer","maximum":7},"size":{"type":"integer","minimum":1,"maximum":9},` +
		`"at":{"type":"object","properties":{"lat":{"type":"number"}}},"Tags":{"type":"array","items":{"type":"string"}}`
	with := func(name, sub string) string {
		var props map[string]json.RawMessage
		if err := json.Unmarshal([]byte("{"+fine+"}"), &props); err != nil {
			t.Fatal(err)
		}
		delete(props, name)
		if sub != "" {
			props[name] = json.RawMessage(sub)
		}
		text, err := json.Marshal(map[string]any{"type": "object", "properties": props})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct{ name, file, want string }{
		{"all is well", with("x", `false`), ``},
		{"tighter by hand", with("city", `{"type":"string","minLength":2,"pattern":"^[A-Z]","description":"x"}`), ``},
		{"an enum of its type", with("city", `{"enum":["Bern","Oslo"]}`), ``},
		{"a form of its own", with("city", `{"anyOf":[{"const":"Bern"}]}`), ``},
		{"an integer for a number", with("at", `{"type":"object","properties":{"lat":{"type":"integer"}}}`), ``},
		{"a reference", with("city", `{"$ref":"#/properties/Tags/items"}`), ``},
		{"closed", `{"type":"object","additionalProperties":false,"required":["city"],"properties":{` + fine + `}}`, ``},
		{"another type", with("days", `{"type":"string","maximum":7}`), `/properties/days/type: the schema takes string, and int takes integer`},
		{"a number for an integer", with("days", `{"type":"number","maximum":7}`), `/properties/days/type: the schema takes number, and int takes integer`},
		{"null for what takes none", with("city", `{"type":["string","null"]}`), `/properties/city/type: the schema takes null, and string takes string`},
		{"an enum of another type", with("city", `{"enum":["Bern",3]}`), `/properties/city/type: the schema takes integer, and string takes string`},
		{"no type at all", with("city", `{"description":"where"}`), `/properties/city: the schema takes anything, and string takes string`},
		{"true", with("city", `true`), `/properties/city: the schema takes anything, and string takes string`},
		{"out of bounds below", with("size", `{"type":"integer","maximum":9}`), `/properties/size/minimum: the schema takes numbers below 0, and uint8 does not`},
		{"out of bounds above", with("size", `{"type":"integer","minimum":0,"maximum":256}`), `/properties/size/maximum: the schema takes numbers above 255, and uint8 does not`},
		{"what a tag says", with("days", `{"type":"integer","maximum":8}`), `/properties/days/maximum: the schema says 8, the jsonschema tag says 7`},
		{"what only a tag says", with("days", `{"type":"integer"}`), `/properties/days/maximum: the schema does not have it; the jsonschema tag says 7`},
		{"a field that is not told", with("days", ``), `/properties/days: the schema does not have it, and the Go type args has the field Days`},
		{"a field that is not there", with("town", `{"type":"string"}`), `/properties/town: the Go type args has no field of this name, so what is sent is ignored`},
		{"inside", with("at", `{"type":"object","properties":{"lat":{"type":"string"}}}`), `/properties/at/properties/lat/type: the schema takes string, and float64 takes number`},
		{"in items", with("Tags", `{"type":"array","items":{"type":"integer"}}`), `/properties/Tags/items/type: the schema takes integer, and string takes string`},
		{"behind a reference", with("city", `{"$ref":"#/properties/days"}`), `/properties/city/type: the schema takes integer, and string takes string`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := manifest.CompileSchema([]byte(c.file)); err != nil {
				t.Fatalf("the case is no schema: %v", err)
			}
			var got []string
			for _, d := range schema.Read(tool(forecast), module).Disagreements("tool", []byte(c.file)) {
				got = append(got, d.Error())
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
	t.Run("other letters", func(t *testing.T) {
		d := schema.Read(tool("type args struct { City string }\n"+typed), module).Disagreements("tool", []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`))
		if len(d) != 2 || !strings.Contains(fmt.Sprint(d), "it has City, and names match exactly") {
			t.Errorf("got %v", d)
		}
	})
	t.Run("a field that nothing decodes into", func(t *testing.T) {
		d := schema.Read(tool("type args struct { N int `json:\",string\"` }\n"+typed), module).Disagreements("tool", []byte(`{"type":"object","properties":{"N":{"type":"integer"}}}`))
		if len(d) != 1 || !strings.Contains(d[0].Error(), `tool/tool.go:7:26: the field N has the json option "string"`) {
			t.Errorf("got %v", d)
		}
	})
	t.Run("fields that nothing decodes into", func(t *testing.T) {
		d := schema.Read(tool("type args struct {\n\tA int `json:\"x\"`\n\tB int `json:\"x\"`\n}\n"+typed), module).Disagreements("tool", []byte(`{"type":"object"}`))
		if len(d) != 1 || !strings.Contains(d[0].Error(), `tool/tool.go:9:2: the fields A (tool/tool.go:8) and B both have the JSON name "x"`) {
			t.Errorf("got %v", d)
		}
	})
	t.Run("what the source does not tell", func(t *testing.T) {
		d := schema.Read(tool("type args struct { L time.Location; S self; N int `jsonschema:\"nonsense\"` }\ntype self struct{}\nfunc (*self) UnmarshalJSON([]byte) error { return nil }\n"+typed), module).
			Disagreements("tool", []byte(`{"type":"object","properties":{"L":{"type":"string"},"S":{"type":"array"},"N":{"type":"integer"}}}`))
		if len(d) != 0 {
			t.Errorf("got %v", d)
		}
	})
}

// Whatever the source says, there is a schema that a manifest takes, or an error, and no panic.
func FuzzOf(f *testing.F) {
	f.Add(forecast, `{"type":"object","properties":{"at":{"$ref":"#"}}}`)
	text, err := os.ReadFile("types_test.go")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range compiledTypes {
		f.Add(strings.TrimPrefix(string(text), "package schema_test\n")+"\nvar Run = ext.Typed["+c.name+"](nil)\n", `{"type":"object"}`)
	}
	f.Fuzz(func(t *testing.T, body, file string) {
		files := sources{"tool/tool.go": "package tool\n\nimport \"github.com/loomext/loomext/prelude/ext\"\n" + body}
		p := schema.Read(files, module)
		s, err := p.Of("tool")
		if err == nil {
			if _, err := manifest.CompileSchema(s.JSON()); err != nil {
				t.Fatal(err)
			}
			s.Differences([]byte(file))
		}
		p.Disagreements("tool", []byte(file))
	})
}
