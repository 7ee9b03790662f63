package build

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomext/loomext/vendorize"
)

// Library is the types of the packages that extensions may import, as the toolchain compiled them into the trusted Go
// cache. Whoever type-checks an extension reads them from there, and needs no go command.
type Library struct {
	// Dir is the directory of the cache. It stays for days after it was last asked for.
	Dir string
	// Exports is, by import path, the file with a package's export data, from Dir.
	Exports map[string]string
	// Version is that of the toolchain: "go1.26.8".
	Version string
}

// Library returns the types that builds with this toolchain are made against, compiling them first where they are not in
// the cache.
func (b *Builder) Library(ctx context.Context) (Library, error) {
	cache, err := b.open()
	if err != nil {
		return Library{}, err
	}
	toolchain, err := Probe(ctx, b.Go)
	if err != nil {
		return Library{}, err
	}
	trusted, err := b.trusted(ctx, cache, toolchain)
	if err != nil {
		return Library{}, err
	}
	exports := make(map[string]string, len(trusted.Exports))
	for path, name := range trusted.Exports {
		exports[path] = filepath.Join(entriesDir, name)
	}
	return Library{Dir: trusted.dir, Exports: exports, Version: toolchain.Version}, nil
}

// maxListing bounds what the go command says of a fill's packages, which takes about 40 KiB.
const maxListing = 4 << 20

// exports asks the go command where in a cache that was just filled the export data of each package is.
func (b *Builder) exports(ctx context.Context, t Toolchain, s *stage, env []string) (map[string]string, error) {
	bound := bounds{cpu: fillLimit, wall: fillLimit}.filled()
	spec := b.spec(t, bound, s, env)
	spec.Args = slices.Concat([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, flags(), []string{"./" + vendorize.SatelliteDir})
	var listing bounded
	spec.Stdout = &listing
	if _, err := b.start(ctx, spec, bound, s); err != nil {
		return nil, fmt.Errorf("listing the preludes and the standard library, before any extension: %w", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(listing.String()) {
		path, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ok && file != "" && !strings.HasPrefix(path, fillModule) {
			exports[path] = filepath.Base(file)
		}
	}
	if len(exports) == 0 {
		return nil, &Error{What: "the go command lists no export data of what it compiled", Fix: "report it, with the version of Go"}
	}
	return exports, nil
}

// bounded keeps the first maxListing bytes.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxListing {
		return 0, fmt.Errorf("the list of packages is longer than %d bytes", maxListing)
	}
	return b.Buffer.Write(p)
}
