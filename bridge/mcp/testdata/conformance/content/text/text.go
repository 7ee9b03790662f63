// Package text answers with one block of text.
package text

import (
	"github.com/loomext/loomext/prelude/ext"
)

// Run answers the same text whatever it is asked.
var Run = ext.Typed(func(ext.Ctx, struct{}) (ext.Outcome, error) {
	return ext.Text("This is a simple text response for testing."), nil
})
