package install

import (
	"errors"
	"time"

	"github.com/loomext/loomext/source"
)

// Progress is one line of news from a running install: a layer that began, or one that is done.
type Progress struct {
	Layer Layer
	Text  string
	Done  bool
	Took  time.Duration // of a layer that is done
}

// steps makes the function that announces a layer and returns what announces its end. A nil
// receiver of the news is fine.
func steps(tell func(Progress)) func(Layer, string) func(string) {
	if tell == nil {
		tell = func(Progress) {}
	}
	return func(layer Layer, text string) func(string) {
		began := time.Now()
		tell(Progress{Layer: layer, Text: text})
		return func(result string) {
			tell(Progress{Layer: layer, Text: result, Done: true, Took: time.Since(began)})
		}
	}
}

// sourceLayer is the layer of an error from reading a source: there was nothing to read, or
// what was read is refused.
func sourceLayer(err error) Layer {
	var e *source.Error
	if errors.As(err, &e) && e.Layer == string(LayerExtract) {
		return LayerExtract
	}
	return LayerFetch
}
