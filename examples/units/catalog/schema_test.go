package catalog

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"example.com/units/measure"
)

func TestSchemaListsTheQuantitiesThereAre(t *testing.T) {
	raw, err := os.ReadFile("../schema/units.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Quantity struct {
				Enum []measure.Quantity `json:"enum"`
			} `json:"quantity"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	if got, want := schema.Properties.Quantity.Enum, measure.Quantities(); !slices.Equal(got, want) {
		t.Errorf("schema/units.json lists %q, and there are %q", got, want)
	}
}
