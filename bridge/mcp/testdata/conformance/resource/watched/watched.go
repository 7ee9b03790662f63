// Package watched is a resource that a client may subscribe to.
package watched

import (
	"github.com/loomext/loomext/prelude/ext"
)

// Run gives the text.
var Run = ext.Typed(func(ext.Ctx, struct{}) (ext.Outcome, error) {
	return ext.Text("This is the content of the watched resource."), nil
})
