// Package audio hands over a sound.
package audio

import (
	"example.com/every/sample"

	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// Run emits the sound; a client gets it as audio content, after a line that says what it is.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	if _, err := report.Emit(ctx, "silence.wav", sample.WAV, sample.Sound()); err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("A hundredth of a second of silence:"), nil
})
