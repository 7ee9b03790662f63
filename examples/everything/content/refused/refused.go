// Package refused refuses.
package refused

import (
	"github.com/loomext/loomext/prelude/ext"
)

// Run refuses every call, in words that a model could act on if there were anything to do.
var Run = ext.Typed(func(ext.Ctx, struct{}) (ext.Outcome, error) {
	return ext.Outcome{}, ext.Refuse("This tool intentionally returns an error for testing")
})
