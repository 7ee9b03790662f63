package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/loomext/loomext/broker"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/manifest"
)

// seen are the names that a record has, of extensions or of effects, for whoever asked for one that it has not.
type seen struct {
	wanted string // empty is any
	found  bool   // one that is wanted
	names  map[string]bool
}

// maxSeen is how many names are told. A record may have any number, and a line for people has place for some.
const maxSeen = 20

func (s *seen) add(name string) {
	s.found = s.found || isOf(name, s.wanted)
	if s.names == nil {
		s.names = map[string]bool{}
	}
	if len(s.names) < maxSeen {
		s.names[shown(name, whatWidth)] = true
	}
}

// lacks says that one was wanted and none found.
func (s *seen) lacks() bool { return s.wanted != "" && !s.found }

// fault is the error of a record that has nothing of what is wanted, and says what it has.
func (s *seen) fault(what string) error {
	text := "the record has no " + what
	if s.wanted != "" {
		text += " of " + escape.Line(s.wanted)
	}
	if len(s.names) > 0 {
		text += "; it has " + strings.Join(slices.Sorted(maps.Keys(s.names)), ", ")
	}
	return &install.Error{Layer: install.LayerRecord, Err: errors.New(text)}
}

// isOf says whether an effect is of a capability: net.request is of net, and of itself; fs.list is of fs_read, and of fs. An
// extension is of itself.
func isOf(effect, capability string) bool {
	return effect == capability || strings.HasPrefix(effect, capability+".") || capability != "" && broker.Requires(effect) == capability
}

// checkCapability refuses what is neither a capability nor an effect. Empty is none.
func checkCapability(name string) error {
	known := func(effect string) bool { return isOf(effect, name) }
	if name == "" || slices.Contains(manifest.Capabilities(), name) || slices.ContainsFunc(broker.Effects(), known) {
		return nil
	}
	return usagef("--capability %q is none; want one of %s, or an effect such as net.request", name, strings.Join(manifest.Capabilities(), ", "))
}
