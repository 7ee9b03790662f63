package manifest_test

import (
	"fmt"

	"github.com/loomext/loomext/manifest"
)

// files is a tree with one package and one schema.
type files struct{}

func (files) Packages() []string { return []string{"tool"} }

func (files) File(path string) ([]byte, bool) {
	if path != "schema/forecast.json" {
		return nil, false
	}
	return []byte(`{
		"type": "object",
		"properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}},
		"required": ["city"],
		"additionalProperties": false
	}`), true
}

func ExampleDecode() {
	m, err := manifest.Decode([]byte(`
[extension]
name        = "weather"
description = "Tells the weather."

[[tool]]
name           = "forecast"
description    = "The forecast for a city."
prompt_snippet = "forecast: the weather of the days to come"
parameters     = "schema/forecast.json"
entry          = "tool"
`), files{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Name(), m.Version(), m.Tools()[0].TimeoutMS)

	schema, _ := m.Schema("forecast")
	for _, fault := range schema.Check([]byte(`{"days": 9, "town": "Oslo"}`)) {
		fmt.Println(fault)
	}
	// Output:
	// weather 0.0.0 30000
	// the property "city" is missing
	// /days: 9 is more than the maximum 7
	// /town: there is no such property
}

func ExampleDecode_faults() {
	_, err := manifest.Decode([]byte(`
[extension]
name        = "weather"
description = "Tells the weather."
request     = ["net"]

[[tool]]
name           = "forecast"
description    = "The forecast for a city."
prompt_snippet = "forecast: the weather of the days to come"
parameters     = "schema/forecast.json"
entry          = "tools"
`), files{})
	fmt.Println(err)
	// Output:
	// manifest: extension.toml:5: [extension] request: unknown key; did you mean "requests"?
	// manifest: extension.toml:12: [tool] entry: there is no Go package in "tools"; did you mean "tool"?
}
