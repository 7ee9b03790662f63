package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

var schemaTests = []struct {
	name, schema, args string
	want               []string // "pointer: message", in order
}{
	{"fits", `{"type":"object","properties":{"n":{"type":"integer"}}}`, `{"n":1.0}`, nil},
	{"integer written with an exponent", `{"properties":{"n":{"type":"integer"}}}`, `{"n":1e3}`, nil},
	{"numbers are exact", `{"properties":{"n":{"multipleOf":0.01}}}`, `{"n":4.35}`, nil},
	{"large numbers are exact", `{"properties":{"n":{"maximum":9223372036854775807}}}`, `{"n":9223372036854775808}`,
		[]string{"/n: 9223372036854775808 is more than the maximum 9223372036854775807"}},
	{"not JSON", `{}`, `{"a":}`, []string{"not JSON: line 1: invalid character '}' looking for beginning of value"}},
	{"nothing", `{}`, ``, []string{"not JSON: line 1: unexpected end of JSON input"}},
	{"two texts", `{}`, `{} {}`, []string{"not JSON: line 1: invalid character '{' after top-level value"}},
	{"a key twice", `{}`, `{"a":{"b":1,"b":1}}`, []string{"/a/b: this key stands there twice"}},
	{"not UTF-8", `{}`, "{\"a\":\"\xff\"}", []string{"line 1 is not UTF-8"}},
	{"too deep", `{}`, strings.Repeat("[", 65) + strings.Repeat("]", 65), []string{
		strings.Repeat("/0", 64) + ": values nest more than 64 deep"}},
	{"a number without end", `{"properties":{"n":{"type":"integer"}}}`, `{"n":1e999999999}`,
		[]string{`/n: the number "1e999999999" is too long or too large`}},
	{"all faults at once", `{"type":"object","properties":{"city":{"type":"string","minLength":2},
		"days":{"type":"integer","minimum":1,"maximum":7},"unit":{"enum":["celsius","kelvin"]}},
		"required":["city","days"],"additionalProperties":false}`,
		`{"cty":"x","unit":"celcius","days":9}`, []string{
			`the property "city" is missing`,
			`/cty: there is no such property; did you mean "city"?`,
			`/days: 9 is more than the maximum 7`,
			`/unit: expected one of "celsius", "kelvin", found "celcius"; did you mean "celsius"?`}},
	{"types", `{"properties":{"a":{"type":"string"},"b":{"type":["integer","null"]},"c":{"type":"object"},"d":{"type":"boolean"}}}`,
		`{"a":1,"b":1.5,"c":[],"d":null}`, []string{
			"/a: expected a string, found a number",
			"/b: expected null or an integer, found a number",
			"/c: expected an object, found an array",
			"/d: expected a boolean, found null"}},
	{"pointers are escaped", `{"properties":{"a/b~c":{"const":1}}}`, `{"a/b~c":2}`, []string{"/a~1b~0c: expected 1, found 2"}},
	{"lengths", `{"properties":{"s":{"minLength":2},"t":{"maxLength":1},"u":{"minItems":1},"v":{"maxItems":1},"w":{"minProperties":1},"x":{"maxProperties":0}}}`,
		`{"s":"é","t":"ab","u":[],"v":[1,2],"w":{},"x":{"a":1}}`, []string{
			"/s: has 1 character, needs at least 2",
			"/t: has 2 characters, may have at most 1",
			"/u: has 0 items, needs at least 1",
			"/v: has 2 items, may have at most 1",
			"/w: has 0 properties, needs at least 1",
			"/x: has 1 property, may have at most 0"}},
	{"numbers", `{"properties":{"a":{"minimum":1},"b":{"exclusiveMinimum":1},"c":{"exclusiveMaximum":1},"d":{"multipleOf":0.5}}}`,
		`{"a":0.5,"b":1,"c":1,"d":0.75}`, []string{
			"/a: 0.5 is less than the minimum 1",
			"/b: 1 is not more than 1",
			"/c: 1 is not less than 1",
			"/d: 0.75 is not a multiple of 0.5"}},
	{"long numbers", `{"properties":{"a":{"maximum":7},"b":{"minimum":-1e300},"c":{"maximum":7},"d":{"maximum":-1e-300},"e":{"maximum":7},"f":{"minimum":1}}}`,
		`{"a":1e300,"b":-12e299,"c":18446744073709551615,"d":12e-301,"e":1234567890123456789012345,"f":-123456789012345678901.5}`, []string{
			"/a: 1e+300 is more than the maximum 7",
			"/b: -1.2e+300 is less than the minimum -1e+300",
			"/c: 18446744073709551615 is more than the maximum 7",
			"/d: 1.2e-300 is more than the maximum -1e-300",
			"/e: about 1.234567890123456789e+24 is more than the maximum 7",
			"/f: -1.2345678901234568e+20 is less than the minimum 1"}},
	{"items", `{"properties":{"a":{"items":{"type":"string"},"uniqueItems":true},"b":{"contains":{"const":1}},"c":{"prefixItems":[{"const":1}],"items":false},
		"d":{"contains":{"const":1},"minContains":2},"e":{"contains":{"const":1},"maxContains":1}}}`,
		`{"a":["x","x",3],"b":[2],"c":[2,3],"d":[1],"e":[1,1]}`, []string{
			"/a: items 0 and 1 are equal",
			"/a/2: expected a string, found a number",
			"/b: no item has the required form",
			"/c/0: expected 1, found 2",
			"/c/1: nothing is allowed here",
			"/d: has 1 item of the required form, needs at least 2",
			"/e: has 2 items of the limited form, may have at most 1"}},
	{"patterns", `{"properties":{"a":{"pattern":"^[a-z]+$"}},"patternProperties":{"^x":{"type":"null"}}}`, `{"a":"A","x1":1}`, []string{
		`/a: "A" does not match the pattern "^[a-z]+$"`, "/x1: expected null, found a number"}},
	{"alternatives", `{"properties":{"v":{"anyOf":[{"type":"string"},{"type":"object","required":["x"],"properties":{"x":{"type":"integer"}}}]}}}`,
		`{"v":{"x":"s"}}`, []string{"/v: fits none of the allowed forms: expected a string, found an object; or /x: expected an integer, found a string"}},
	{"one of two", `{"properties":{"v":{"oneOf":[{"minimum":1},{"maximum":3}]},"w":{"oneOf":[{"minimum":5},{"maximum":3}]}}}`, `{"v":2,"w":4}`, []string{
		"/v: fits more than one of the forms that exclude each other",
		"/w: fits none of the allowed forms: 4 is less than the minimum 5; or 4 is more than the maximum 3"}},
	{"not, if and then", `{"not":{"required":["a"]},"if":{"required":["b"]},"then":{"required":["c"]},"else":{"required":["d"]}}`, `{"a":1,"b":1}`, []string{
		"has a form that is not allowed", `the property "c" is missing`}},
	{"dependent", `{"dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{"required":["c"]}}}`, `{"a":1}`, []string{
		`the property "b" is missing; it goes with "a"`, `the property "c" is missing`}},
	{"property names", `{"additionalProperties":{"propertyNames":{"maxLength":1}}}`, `{"a":{"bc":1},"b":{"c":1},"d":{},"e":{"ef":1}}`, []string{
		`/a: the property name "bc" is not allowed: has 2 characters, may have at most 1`,
		`/e: the property name "ef" is not allowed: has 2 characters, may have at most 1`}},
	{"unevaluated", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, []string{"/b: nothing is allowed here"}},
	{"references", `{"properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#s"},"c":{"$ref":"#/$defs/any"},"d":{"$ref":"#/$defs/x%20y~1z"}},
		"$defs":{"n":{"type":"number"},"t":{"$anchor":"s","type":"string"},"any":true,"x y/z":{"const":0}}}`, `{"a":"","b":1,"c":1,"d":1}`, []string{
		"/a: expected a number, found a string", "/b: expected a string, found a number", "/d: expected 0, found 1"}},
	{"a recursive tree", `{"$defs":{"tree":{"type":"object","properties":{"value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}},"$ref":"#/$defs/tree"}`,
		`{"value":1,"children":[{"value":2},{"children":[{"value":"x"}]}]}`, []string{"/children/1/children/0/value: expected an integer, found a string"}},
	{"the root refers to itself from inside", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":1}}`, []string{"/a/a: expected an object, found a number"}},
	{"a format is a note", `{"properties":{"a":{"format":"email"},"b":{"format":"loomext-toll-0"}}}`, `{"a":"no","b":"no"}`, nil},
	{"an identifier of the root", `{"$schema":"https://json-schema.org/draft/2020-12/schema#","$id":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/a","$defs":{"a":{"required":["x"]}}}`,
		`{}`, []string{`the property "x" is missing`}},
}

func texts(faults []SchemaFault) []string {
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.Error())
	}
	return lines
}

