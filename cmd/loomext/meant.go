package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/tomlfile"
)

// meant is the error of an extension that is not installed with the installed one that its name may
// be a misspelling of. Other errors it leaves as they are.
func meant(store *install.Store, name string, err error) error {
	if !errors.Is(err, install.ErrNotInstalled) {
		return err
	}
	installed, listing := store.Generations()
	if listing != nil {
		return err
	}
	near, ok := tomlfile.Nearest(name, slices.Sorted(maps.Keys(installed)))
	if !ok {
		return err
	}
	why := fmt.Errorf("%s is %w in %s; did you mean %s?", name, install.ErrNotInstalled, store.Home(), escape.Line(near))
	return &install.Error{Layer: install.LayerRecord, Err: why}
}
