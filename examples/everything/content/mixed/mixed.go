// Package mixed answers with text, a picture and a document at once.
package mixed

import (
	"example.com/every/sample"

	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// Run emits a picture and a document beside its text.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	picture, err := sample.Picture()
	if err != nil {
		return ext.Outcome{}, err
	}
	if _, err := report.Emit(ctx, "pixel.png", sample.PNG, picture); err != nil {
		return ext.Outcome{}, err
	}
	if _, err := report.Emit(ctx, "data.json", "application/json", []byte(`{"test":"data","value":123}`)); err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("Multiple content types test:"), nil
})
