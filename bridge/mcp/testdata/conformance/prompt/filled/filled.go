// Package filled is a prompt with arguments.
package filled

import (
	"fmt"

	"github.com/loomext/loomext/prelude/ext"
)

// arguments are those of the prompt. A client offers the values of an enum while they are typed.
type arguments struct {
	// The first argument.
	Arg1 string `json:"arg1"`
	// The second argument.
	Arg2 string `json:"arg2"`
	// How it is said; plain where it is left out.
	Tone string `json:"tone,omitempty" jsonschema:"enum=plain|formal|playful"`
}

// Run fills the prompt in.
var Run = ext.Typed(func(_ ext.Ctx, a arguments) (ext.Outcome, error) {
	text := fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a.Arg1, a.Arg2)
	if a.Tone != "" {
		text += " in a " + a.Tone + " tone"
	}
	return ext.Text(text), nil
})
