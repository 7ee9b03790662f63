// Package plain is a prompt that takes nothing.
package plain

import (
	"github.com/loomext/loomext/prelude/ext"
)

// Run gives the text of the prompt.
var Run = ext.Typed(func(ext.Ctx, struct{}) (ext.Outcome, error) {
	return ext.Text("This is a simple prompt for testing."), nil
})
