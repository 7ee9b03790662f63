package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vendorize"
)

// Options are one install.
type Options struct {
	Source string
	Sets   []string // "key=value" overrides of the manifest's [config]

	// Preset answers the approval ahead of being asked. Without it Approve is called,
	// unless this very approval was given before; without either the install ends in
	// ErrDeclined.
	Preset  *Decision
	Approve func(context.Context, Approval) (Decision, error)
	// Show, if not nil, is given every approval before it is answered, by whatever means.
	Show func(Approval)

	Progress func(Progress)
	Builder  *build.Builder
	// Jail is for the satellite that is asked for its names; the Builder has its own.
	Jail jail.Options
}

// The outcomes of an install.
const (
	OutcomeInstalled = "installed"
	OutcomeReplaced  = "replaced"
	OutcomeUnchanged = "unchanged"
)

// Result is a finished install.
type Result struct {
	Record     Record
	Outcome    string
	Generation string // its directory
	Approval   Approval
	// JailLevel is the weakest jail that anything of this install ran in, the build of an
	// artifact that was kept included. It is empty where a record does not say.
	JailLevel jail.Level
}

// Install takes a source through every layer. What it returns as an error has a layer, but
// for ErrDeclined, a [GrantError] and the end of ctx. Whatever happens, the store holds the
// old install or the new one, whole.
func (s *Store) Install(ctx context.Context, o Options) (Result, error) {
	var before *Installed // under the same name, if there is one
	x, err := examine(ctx, o.Source, o.Sets, o.Builder, o.Progress, func(x examined) bool {
		before = s.previous(ctx, x.manifest.Name())
		return before != nil && before.vetted(x.tree)
	})
	if before != nil {
		defer before.Close()
	}
	if err != nil {
		return Result{}, err
	}
	name := x.manifest.Name()
	if err := x.settle(ctx, o, before); err != nil {
		return Result{}, err
	}
	if before != nil {
		_ = before.Close() // a sweep keeps what is held
	}
	if err := s.prepare(); err != nil {
		return Result{}, refuse(LayerRecord, err)
	}
	release, err := s.lock(ctx, name)
	if err != nil {
		return Result{}, refuse(LayerRecord, err)
	}
	defer release()
	previous := s.previous(ctx, name)
	if previous != nil {
		defer previous.Close()
	}
	toolchain, err := build.Probe(ctx, o.Builder.Go)
	if err != nil {
		return Result{}, refuse(LayerCompile, err)
	}
	if previous != nil && current(previous.Record, x.record, toolchain) {
		return Result{Record: previous.Record, Outcome: OutcomeUnchanged, Generation: previous.Dir, Approval: x.approval, JailLevel: previous.Record.BuildJail.Level}, nil
	}
	if !x.pkg.Typed() { // something else than the source has changed
		if x.pkg, err = vetTypes(ctx, x.pkg, o.Builder); err != nil {
			return Result{}, err
		}
	}
	generation, err := s.make(ctx, o, &x)
	if err != nil {
		return Result{}, err
	}
	outcome := OutcomeInstalled
	if previous != nil {
		outcome = OutcomeReplaced
		_ = previous.Close() // or the sweep would find it held
	}
	s.sweepGenerations(name, filepath.Base(generation))
	return Result{Record: x.record, Outcome: outcome, Generation: generation, Approval: x.approval, JailLevel: x.level}, nil
}

// vetted reports whether a source is, byte for byte, the installed one, which was vetted against the same seam (a load
// refuses another) and the same preludes.
func (i *Installed) vetted(tree source.Tree) bool {
	return i.Record.TreeDigest == tree.Digest() && i.Record.PreludeDigest == vendorize.Digest()
}

// settle shows the approval and gets its answer. It holds no lock: an operator may take all day.
func (x *examined) settle(ctx context.Context, o Options, previous *Installed) error {
	if o.Preset != nil {
		if err := x.preset(*o.Preset); err != nil {
			return err
		}
	}
	if previous != nil {
		if err := x.against(previous.Record); err != nil {
			return refuse(LayerRecord, err)
		}
	}
	if o.Show != nil {
		o.Show(x.approval)
	}
	if o.Preset != nil {
		return nil
	}
	return ask(ctx, o, x, previous)
}

// previous is the install under a name, if it is there and whole. One that is not whole gives
// no approval and is replaced.
func (s *Store) previous(ctx context.Context, name string) *Installed {
	installed, err := s.Load(ctx, name)
	if err != nil {
		return nil
	}
	return installed
}

// ask has the operator settle what is granted. An approval that was given before is not asked
// for again; any other is.
func ask(ctx context.Context, o Options, x *examined, previous *Installed) error {
	if previous != nil {
		again := Decision{Granted: previous.Record.Granted, How: previous.Record.ApprovedHow}
		if x.grant(again) == nil && x.record.ApprovalKey == previous.Record.ApprovalKey {
			x.record.ApprovedBy, x.record.ApprovedAt = previous.Record.ApprovedBy, previous.Record.ApprovedAt
			return nil
		}
	}
	if o.Approve == nil {
		return ErrDeclined
	}
	decision, err := o.Approve(ctx, x.approval)
	if err != nil {
		return err
	}
	return x.grant(decision)
}

