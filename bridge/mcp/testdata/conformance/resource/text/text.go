// Package text is a resource of text.
package text

import (
	"github.com/loomext/loomext/prelude/ext"
)

// Run gives the text.
var Run = ext.Typed(func(ext.Ctx, struct{}) (ext.Outcome, error) {
	return ext.Text("This is the content of the static text resource."), nil
})
