// Package image hands over a picture.
package image

import (
	"example.com/every/sample"

	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// Run emits the picture; a client gets it as image content, after a line that says what it is.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	picture, err := sample.Picture()
	if err != nil {
		return ext.Outcome{}, err
	}
	if _, err := report.Emit(ctx, "pixel.png", sample.PNG, picture); err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("A red pixel:"), nil
})
