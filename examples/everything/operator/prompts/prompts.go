// Package prompts asks the operator to change which prompts there are.
package prompts

import (
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// Wish is the name of the artifact that an operator looks out for.
const Wish = "change-prompts"

// Run hands the wish over. No extension changes what is installed, so that is all that it can do.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	if _, err := report.Emit(ctx, Wish, "text/plain", []byte("Please change which prompts there are.")); err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("The operator knows."), nil
})
