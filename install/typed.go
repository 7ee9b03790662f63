package install

import (
	"context"
	"errors"
	"slices"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vet"
)

// vetTypes has the types of a source checked that passed by its spelling, against what the builder's toolchain compiled
// of the packages it imports. Its errors have a layer: vetting, or that of what could not be made ready.
func vetTypes(ctx context.Context, pkg vet.Package, b *build.Builder) (vet.Package, error) {
	var whole build.Builder
	if b != nil {
		whole = *b
	}
	whole.Std = append(slices.Clone(whole.Std), vet.Std()...) // all that a source may import, whatever builds are prepared for
	b = &whole
	lib, err := b.Library(ctx)
	if err != nil {
		return vet.Package{}, refuse(buildLayer(err), err)
	}
	typed, err := vet.Typed(ctx, pkg, vet.Library(lib), b.Jail)
	if err != nil {
		layer := LayerVetting
		if errors.As(err, new(*jail.Error)) {
			layer = LayerJail
		}
		return vet.Package{}, refuse(layer, err)
	}
	if b.Jailed != nil {
		b.Jailed(typed.Jail())
	}
	return typed, nil
}

// layerOf is the layer of an error, or "".
func layerOf(err error) Layer {
	var e *Error
	if errors.As(err, &e) {
		return e.Layer
	}
	return ""
}
