// Package record is a family of resources, one for every id.
package record

import (
	"github.com/loomext/loomext/prelude/ext"
)

// arguments is what stands in the place of the variables of the URI.
type arguments struct {
	// Which record.
	ID string `json:"id"`
}

// record is what is read.
type record struct {
	ID   string `json:"id"`
	Test bool   `json:"templateTest"`
	Data string `json:"data"`
}

// Run gives the record.
var Run = ext.Typed(func(_ ext.Ctx, a arguments) (ext.Outcome, error) {
	return ext.JSON(record{ID: a.ID, Test: true, Data: "Data for ID: " + a.ID})
})
