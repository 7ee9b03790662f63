// Package catalog is the entry of the tool units: what convert knows.
package catalog

import (
	"slices"
	"strings"

	"github.com/loomext/loomext/prelude/ext"

	"example.com/units/measure"
)

// request is schema/units.json.
type request struct {
	Quantity measure.Quantity `json:"quantity"`
}

// Run lists units, one quantity a line group.
var Run = ext.Typed(func(_ ext.Ctx, r request) (ext.Outcome, error) {
	quantities := measure.Quantities()
	if r.Quantity != "" {
		if !slices.Contains(quantities, r.Quantity) {
			return ext.Outcome{}, ext.Refuse("there is no quantity %q; there are %s", r.Quantity, names(quantities))
		}
		quantities = []measure.Quantity{r.Quantity}
	}
	return ext.Text(listing(quantities)), nil
})

func listing(quantities []measure.Quantity) string {
	var out strings.Builder
	for _, quantity := range quantities {
		out.WriteString(string(quantity) + ":\n")
		for _, unit := range measure.Of(quantity) {
			out.WriteString("  " + unit.Symbol + " (" + unit.Name + ")\n")
		}
	}
	return out.String()
}

func names(quantities []measure.Quantity) string {
	words := make([]string, len(quantities))
	for i, quantity := range quantities {
		words[i] = string(quantity)
	}
	return strings.Join(words, ", ")
}
