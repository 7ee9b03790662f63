// Package document is a prompt about a document, which it brings along.
package document

import (
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

// arguments are those of the prompt.
type arguments struct {
	// The URI of the document that the prompt is about.
	ResourceURI string `json:"resourceUri" jsonschema:"minLength=1"`
}

// Run emits the document; a client gets it embedded in a message of the prompt.
var Run = ext.Typed(func(ctx ext.Ctx, a arguments) (ext.Outcome, error) {
	if _, err := report.Emit(ctx, "document.txt", "text/plain", []byte("Embedded resource content for testing.")); err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("Please process the embedded resource, which stands for " + a.ResourceURI + "."), nil
})
