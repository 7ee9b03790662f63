package install

import (
	"context"
	"fmt"
	"time"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vendorize"
)

// HowTried is the approval of a [Try] in its record: nobody was asked.
const HowTried = "dev"

// Try takes a source through every layer of an install but the store: what it returns can be launched, and was written
// nowhere. It grants all that the manifest requests, which is for an author's own code alone. A source that has the
// tree and the terms of before, and the same toolchain, is before itself; the caller closes each that it is given once.
// Of the options, only Source, Sets, Progress and Builder count.
func Try(ctx context.Context, o Options, before *Installed) (*Installed, error) {
	x, err := examine(ctx, o.Source, o.Sets, o.Builder, o.Progress, nil)
	if err != nil {
		return nil, err
	}
	if err := x.grant(Decision{All: true, How: HowTried}); err != nil {
		return nil, err
	}
	if before != nil && before.Record.ApprovalKey == x.record.ApprovalKey && before.Record.Module == x.record.Module {
		return before, nil
	}
	step := steps(o.Progress)
	done := step(LayerGenerate, "render the satellite")
	root, err := x.pkg.Root(x.config)
	if err != nil {
		return nil, refuse(LayerGenerate, err)
	}
	done("rendered")

	done = step(LayerCompile, "build the satellite")
	var image *jail.Image
	err = o.Builder.Once(ctx, root, gen.Declare(x.manifest, x.config), func(a build.Artifact) (err error) {
		x.record.ArtifactDigest, x.record.ArtifactSize = a.Digest, a.Size
		x.record.Toolchain, x.record.BuildJail = a.Toolchain, a.Report
		x.record.BuildEnv, x.record.BuildFlags = list(a.Env), list(a.Flags)
		image, err = jail.Seal(a.Path, a.Digest)
		return err
	})
	if err != nil {
		if image != nil {
			_ = image.Close()
		}
		return nil, refuse(buildLayer(err), err)
	}
	done(fmt.Sprintf("%d KiB", x.record.ArtifactSize/1024))
	x.record.Format, x.record.PreludeDigest, x.record.InstalledAt = RecordFormat, vendorize.Digest(), time.Now().UTC()
	return &Installed{Record: x.record, Tree: x.tree, Manifest: x.manifest, Image: image}, nil
}
