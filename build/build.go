// Package build compiles a build root into a static satellite, offline and in a jail, and keeps what it made.
//
// The go command sees an environment and flags that are written down here and nothing of the caller's. What comes out is
// bit for bit the same for the same root and toolchain, wherever and whoever builds, so an [Artifact] is kept under a key
// made of everything that can change it and is built once.
//
// The package does not vet: it bounds what a compiler run may take and reach, and it trusts nothing that the run leaves
// behind but the one file it asked for, which is copied out and checked as a stranger's.
//
// A compiler run reaches the toolchain, the root it builds and a Go build cache, all of them to read, and one directory
// of its own to write. Which of these walls stood is in the [Artifact]'s report.
//
// Invariants:
//
//   - A satellite that is returned is static, declares what the caller wanted, and is a file that only the caller's user
//     has ever held.
//   - No build of an extension writes where another build reads: the Go build cache is filled by a build of our own
//     packages alone, and an extension's build has it read-only. Where no file system wall stands, what a build did to
//     the cache is looked for afterwards.
//   - The staging directory of a build is gone when Build returns, on every path. What a killed process left is removed
//     by the next build.
//   - A kept artifact is renamed into place whole, and its digest is checked every time it is used.
package build

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vendorize"
)

// The bounds of one compiler run. They stop the compile bombs that a few lines of Go can be; honest builds come to a
// tenth of each.
const (
	// cpuLimit is processor time of each process.
	cpuLimit = 60 * time.Second
	// wallLimit is the time of the whole run, waiting included, and fillLimit that of the fill of a Go cache: that compiles
	// our own code, so the only thing to fear is a busy machine.
	wallLimit = 120 * time.Second
	fillLimit = 15 * time.Minute
	// dataLimit is private writable memory of each process.
	dataLimit = 2 << 30
	// addressLimit caps page tables. It is above dataLimit because Go reserves address space that it never touches.
	addressLimit = 4 << 30
	// fileLimit is the size of each file; the largest file of an honest build is the archive of the runtime.
	fileLimit = 64 << 20
	// descriptorLimit is how many files each process holds open; the go command keeps a few for each package at work.
	descriptorLimit = 1024
	// stderrLimit is how much compiler output is kept.
	stderrLimit = 64 << 10
)

// Builder builds satellites with one toolchain and one cache. The zero value uses the go command on PATH and the user's
// cache directory. A Builder may be used by several goroutines.
type Builder struct {
	// Cache is the absolute path of the directory for artifacts and for the Go build cache; empty is loomext/ in
	// os.UserCacheDir.
	Cache string
	// Go is the path of the go command; empty looks on PATH.
	Go string
	// Std names the standard packages that extensions may import. They are compiled once, into the trusted cache, so
	// that a build of an extension compiles the extension alone. A package that is not here works and costs its compile
	// every time.
	Std []string
	// Jail is what the jail needs to know of the host.
	Jail jail.Options
	// Jailed, if not nil, is told what the jail enforced on each compiler run, those over loomext's own packages included.
	Jailed func(jail.Report)
	// Progress, if not nil, is told in one line of a step that takes seconds.
	Progress func(string)

	// bounds are those of a compiler run; the zero value stands for the constants above.
	bounds bounds
}

type bounds struct {
	cpu, wall           time.Duration
	data, address, file int64
}

func (b bounds) filled() bounds {
	return bounds{
		cpu:     cmp.Or(b.cpu, cpuLimit),
		wall:    cmp.Or(b.wall, wallLimit),
		data:    cmp.Or(b.data, dataLimit),
		address: cmp.Or(b.address, addressLimit),
		file:    cmp.Or(b.file, fileLimit),
	}
}

// Artifact is one satellite in the cache.
type Artifact struct {
	// Path is the satellite's file. It stays for at least [keepFor]; copy it.
	Path string
	// Digest is "sha256:<64 hex>" of the file.
	Digest string
	Size   int64
	// Toolchain is the version of Go that compiled it, as `go env GOVERSION` says it.
	Toolchain string
	// Env and Flags are what can change the bytes: the environment without its locations, and the arguments.
	Env, Flags []string
	// Report says which walls stood around the compiler when the artifact was made.
	Report jail.Report
	// Cached is true when nothing was compiled.
	Cached bool
	// Key identifies the inputs.
	Key string
}

