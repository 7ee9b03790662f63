package manifest

import (
	"encoding/json"
	"slices"
	"testing"
)

const argumentSchema = `{
	"type": "object",
	"required": ["city", "days"],
	"properties": {
		"days": {"type": "integer", "description": "How many."},
		"city": {"type": ["string", "null"]},
		"size": {"type": "number"},
		"deep": {"type": "boolean"},
		"unit": {"enum": ["c", "f", 1, "1", true, null]},
		"mode": {"type": "string", "enum": ["short", "long"]},
		"only": {"const": "x"},
		"list": {"type": "array"},
		"both": {"type": ["string", "integer"]},
		"free": true,
		"none": {"enum": [null]},
		"refs": {"$ref": "#/properties/days"}
	}
}`

func TestArguments(t *testing.T) {
	got := Arguments([]byte(argumentSchema))
	var names []string
	for _, a := range got {
		names = append(names, a.Name)
	}
	if want := []string{"days", "city", "size", "deep", "unit", "mode", "only"}; !slices.Equal(names, want) {
		t.Fatalf("%q, want %q: the schema's own order, without what is no text", names, want)
	}
	if a := got[0]; a.Description != "How many." || !a.Required || a.Enum != nil {
		t.Errorf("%+v", a)
	}
	if a := got[4]; a.Required || !slices.Equal(a.Enum, []string{"c", "f", "1", "true"}) {
		t.Errorf("%+v", a)
	}
}

func TestATextBecomesAnArgument(t *testing.T) {
	arguments := map[string]Argument{}
	for _, a := range Arguments([]byte(argumentSchema)) {
		arguments[a.Name] = a
	}
	for _, test := range []struct{ name, text, want string }{
		{"days", "7", `7`},
		{"days", "-1", `-1`},
		{"days", "seven", `"seven"`},
		{"days", " 7", `" 7"`},
		{"days", "7 ", `"7 "`},
		{"days", "07", `"07"`},
		{"days", "", `""`},
		{"days", "null", `"null"`},
		{"city", "7", `"7"`},
		{"city", "a \"b\"\n<", `"a \"b\"\n<"`},
		{"city", "\xff", `"\ufffd"`},
		{"size", "1.5e3", `1.5e3`},
		{"size", "1,5", `"1,5"`},
		{"deep", "true", `true`},
		{"deep", "yes", `"yes"`},
		{"unit", "c", `"c"`},
		{"unit", "1", `1`},
		{"unit", "true", `true`},
		{"unit", "null", `"null"`},
		{"mode", "short", `"short"`},
		{"mode", "other", `"other"`},
		{"only", "x", `"x"`},
	} {
		got := arguments[test.name].Value(test.text)
		if !json.Valid(got) || string(got) != test.want {
			t.Errorf("%s %q: %s, want %s", test.name, test.text, got, test.want)
		}
	}
}

// TestArgumentsOfNoSchema reads what no manifest would have passed, as a record
// that nobody checked may hold it.
func TestArgumentsOfNoSchema(t *testing.T) {
	for _, schema := range []string{``, `null`, `[]`, `{`, `{"properties":[1]}`, `{"properties":null}`, `{"properties":{"a":7}}`,
		`{"properties":{"a":{"enum":7}}}`, `{"required":[7],"properties":{"a":{"type":"string"}}}`} {
		if got := Arguments([]byte(schema)); len(got) > 0 {
			t.Errorf("%s: %+v", schema, got)
		}
	}
}
