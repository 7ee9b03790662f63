// Package binary is a resource of bytes.
package binary

import (
	"example.com/every/sample"

	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// Run emits the bytes. It says nothing beside them, so they are all that is read.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	picture, err := sample.Picture()
	if err != nil {
		return ext.Outcome{}, err
	}
	_, err = report.Emit(ctx, "pixel.png", sample.PNG, picture)
	return ext.Outcome{}, err
})