// Build compiles the root, or finds the artifact that an earlier build of the same inputs made behind the walls that are
// demanded. The artifact's declaration equals want. An error is an *[Error], or a *[jail.Error] where the compiler could
// not be run, or wraps the cause of ctx's end.
func (b *Builder) Build(ctx context.Context, root *vendorize.Root, want gen.Declaration) (Artifact, error) {
	cache, err := b.open()
	if err != nil {
		return Artifact{}, err
	}
	toolchain, err := Probe(ctx, b.Go)
	if err != nil {
		return Artifact{}, err
	}
	key := artifactKey(root.Digest(), toolchain)
	unlock, err := cache.lock(ctx, "artifact", key)
	if err != nil {
		return Artifact{}, err
	}
	defer unlock()

	switch a, err := cache.lookup(key); {
	case err == nil && !b.Jail.BestEffort && !a.Report.Level.Default():
		// Whoever accepted fewer walls did it for one build, not for those who find what it made.
		b.say(fmt.Sprintf("cache: the kept satellite %.12s… was built behind fewer walls (level %q); building it anew", key, a.Report.Level))
	case err == nil:
		if err := declares(a.Path, want); err != nil {
			return Artifact{}, err
		}
		return a, nil
	case !errors.Is(err, os.ErrNotExist):
		b.say("cache: " + err.Error() + "; building it anew")
	}
	return b.compile(ctx, cache, toolchain, root, want, func(s *stage, a Artifact) (Artifact, error) {
		return cache.keep(s, key, a)
	})
}

// Rebuild compiles the root whether or not its artifact is kept, keeps nothing, and returns the digest of what came out.
func (b *Builder) Rebuild(ctx context.Context, root *vendorize.Root, want gen.Declaration) (digest string, err error) {
	cache, err := b.open()
	if err != nil {
		return "", err
	}
	toolchain, err := Probe(ctx, b.Go)
	if err != nil {
		return "", err
	}
	a, err := b.compile(ctx, cache, toolchain, root, want, func(_ *stage, a Artifact) (Artifact, error) { return a, nil })
	return a.Digest, err
}

// compile makes an artifact in a stage and hands it to finish, after which the stage is gone.
func (b *Builder) compile(ctx context.Context, cache *cache, t Toolchain, root *vendorize.Root, want gen.Declaration, finish func(*stage, Artifact) (Artifact, error)) (_ Artifact, err error) {
	trusted, err := b.trusted(ctx, cache, t)
	if err != nil {
		return Artifact{}, err
	}
	stage, err := cache.stage(ctx)
	if err != nil {
		return Artifact{}, err
	}
	defer func() { err = errors.Join(err, stage.remove()) }()

	if err := root.WriteSharing(stage.path(rootDir), trusted.vendor()); err != nil {
		return Artifact{}, storage(err)
	}
	if err := neverIndexed(stage.path(rootDir)); err != nil {
		return Artifact{}, storage(err)
	}
	report, runErr := b.runOnTrusted(ctx, t, stage, trusted)
	if !stands(report, layerTree) {
		if err := trusted.check(); err != nil {
			return Artifact{}, err
		}
	}
	if runErr != nil {
		return Artifact{}, runErr
	}
	a, err := stage.take(b.bounds.filled().file)
	if err != nil {
		return Artifact{}, err
	}
	if err := CheckELF(a.Path); err != nil {
		return Artifact{}, err
	}
	if err := declares(a.Path, want); err != nil {
		return Artifact{}, err
	}
	a.Toolchain, a.Env, a.Flags, a.Report = t.Version, recordedEnv(), flags(), report
	return finish(stage, a)
}

// outputName is the satellite's file, in a stage and in the cache.
const outputName = "loom_satellite"

// declares holds the declaration in a satellite against the one it must have.
func declares(satellite string, want gen.Declaration) error {
	f, err := os.Open(satellite)
	if err != nil {
		return storage(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return storage(err)
	}
	have, err := gen.ReadDeclaration(f, info.Size())
	if err != nil {
		return &Error{Place: outputName, What: err.Error(), Err: err}
	}
	if difference := have.Difference(want); difference != "" {
		return &Error{
			Place: outputName,
			What:  "the satellite declares something else than the manifest: " + difference,
			Fix:   "remove any string that begins like a loomext declaration from the extension's source",
		}
	}
	return nil
}

// FileDigest is "sha256:<hex>" of a file and its size.
func FileDigest(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", 0, err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), n, nil
}

func (b *Builder) say(line string) {
	if b.Progress != nil {
		b.Progress(line)
	}
}

// open makes the cache directory where it is not there.
func (b *Builder) open() (*cache, error) {
	dir := b.Cache
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, &Error{What: "no cache directory: " + err.Error(), Fix: "set XDG_CACHE_HOME", Err: err}
		}
		dir = filepath.Join(user, "loomext")
	}
	if !filepath.IsAbs(dir) {
		return nil, &Error{Place: dir, What: "the cache directory is not an absolute path", Fix: "name it from the root"}
	}
	return openCache(dir)
}
