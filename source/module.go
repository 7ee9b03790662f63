package source

import (
	"fmt"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// reserved are the modules a build root carries in its vendor directory. An extension whose module path were one of
// them, below one or above one could stand where a package of theirs is looked up, or reach their internal packages.
var reserved = []string{
	"github.com/loomext/loomext",
	"github.com/vmihailenco/msgpack/v5",
	"github.com/vmihailenco/tagparser/v2",
}

// modulePath reads the module line of a go.mod and judges it. A go.mod without one is no fault: the extension then
// has the path that the build gives to those without.
func modulePath(mod []byte) (string, *Error) {
	path := modfile.ModulePath(mod)
	if path == "" {
		return "", nil
	}
	if what, do := oddModule(path); what != "" {
		return "", refuse(modName, what, do)
	}
	return path, nil
}

func oddModule(path string) (what, do string) {
	const own = "use a path of your own with a host name in front, such as example.com/you/name, or drop the module line"
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return fmt.Sprintf("the module path %q has no dot in its first element, so it could be a standard package", path), own
	}
	for _, r := range reserved {
		if below(path, r) {
			return fmt.Sprintf("the module path %q is at or under %s, which a build carries itself", path, r), own
		}
		if below(r, path) {
			return fmt.Sprintf("the module path %q stands above %s, which a build carries itself", path, r), own
		}
	}
	if len(path) > MaxPath {
		return fmt.Sprintf("the module path is %d bytes long; at most %d", len(path), MaxPath), "shorten it"
	}
	for elem := range strings.SplitSeq(path, "/") {
		if elem == vendorName {
			return fmt.Sprintf("the module path %q has an element named vendor, which imports cannot name", path), own
		}
	}
	if err := module.CheckPath(path); err != nil {
		return fmt.Sprintf("the module path %q is not valid", path), own
	}
	return "", ""
}

// below reports whether path is root or under it. Case is ignored: on some file systems the two are one directory.
func below(path, root string) bool {
	if len(path) < len(root) || !strings.EqualFold(path[:len(root)], root) {
		return false
	}
	return len(path) == len(root) || path[len(root)] == '/'
}