// grant writes a decision into the record.
func (x *examined) grant(d Decision) error {
	granted, err := d.grants(x.record.Requested)
	if err != nil {
		return err
	}
	x.record.Granted = granted
	x.record.Fingerprint = manifest.Fingerprint(x.record.Revision, granted)
	x.record.ApprovalKey = approvalKey(x.record, granted)
	x.record.ApprovedBy, x.record.ApprovedHow = operator(), d.How
	x.record.ApprovedAt = time.Now().UTC().Truncate(time.Second)
	return nil
}

// current reports whether what is installed is what this install would make.
func current(previous, next Record, toolchain build.Toolchain) bool {
	return previous.ApprovalKey == next.ApprovalKey &&
		previous.Module == next.Module &&
		previous.Source == next.Source &&
		previous.PreludeDigest == vendorize.Digest() &&
		previous.Toolchain == toolchain.Version
}

// make builds an approved extension and writes its generation. It returns the generation's
// directory.
func (s *Store) make(ctx context.Context, o Options, x *examined) (string, error) {
	step := steps(o.Progress)

	done := step(LayerGenerate, "render the satellite")
	root, err := x.pkg.Root(x.config)
	if err != nil {
		return "", refuse(LayerGenerate, err)
	}
	done("rendered")

	done = step(LayerCompile, "build the satellite")
	artifact, err := o.Builder.Build(ctx, root, gen.Declare(x.manifest, x.config))
	if err != nil {
		return "", refuse(buildLayer(err), err)
	}
	if artifact.Cached {
		done("cached")
	} else {
		done(fmt.Sprintf("%d KiB", artifact.Size/1024))
	}

	done = step(LayerRecord, "write the install")
	x.record.Format = RecordFormat
	x.record.ArtifactDigest, x.record.ArtifactSize = artifact.Digest, artifact.Size
	x.record.PreludeDigest = vendorize.Digest()
	x.record.Toolchain = artifact.Toolchain
	x.record.BuildEnv, x.record.BuildFlags = list(artifact.Env), list(artifact.Flags)
	x.record.BuildJail = artifact.Report
	x.record.InstalledAt = time.Now().UTC()
	x.record.Files = map[string]string{}
	for _, path := range x.tree.Paths() {
		data, _ := x.tree.File(path)
		x.record.Files[path] = sum(data)
	}
	generation, err := s.write(ctx, o, x, artifact.Path)
	if err != nil {
		return "", err
	}
	done(generation)
	return generation, nil
}

// buildLayer is the layer of an error from a build: one that the jail refused to start is the
// jail's.
func buildLayer(err error) Layer {
	var e *jail.Error
	if errors.As(err, &e) {
		return LayerJail
	}
	return LayerCompile
}

// write stages a generation, asks its satellite what it serves, and switches to it.
func (s *Store) write(ctx context.Context, o Options, x *examined, artifact string) (string, error) {
	st, err := s.stage()
	if err != nil {
		return "", refuse(LayerRecord, full(err))
	}
	defer st.remove()
	staged := filepath.Join(st.dir, "generation")
	if err := os.Mkdir(staged, dirMode); err != nil {
		return "", refuse(LayerRecord, full(err))
	}
	if err := x.tree.WriteTo(filepath.Join(staged, treeName)); err != nil {
		return "", refuse(LayerRecord, full(err))
	}
	if err := copyArtifact(artifact, filepath.Join(staged, artifactName), x.record.ArtifactDigest); err != nil {
		return "", refuse(LayerRecord, full(err))
	}
	level, err := askNames(ctx, o, filepath.Join(staged, artifactName), x.record)
	if err != nil {
		return "", err
	}
	x.level = weaker(weaker(level, x.record.BuildJail.Level), x.pkg.Jail().Level)
	text, digest, err := x.record.encode()
	if err != nil {
		return "", refuse(LayerRecord, err)
	}
	if len(text) > maxRecord {
		return "", refuse(LayerRecord, fmt.Errorf("the record would have %d bytes, more than %d; declare fewer or smaller schemas", len(text), maxRecord))
	}
	if err := os.WriteFile(filepath.Join(staged, recordName), text, 0o444); err != nil {
		return "", refuse(LayerRecord, full(err))
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name := x.record.Name
	base := name + "-" + digest
	if err := s.publish(st, staged, name, base); err != nil {
		return "", refuse(LayerRecord, full(err))
	}
	return s.generation(base), nil
}

// full adds what to do to an error from writing the store.
func full(err error) error {
	return fmt.Errorf("cannot write the store: %w; make it writable with space to spare, and install again: what was installed before is as it was", err)
}
