package vendorize

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/loomext/loomext"
)

const (
	// ownModule is the path under which the preludes are vendored: the one authors import.
	ownModule = "github.com/loomext/loomext"
	// ownVersion stands in the require line. The sources are identified by [Digest], so the number says nothing; it is
	// fixed because the go command writes it into every binary.
	ownVersion = "v0.0.0"
	// goVersion is the language version of every root.
	goVersion = "1.26"

	vendorDir     = "vendor"
	thirdPartyDir = "third_party/_src"
	modulesFile   = "modules.txt"
)

// ownDirs are the parts of this repository that a satellite is compiled from. Two packages of them it is not:
// captest fakes the channel and belongs to an author's tests, hosttest plays the host in ours.
var ownDirs = []string{"prelude", "internal/wire"}

const (
	captestDir  = "prelude/cap/captest"
	hosttestDir = "prelude/cap/internal/hosttest"
)

// requirement is one module of vendor/modules.txt.
type requirement struct{ path, version string }

type vendorTree struct {
	files    map[string][]byte // vendor/…
	requires []requirement
}

// vendored reads the embedded sources once; they cannot change while the program runs.
var vendored = sync.OnceValues(func() (*vendorTree, error) { return readVendored(captestDir, hosttestDir) })

// Digest is "sha256:<64 hex>" over all that is vendored into a satellite: the digest of the prelude.
func Digest() string {
	v, err := vendored()
	if err != nil {
		// The embedded tree is fixed when loomext is compiled, and a test reads it.
		return "unreadable: " + err.Error()
	}
	return digest(v.files)
}

// Packages lists the import paths of the vendored packages, sorted.
func Packages() []string {
	v, err := vendored()
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	for name := range v.files {
		if path.Ext(name) == ".go" {
			seen[strings.TrimPrefix(path.Dir(name), "vendor/")] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// CheckVendor reports how the tree at dir differs from what is vendored: the same files with the same bytes, and not one
// more, since a file more in a package would be compiled with it.
func CheckVendor(dir string) error {
	v, err := vendored()
	if err != nil {
		return err
	}
	return v.check(dir)
}

// check holds a directory on disk against the tree.
func (v *vendorTree) check(dir string) error {
	found := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		want, ok := v.files[vendorDir+"/"+filepath.ToSlash(rel)]
		if !ok || !d.Type().IsRegular() {
			return fmt.Errorf("%s is not one of the vendored files", rel)
		}
		have, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Equal(have, want) {
			return fmt.Errorf("%s was changed", rel)
		}
		found++
		return nil
	})
	if err == nil && found != len(v.files) {
		err = fmt.Errorf("%d of %d vendored files are missing", len(v.files)-found, len(v.files))
	}
	return err
}

// readVendored takes all of ownDirs but the packages that are held back.
func readVendored(heldBack ...string) (*vendorTree, error) {
	v := &vendorTree{files: map[string][]byte{}}
	sources := loomext.Sources()
	license, err := sources.ReadFile("LICENSE")
	if err != nil {
		return nil, fmt.Errorf("generate: embedded sources: %w", err)
	}
	v.files["vendor/"+ownModule+"/LICENSE"] = license
	packages := map[string]bool{}
	for _, dir := range ownDirs {
		err := fs.WalkDir(sources, dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || slices.Contains(heldBack, name)):
				return fs.SkipDir
			case d.IsDir() || !isSource(name):
				return nil
			}
			data, err := sources.ReadFile(name)
			v.files["vendor/"+ownModule+"/"+name] = data
			packages[path.Join(ownModule, path.Dir(name))] = true
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("generate: embedded sources: %w", err)
		}
	}
	third, err := fs.Sub(sources, thirdPartyDir)
	if err != nil {
		return nil, fmt.Errorf("generate: embedded sources: %w", err)
	}
	err = fs.WalkDir(third, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == modulesFile {
			return err
		}
		v.files["vendor/"+name], err = fs.ReadFile(third, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("generate: embedded sources: %w", err)
	}
	theirs, err := fs.ReadFile(third, modulesFile)
	if err != nil {
		return nil, fmt.Errorf("generate: embedded sources: %w", err)
	}

	// A module without "## explicit; go …" would be compiled as Go 1.16.
	var txt bytes.Buffer
	fmt.Fprintf(&txt, "# %s %s\n## explicit; go %s\n", ownModule, ownVersion, goVersion)
	for _, p := range slices.Sorted(maps.Keys(packages)) {
		fmt.Fprintln(&txt, p)
	}
	txt.Write(theirs)
	v.files["vendor/"+modulesFile] = txt.Bytes()
	v.requires, err = requirements(txt.String())
	return v, err
}

// isSource reports whether a file of ours reaches a satellite: Go sources without tests.
func isSource(name string) bool {
	return path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")
}

// requirements reads the "# path version" lines of a modules.txt.
func requirements(txt string) ([]requirement, error) {
	var all []requirement
	for line := range strings.Lines(txt) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "# ")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) != 2 {
			return nil, fmt.Errorf("generate: embedded modules.txt: %q is no module line", line)
		}
		all = append(all, requirement{path: fields[0], version: fields[1]})
	}
	return all, nil
}

func (v *vendorTree) modulePaths() []string {
	var all []string
	for _, r := range v.requires {
		all = append(all, r.path)
	}
	return all
}

// goMod is the only go.mod of a root: the author's is read for its module line and goes no further.
func (v *vendorTree) goMod(modulePath string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "module %s\n\ngo %s\n\nrequire (\n", modulePath, goVersion)
	for _, r := range v.requires {
		fmt.Fprintf(&b, "\t%s %s\n", r.path, r.version)
	}
	b.WriteString(")\n")
	return b.Bytes()
}
