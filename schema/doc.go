// Package schema derives the JSON Schema of a tool's arguments from the Go type that the tool decodes them into, and
// compares it with the schema that the manifest names.
//
// It reads source and nothing else: it runs no go command, compiles nothing, and finds the type by spelling, as a reader
// would. [Packages.Of] follows the entry's Run to ext.Typed or ext.DecodeArgs and from there through the packages of the
// tree. What it cannot follow it says it cannot ([ErrUntold]); it never guesses.
//
// # What a schema says
//
// What prelude/ext's DecodeArgs takes, in the one way a model should write it. A value that fits the schema decodes, but
// for what a schema cannot tell: an integer beyond 64 bits or a number beyond float64, a day that no month has, text that
// is not Unicode, and what a type that decodes itself refuses. Left out of the schema, though they decode: null for a
// time, an array of numbers or a line break for base64, and names that no field has, which are neither named nor refused.
//
//   - Fields have the names of their json tags, and the fields of embedded structs are theirs as in encoding/json. What it
//     passes over without a word, two fields of one name and a tag that does not read, is a fault.
//   - A field is required unless its tag says omitempty or omitzero, it is a pointer, or it is behind an embedded one.
//   - Pointers, slices and maps may be null.
//   - int8 to int32 and the unsigned types have their bounds; int and int64 have none.
//   - A type that refers to itself is in $defs; every other is written where it stands.
//   - Comments on fields, and on the named types of fields, are descriptions.
//   - jsonschema tags add keywords: see tags.go, which has the whole list.
//
// # Invariants
//
//   - The same source gives the same bytes.
//   - A derived schema passes [manifest.CompileSchema].
//   - Work is bounded whatever the source says; source that is too much is a fault.
//   - Every fault has the place in the author's file and what to do.
package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The bounds on one derivation. Each is beyond what a tool that a model can call has.
const (
	maxNodes   = 1_500   // subschemas; a manifest takes 2,000
	maxDepth   = 100     // types inside each other, names of names included
	maxFollow  = 200     // functions and variables between Run and ext.Typed
	maxFaults  = 50      // beyond it a person stops reading
	maxLevels  = 100     // structs embedded in each other
	maxSteps   = 100_000 // types looked at, one inside another again and again included
	maxRounded = 80      // bytes of a value in a message
)

// ErrUntold is wrapped by the error of a tool whose argument type the source does not tell.
var ErrUntold = errors.New("the type of the arguments cannot be told from the source")

// Fault is a place in the source that no schema can be derived from.
type Fault struct {
	Path      string // of the file in the tree
	Line, Col int
	What      string
	Fix       string
}

// Error is one line.
func (f Fault) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s; %s", f.Path, f.Line, f.Col, f.What, f.Fix)
}

// Faults are all faults of one tool, by place.
type Faults []Fault

// Error has one line for each fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

func (fs Faults) sorted() Faults {
	slices.SortFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.What, b.What))
	})
	fs = slices.Compact(fs)
	if len(fs) > maxFaults {
		fs = fs[:maxFaults]
	}
	return fs
}
