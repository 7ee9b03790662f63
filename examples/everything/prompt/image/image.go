// Package image is a prompt about a picture, which it brings along.
package image

import (
	"example.com/every/sample"

	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// Run emits the picture; a client gets it in a message of the prompt.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	picture, err := sample.Picture()
	if err != nil {
		return ext.Outcome{}, err
	}
	if _, err := report.Emit(ctx, "pixel.png", sample.PNG, picture); err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("Please analyze the image."), nil
})
