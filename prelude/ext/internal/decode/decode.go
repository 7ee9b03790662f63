// Package decode fills a Go value from a JSON document whose shape somebody else
// wrote: a model's arguments, an operator's configuration. It differs from
// encoding/json where the writer must be able to repair the document from the
// answer alone, and where a loss would be silent:
//
//   - Every field that does not fit is named, by path, not only the first.
//   - Names match exactly. encoding/json folds case.
//   - A Go integer takes what JSON Schema calls an integer: 1, 1.0, 1e3.
//   - null fits pointers, slices, maps, interfaces and types that decode it
//     themselves. For anything else it is a fault, not "leave it as it is".
//   - A member given twice, a Go array of another length, and a string that has
//     no text (half of a surrogate pair, invalid UTF-8) are faults.
//   - In an interface{} a number is a float64, but an integer literal that a
//     float64 cannot hold is a json.Number: no digit is lost.
//
// A member that no field wants is passed over; a missing one leaves the zero
// value. Both are the schema's business. Struct tags, embedding, base64 for
// []byte, json.RawMessage, json.Unmarshaler and encoding.TextUnmarshaler work as
// they do in encoding/json. The "string" option of a tag, and maps whose keys
// are neither strings nor text unmarshalers, are faults of the Go type, and
// their text says so.
//
// The walk is total: no document makes it panic, and it reads every byte a
// bounded number of times. What an Unmarshaler of the caller does is the
// caller's.
package decode

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

const (
	// MaxDepth is how deeply a document may nest in what is decoded. The walk
	// recurses, so this bounds its stack to about a megabyte; no argument a person
	// or a model writes comes near. A json.RawMessage is not walked.
	MaxDepth = 1000
	// MaxFaults is how many faults are told. A reader repairs a handful at a
	// time, and a document of a million wrong elements must not answer with as
	// many lines.
	MaxFaults = 16
)

// Fault is one place that does not fit.
type Fault struct {
	Path string // ".items[3].city"; empty is the document itself
	Msg  string // "expected integer, got string"
}

func (f Fault) String() string {
	if f.Path == "" {
		return f.Msg
	}
	return f.Path + ": " + f.Msg
}

// Faults is every place that does not fit, in the order of the document.
type Faults struct {
	Listed []Fault // at most MaxFaults
	More   int     // how many others there are
}

func (f *Faults) Error() string {
	var text strings.Builder
	for i, fault := range f.Listed {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(fault.String())
	}
	if f.More > 0 {
		fmt.Fprintf(&text, "; and %d more", f.More)
	}
	return text.String()
}

// Into fills the value that target, a pointer that is not nil, points to. The
// error is a *jsontext.SyntaxError or a *Faults; the value is then partly filled
// and not to be used.
func Into(document []byte, target any) error {
	if err := jsontext.Check(document); err != nil {
		return err
	}
	w := walk{data: document, at: jsontext.SkipSpace(document, 0)}
	w.value(reflect.ValueOf(target).Elem(), 0)
	if len(w.faults.Listed) > 0 {
		return &w.faults
	}
	return nil
}