func TestCheck(t *testing.T) {
	for _, test := range schemaTests {
		t.Run(test.name, func(t *testing.T) {
			s, err := CompileSchema([]byte(test.schema))
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(s.Check([]byte(test.args))); !slices.Equal(got, test.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

var refusedSchemas = []struct{ name, schema, says string }{
	{"a boolean", `true`, "a tool's schema is an object"},
	{"not JSON", `{"type":`, "not JSON: line 1"},
	{"a key twice", `{"type":"object","properties":{"a":{},"a":{}}}`, "/properties/a: this key stands there twice"},
	{"too large", `{"description":"` + strings.Repeat("x", MaxSchema) + `"}`, "the bound is 32768"},
	{"too deep", strings.Repeat(`{"not":`, 70) + "{}" + strings.Repeat("}", 70), "values nest more than 64 deep"},
	{"an older dialect", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, "/$schema: tools are written in"},
	{"a dialect that is no text", `{"$schema":7}`, "/$schema: tools are written in"},
	{"arguments that are no object", `{"type":"array"}`, "/type: arguments are an object"},
	{"a type that is none", `{"properties":{"a":{"type":"strnig"}}}`, `did you mean "string"?`},
	{"items of an older dialect", `{"properties":{"a":{"items":[{}]}}}`, "/properties/a/items: expected a boolean or an object, found an array"},
	{"a title that is no text", `{"title":5}`, "/title: expected a string"},
	{"a misspelt keyword", `{"properties":{"a":{"minLenght":2}}}`, `/properties/a/minLenght: there is no keyword "minLenght"; did you mean "minLength"?`},
	{"a keyword in other letters", `{"required":["a"],"Properties":{}}`, `did you mean "properties"?`},
	{"a keyword of another dialect", `{"properties":{"a":{"nullable":true}}}`, `"nullable" has no place`},
	{"a required property that is not allowed", `{"properties":{"city":{}},"required":["city","ctiy"],"additionalProperties":false}`, `/required/1: "ctiy" is required, but no such property is allowed; did you mean "city"?`},
	{"dependencies", `{"dependencies":{"a":["b"]}}`, `"dependencies" has no place`},
	{"a reference to the network", `{"$ref":"https://a.example/s.json"}`, "outside of this file"},
	{"a reference to the metaschema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "outside of this file"},
	{"a reference to a file", `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "outside of this file"},
	{"a reference to a neighbor", `{"properties":{"a":{"$ref":"other.json#/a"}}}`, "outside of this file"},
	{"a reference to nothing", `{"$ref":"#/$defs/a"}`, "names no subschema"},
	{"a reference to no schema", `{"$ref":"#/properties","properties":{}}`, "names no subschema"},
	{"a reference to an example", `{"$ref":"#/examples/0","examples":[{}]}`, "names no subschema"},
	{"a reference to no anchor", `{"$ref":"#a"}`, "names no subschema"},
	{"a malformed reference", `{"$ref":"#/%zz"}`, "not a URI reference"},
	{"a reference into property names", `{"propertyNames":{"maxLength":1},"properties":{"a":{"$ref":"#/propertyNames"}}}`, "leads into a propertyNames"},
	{"a dynamic reference", `{"$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a"}}}`, `"$dynamicRef" has no place`},
	{"a nested identifier", `{"$defs":{"a":{"$id":"https://a.example/"}}}`, "$id stands only at the root"},
	{"a nested dialect", `{"$defs":{"a":{"$schema":"https://a.example/"}}}`, "$schema stands only at the root"},
	{"an anchor twice", `{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, "name each once"},
	{"a loop of one", `{"$ref":"#"}`, "leads back to itself"},
	{"a loop of one, by anchor", `{"$anchor":"a","$ref":"#a"}`, "leads back to itself"},
	{"a loop of three", `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"if":{"not":{"$ref":"#/$defs/a"}}}}}`, "leads back to itself"},
	{"a loop that nothing enters", `{"$defs":{"a":{"$ref":"#/$defs/a"}}}`, "leads back to itself"},
	{"a chain without end", chainOf(40, 1), "more than 32 schemas apply"},
	{"too many subschemas", `{"anyOf":[` + strings.Repeat(`{},`, maxSubschemas) + `{}]}`, "more than 2000 subschemas"},
	{"look-ahead", `{"properties":{"a":{"pattern":"^(?=x)"}}}`, "/properties/a/pattern:"},
	{"a back-reference", `{"patternProperties":{"(a)\\1":{}}}`, `/patternProperties/(a)\1: "(a)\\1" is not a regular expression`},
	{"an expression without end", `{"properties":{"a":{"pattern":"((a?){100}){30}"}}}`, "is not a regular expression"},
	{"a large expression", `{"properties":{"a":{"pattern":"(a?b?c?){1000}"}}}`, "too large"},
	{"a length beyond reason", `{"properties":{"a":{"maxLength":1e300}}}`, "/properties/a/maxLength: the number is out of range"},
	{"a number beyond reason", `{"properties":{"a":{"maximum":1e999999999}}}`, "too long or too large"},
}

// chainOf is n definitions, each applying the next width times to the same value.
func chainOf(n, width int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		part := fmt.Sprintf(`{"$ref":"#/$defs/d%d"},`, i+1)
		fmt.Fprintf(&b, `"d%d":{"allOf":[%s]},`, i, strings.TrimSuffix(strings.Repeat(part, width), ","))
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
	return b.String()
}

func TestCompileSchemaRefuses(t *testing.T) {
	for _, test := range refusedSchemas {
		t.Run(test.name, func(t *testing.T) {
			_, err := CompileSchema([]byte(test.schema))
			if err == nil {
				t.Fatal("it was taken")
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want it to say %q", err, test.says)
			}
		})
	}
}

func TestCompileSchemaReportsAllFaults(t *testing.T) {
	_, err := CompileSchema([]byte(`{"type":"string","nullable":true,"properties":{"a":{"patern":"x","$ref":"a.json"},"b":{"pattern":"("}}}`))
	faults, _ := err.(SchemaFaults)
	var at []string
	for _, f := range faults {
		at = append(at, f.Pointer)
	}
	want := []string{"/nullable", "/properties/a/$ref", "/properties/a/patern", "/properties/b/pattern", "/type"}
	if !slices.Equal(at, want) {
		t.Errorf("got %v, want %v", at, want)
	}
}

// bombs ask for more work than there is time. The last word of each argument is
// reached only by one who does all of it.
var bombs = []struct{ name, schema, args string }{
	{"two ways down", `{"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}],"type":"object"}`, nested(60, `"a"`)},
	{"all ways down", `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, nested(60, `"a"`)},
	{"two ways down that only ask yes or no", `{"not":{"$ref":"#/$defs/x"},"$defs":{"x":{"type":"object","dependentSchemas":{
		"a":{"properties":{"a":{"$ref":"#/$defs/x"}}},"b":{"properties":{"a":{"$ref":"#/$defs/x"}}}}}}}`, nested(40, `"b":1,"a"`)},
	{"many patterns down", `{"not":{"type":"string"},"patternProperties":{"a":{"$ref":"#"},"a*":{"$ref":"#"},"a+":{"$ref":"#"}},"type":"object"}`, nested(60, `"a"`)},
	{"doubling in place", chainOf(31, 2), `{}`},
	{"a wide chain", chainOf(8, 20), `{}`},
	{"a slow pattern", `{"properties":{"s":{"pattern":"(a?b?c?d?){400}e"}}}`, `{"s":"` + strings.Repeat("abcd", 100_000) + `"}`},
	{"colliding items", `{"properties":{"s":{"uniqueItems":true}}}`, `{"s":[` + strings.Repeat(`[[],[]],[[[]]],`, 5_000) + `0]}`},
}

func nested(n int, key string) string {
	return strings.Repeat("{"+key+":", n) + "1" + strings.Repeat("}", n)
}

func TestBombsAreRefused(t *testing.T) {
	for _, bomb := range bombs {
		t.Run(bomb.name, func(t *testing.T) {
			s, err := CompileSchema([]byte(bomb.schema))
			if err != nil {
				t.Logf("refused when compiled: %v", err)
				return
			}
			s.meter.most = maxWork / 20 // the rest is more of the same
			faults := s.Check([]byte(bomb.args))
			if len(faults) != 1 || faults[0].Msg != errSpent.Error() {
				t.Errorf("got %v", faults)
			}
			if len(s.Check([]byte(`{"c":1}`))) > 0 && bomb.name == "all ways down" {
				t.Error("the schema is of no use afterwards")
			}
		})
	}
}

// TestHonestWork checks that a call as large as calls get is far from the bound.
func TestHonestWork(t *testing.T) {
	schema := `{"type":"object","required":["files"],"additionalProperties":false,"properties":{"files":{"type":"array","items":{
		"type":"object","required":["path","text","mode"],"additionalProperties":false,"properties":{
		"path":{"type":"string","pattern":"^[a-z0-9/._-]+$","maxLength":200},"text":{"type":"string"},
		"mode":{"enum":["create","replace","append","delete"]},"lines":{"type":"array","items":{"type":"integer","minimum":1}}}}}}}`
	type file struct {
		Path  string `json:"path"`
		Text  string `json:"text"`
		Mode  string `json:"mode"`
		Lines []int  `json:"lines"`
	}
	var args struct {
		Files []file `json:"files"`
	}
	for i := range 2_000 {
		args.Files = append(args.Files, file{fmt.Sprintf("src/package/file_%d.go", i), strings.Repeat("text ", 300), "replace", []int{1, 2, 3, 4, 5, 6, 7, 8}})
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	s, err := CompileSchema([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	if faults := s.Check(raw); len(faults) > 0 {
		t.Fatal(faults)
	}
	if spent := maxWork - s.meter.left; spent > maxWork/2 {
		t.Errorf("%d bytes of arguments cost %d of %d", len(raw), spent, maxWork)
	}
}

func TestCheckFromManyGoroutines(t *testing.T) {
	s, err := CompileSchema([]byte(`{"properties":{"a":{"type":"string","pattern":"^x*$"}},"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				faults := s.Check([]byte(`{"a":"xxxx","b":1}`))
				if len(faults) != 1 || faults[0].Pointer != "/b" {
					t.Errorf("%d: %v", i, faults)
				}
			}
		})
	}
	wg.Wait()
}

func TestManyFaultsAreCut(t *testing.T) {
	s, err := CompileSchema([]byte(`{"additionalProperties":{"type":"string"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&b, `,"k%04d":1`, i)
	}
	faults := s.Check([]byte("{" + b.String()[1:] + "}"))
	if len(faults) != maxArgumentFaults || faults[len(faults)-1].Msg != "and 951 more" {
		t.Errorf("%d faults, the last is %v", len(faults), faults[len(faults)-1])
	}
}

func BenchmarkCheck(b *testing.B) {
	s, err := CompileSchema([]byte(schemaTests[11].schema))
	if err != nil {
		b.Fatal(err)
	}
	args := []byte(`{"city":"Lisbon","days":3,"unit":"kelvin"}`)
	b.ReportAllocs()
	for b.Loop() {
		if faults := s.Check(args); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}
