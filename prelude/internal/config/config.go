// Package config holds the one configuration document of a running satellite.
// prelude/ext/runtime sets it from the declaration the build rendered;
// prelude/ext reads it. Extension code cannot import it, so it can neither set
// nor replace what the operator approved. prelude/cap/captest, which no satellite
// holds, lends one to an author's test.
//
// Invariants:
//   - In a satellite it is set once. A second document is an error and changes nothing.
//   - Reading before it is set is an error, never an empty configuration: an
//     extension must not run on defaults because something ran too early.
package config

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// ErrUnset is what reading before the document is there gives.
var ErrUnset = errors.New("ext: config: there is no configuration yet; read it inside a tool or a hook, " +
	"not in init or in a package variable (a test gives one with captest)")

var current slot

// Set makes document, a JSON object, the configuration of this process.
func Set(document []byte) error { return current.set(document) }

// Read returns the document. The bytes are shared; nobody may write to them.
func Read() ([]byte, error) { return current.read() }

// Lend makes document, a JSON object, the configuration until it is given back.
func Lend(document []byte) (giveBack func(), err error) {
	var checked slot
	if err := checked.set(document); err != nil {
		return nil, err
	}
	before := current.document.Swap(checked.document.Load())
	return func() { current.document.Store(before) }, nil
}

type slot struct{ document atomic.Pointer[[]byte] }

func (s *slot) set(document []byte) error {
	if err := jsontext.Check(document); err != nil {
		return fmt.Errorf("ext: config: %w; build the satellite anew", err)
	}
	if kind := jsontext.KindAt(document, jsontext.SkipSpace(document, 0)); kind != jsontext.Object {
		return fmt.Errorf("ext: config: expected object, got %v; build the satellite anew", kind)
	}
	own := append([]byte(nil), document...)
	if !s.document.CompareAndSwap(nil, &own) {
		return errors.New("ext: config: it is set already; a satellite has one declaration")
	}
	return nil
}

func (s *slot) read() ([]byte, error) {
	if document := s.document.Load(); document != nil {
		return *document, nil
	}
	return nil, ErrUnset
}
