package vendorize

import (
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/mod/module"
)

// maxPath is the longest path a root takes. File systems stop at 255 bytes a name and 4096 a path, and a root is
// written below a cache directory whose length is not ours to choose.
const maxPath = 512

// SatelliteDir is the package of a root that is the program.
const SatelliteDir = "loom_satellite"

// reserved are the names at the top of a root that are never an extension's: the files that steer the go command, and ours.
var reserved = map[string]bool{
	"go.mod": true, "go.sum": true, "go.work": true, "go.work.sum": true, "vendor": true, SatelliteDir: true,
}

// checkPath takes only what means one file on every system: printable ASCII, slashes, no empty, dot or hidden names.
func checkPath(path string) error {
	if !fs.ValidPath(path) || path == "." {
		return fmt.Errorf("%q is no path below the root; use slashes, and no empty, . or .. element", path)
	}
	if len(path) > maxPath {
		return fmt.Errorf("%.60q… is longer than %d bytes; shorten it", path, maxPath)
	}
	for _, r := range path {
		if r <= ' ' || r > '~' || strings.ContainsRune(`\:*?"<>|`, r) {
			return fmt.Errorf("%q has the character %q; name files in plain ASCII", path, r)
		}
	}
	for element := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(element, ".") || strings.HasSuffix(element, ".") {
			return fmt.Errorf("%q has a name that begins or ends with a dot; rename it", path)
		}
	}
	return nil
}

// checkModule refuses a main module that could shadow, or reach the internals of, what is vendored. A module *above* a
// vendored one is as bad as one below it: github.com/loomext with a directory loomext/x of its own would be inside the
// prelude for Go's internal rule.
func checkModule(path string, vendored []string) error {
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return fmt.Errorf("module path %q has no dot in its first element and could be mistaken for the standard library; use a path like example.com/%s", path, path)
	}
	if err := module.CheckPath(path); err != nil {
		return fmt.Errorf("module path: %w; choose one that the go command takes", err)
	}
	folded := strings.ToLower(path)
	for _, v := range vendored {
		v = strings.ToLower(v)
		if within(folded, v) || within(v, folded) {
			return fmt.Errorf("module path %q overlaps %s, which every satellite carries; choose a path of your own", path, v)
		}
	}
	return nil
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}
