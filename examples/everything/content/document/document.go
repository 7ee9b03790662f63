// Package document hands over a text file.
package document

import (
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// Run emits the file; a client gets it embedded, after a line that says what it is.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	if _, err := report.Emit(ctx, "note.txt", "text/plain", []byte("This is an embedded resource content.")); err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("A note:"), nil
})
