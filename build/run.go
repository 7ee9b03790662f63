package build

import (
	"context"
	"fmt"
	"strings"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vendorize"
)

// spec is one go build of a stage's root as the jail gets it. The go command and what it starts read the toolchain, the
// root and the given directories, and write the stage's work directory alone.
func (b *Builder) spec(t Toolchain, bound bounds, s *stage, env []string, readable ...string) jail.Spec {
	return jail.Spec{
		Path:      t.Go,
		Args:      append(append([]string{"build"}, flags()...), "-o", s.path(workDir, outputName), "./"+vendorize.SatelliteDir),
		Env:       env,
		Dir:       s.path(rootDir),
		StderrCap: stderrLimit,
		ReadOnly:  append(append(t.reach(), s.path(rootDir)), readable...),
		Writable:  []string{s.path(workDir)},
		Profile:   jail.Build,
		Limits: jail.Limits{
			CPU: bound.cpu, DataBytes: bound.data, AddressBytes: bound.address, FileBytes: bound.file, Descriptors: descriptorLimit,
		},
	}
}

// runOnTrusted builds an extension with a trusted Go cache, which the go command takes as it is: it compiles what the cache
// does not hold into its own temporary directory, links from there, and passes over every entry it cannot write. The one
// exception is its index of a package's files, where a write that fails is an error, and one that calls the package
// missing. The cache holds the index of every package that was compiled into it, so this meets a standard package that
// [Builder.Std] does not name, and a GOROOT whose files were written anew since. A build that came to an error before
// anything was compiled is therefore asked again without the index. That costs a fifth of a build, which is why it is not
// how all of them are run.
func (b *Builder) runOnTrusted(ctx context.Context, t Toolchain, s *stage, trusted *trusted) (jail.Report, error) {
	env := environment(t, trusted.dir, s.path(workDir, tmpDir))
	bound := b.bounds.filled()
	report, err := b.run(ctx, t, bound, s, env, trusted.dir)
	if failure, ok := err.(*Error); ok && failure.nothingCompiled {
		report, err = b.run(ctx, t, bound, s, append(env, "GODEBUG=goindex=0"), trusted.dir)
	}
	return report, err
}

// run starts the one go build of a stage and waits for it.
func (b *Builder) run(ctx context.Context, t Toolchain, bound bounds, s *stage, env []string, readable ...string) (jail.Report, error) {
	return b.start(ctx, b.spec(t, bound, s, env, readable...), bound, s)
}

// start runs one command of the toolchain and waits for it.
func (b *Builder) start(ctx context.Context, spec jail.Spec, bound bounds, s *stage) (jail.Report, error) {
	limited, cancel := context.WithTimeout(ctx, bound.wall)
	defer cancel()
	command, err := jail.Start(limited, spec, b.Jail)
	if err != nil {
		return jail.Report{}, err
	}
	if b.Jailed != nil {
		b.Jailed(command.Report())
	}
	exit, err := command.Wait()
	// The stage's name is of no use to anyone once it is gone; paths are told from the root.
	said := strings.ReplaceAll(strings.ReplaceAll(command.Stderr(), s.path(rootDir)+"/", ""), s.dir+"/", "")
	switch {
	case ctx.Err() != nil:
		return command.Report(), fmt.Errorf("compile: stopped: %w", context.Cause(ctx))
	case limited.Err() != nil:
		return command.Report(), &Error{
			What:   fmt.Sprintf("the build took longer than its bound of %s and was ended", bound.wall),
			Fix:    lookForBomb,
			Stderr: said,
		}
	case err != nil:
		return command.Report(), err
	case !exit.OK():
		return command.Report(), explain(said, exit, bound)
	}
	return command.Report(), nil
}

// layerTree is the wall that decides what a compiler run finds in the file system. Behind it, read-only holds for every
// way to change a file; the layer that stands in for it where namespaces are refused leaves modes and times to the owner.
const layerTree = "root filesystem"

// stands reports whether a layer stood around a command.
func stands(r jail.Report, name string) bool {
	l, ok := r.Layer(name)
	return ok && l.State == jail.Enforced
}
