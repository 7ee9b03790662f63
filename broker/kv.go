package broker

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"github.com/loomext/loomext/internal/wire"
)

// The bounds of one extension's scratch in one session. It is memory of the host, for as long as the session.
const (
	// maxKey is the length of a key, in bytes: a path or a digest with a prefix.
	maxKey = 256
	// maxValue is the size of a value, in bytes: what one answer remembers for the next, not a file.
	maxValue = 256 << 10
	// maxKeys is how many keys there may be: a map of a thousand empty values costs the host as much as one value.
	maxKeys = 1_000
	// maxScratch is what keys and values may have together, in bytes: two hundred sessions of such stay below a gigabyte.
	maxScratch = 4 << 20
)

// scratch is what an extension keeps during a session. The zero scratch is empty.
type scratch struct {
	mu     sync.Mutex
	values map[string][]byte // never written to once stored
	held   int               // bytes of all keys and values
}

func (i *Invocation) kvGet(_ context.Context, a *arguments) (wire.Value, *refusal) {
	key, refused := keyOf(a)
	if refused != nil {
		return wire.Value{}, refused
	}
	value, found := i.scope.scratch.get(key)
	return wire.Map(wire.Field{Key: "found", Value: wire.Bool(found)}, wire.Field{Key: "value", Value: wire.Bin(value)}), nil
}

func (i *Invocation) kvSet(_ context.Context, a *arguments) (wire.Value, *refusal) {
	value := a.bytes("value")
	key, refused := keyOf(a)
	if refused != nil {
		return wire.Value{}, refused
	}
	if len(value) > maxValue {
		return wire.Value{}, tooLarge("value", len(value), maxValue)
	}
	if refused := i.scope.scratch.set(key, value); refused != nil {
		return wire.Value{}, refused
	}
	return wire.Map(), nil
}

func (i *Invocation) kvDelete(_ context.Context, a *arguments) (wire.Value, *refusal) {
	key, refused := keyOf(a)
	if refused != nil {
		return wire.Value{}, refused
	}
	i.scope.scratch.delete(key)
	return wire.Map(), nil
}

// keyOf reads the key, which is the last argument to be read.
func keyOf(a *arguments) (string, *refusal) {
	key := a.text("key")
	switch refused := a.refused(); {
	case refused != nil:
		return "", refused
	case key == "":
		return "", invalid("key is empty; want 1 to " + strconv.Itoa(maxKey) + " bytes")
	case len(key) > maxKey:
		return "", tooLarge("key", len(key), maxKey)
	}
	return key, nil
}

// get gives a copy.
func (s *scratch) get(key string) ([]byte, bool) {
	s.mu.Lock()
	value, found := s.values[key]
	s.mu.Unlock()
	return bytes.Clone(value), found
}

// set keeps a copy: what comes from a frame would keep the whole frame.
func (s *scratch) set(key string, value []byte) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, found := s.values[key]
	grown := len(value) - len(old)
	if !found {
		grown += len(key)
		if len(s.values) >= maxKeys {
			return policy("the scratch has " + strconv.Itoa(maxKeys) + " keys, and more it may not have; delete some")
		}
	}
	if s.held+grown > maxScratch {
		return policy("the scratch would hold more than " + strconv.Itoa(maxScratch>>20) + " MiB; delete some of it")
	}
	if s.values == nil {
		s.values = make(map[string][]byte)
	}
	s.values[key] = bytes.Clone(value)
	s.held += grown
	return nil
}

func (s *scratch) delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, found := s.values[key]; found {
		s.held -= len(key) + len(value)
		delete(s.values, key)
	}
}
