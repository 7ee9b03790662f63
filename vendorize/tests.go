package vendorize

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// NewTest begins the root of a go test: that of a build, and captest in its vendor directory.
func NewTest(modulePath string) (*Root, error) {
	v, err := authored()
	if err != nil {
		return nil, err
	}
	return v.root(modulePath)
}

// AddTest puts any file of the extension into the root of a go test: its documents, its tests and what they read. The
// places that are not an extension's are refused as by [Root.Add].
func (r *Root) AddTest(name string, data []byte) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("generate: %q is no path below the root; use slashes, and no empty, . or .. element", name)
	}
	if top, _, _ := strings.Cut(strings.ToLower(name), "/"); reserved[top] {
		return fmt.Errorf("generate: %s: %s at the root of a build is loomext's own; rename it", name, top)
	}
	return r.put(name, data)
}

// TestDigest is [Digest] with the packages for tests.
func TestDigest() string {
	v, err := authored()
	if err != nil {
		return "unreadable: " + err.Error()
	}
	return digest(v.files)
}

// CheckTestVendor is [CheckVendor] for the vendor directory of a root that [NewTest] began.
func CheckTestVendor(dir string) error {
	v, err := authored()
	if err != nil {
		return err
	}
	return v.check(dir)
}

// TestPackage is the package that a root for tests has and one for a build has not.
func TestPackage() string { return path.Join(ownModule, captestDir) }
