package build

import (
	"context"

	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/vendorize"
)

// Once is [Builder.Build] for a satellite that is wanted for the moment. A kept one is found; one that is made is handed
// to use, is gone when Once returns, and is not kept: whoever edits makes one a minute, and the kept ones stay for an hour.
func (b *Builder) Once(ctx context.Context, root *vendorize.Root, want gen.Declaration, use func(Artifact) error) error {
	cache, err := b.open()
	if err != nil {
		return err
	}
	toolchain, err := Probe(ctx, b.Go)
	if err != nil {
		return err
	}
	a, err := cache.lookup(artifactKey(root.Digest(), toolchain))
	if err == nil && (b.Jail.BestEffort || a.Report.Level.Default()) {
		if err := declares(a.Path, want); err != nil {
			return err
		}
		return use(a)
	}
	_, err = b.compile(ctx, cache, toolchain, root, want, func(_ *stage, a Artifact) (Artifact, error) { return a, use(a) })
	return err
}
