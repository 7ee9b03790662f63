// Package text answers while it is there.
package text

import "github.com/loomext/loomext/prelude/ext"

// Run answers the same text whatever it is asked.
var Run = ext.Typed(func(ext.Ctx, struct{}) (ext.Outcome, error) { return ext.Text("It is there."), nil })
