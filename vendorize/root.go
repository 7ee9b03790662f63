// Package vendorize makes build roots: the complete, offline input of one hermetic go build.
//
// A [Root] is held in memory until it is written, so its digest and what is built cannot drift apart. It begins with what
// is ours (go.mod, and vendor/ with the preludes and all they import) and takes the extension's files beside it. A file is
// never replaced: two files at one path, also in another letter case, are an error, and no file of an extension can land
// where ours are.
//
// It compiles nothing and judges no source; packages build and vet do.
package vendorize

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Root is the files of one build by slash path. The zero value is of no use; see [New].
type Root struct {
	module string
	files  map[string][]byte
	// folded holds every file and every directory above one under its lower-case path, so that a root means the same on
	// a file system that ignores case.
	folded map[string]entry
}

type entry struct {
	path string
	dir  bool
}

// New begins the root of an extension whose packages import each other under the given module path.
func New(modulePath string) (*Root, error) {
	v, err := vendored()
	if err != nil {
		return nil, err
	}
	return v.root(modulePath)
}

// root begins a root with a vendor directory.
func (v *vendorTree) root(modulePath string) (*Root, error) {
	if err := checkModule(modulePath, v.modulePaths()); err != nil {
		return nil, fmt.Errorf("generate: go.mod: %w", err)
	}
	r := &Root{module: modulePath, files: make(map[string][]byte, len(v.files)+16), folded: map[string]entry{}}
	if err := r.put("go.mod", v.goMod(modulePath)); err != nil {
		return nil, err
	}
	for name, data := range v.files {
		if err := r.put(name, data); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Module is the path of the root's main module.
func (r *Root) Module() string { return r.module }

// Add puts one Go file of the extension into the root. The bytes are kept, not copied; the caller no longer changes them.
func (r *Root) Add(name string, data []byte) error {
	if err := checkPath(name); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	if top, _, _ := strings.Cut(strings.ToLower(name), "/"); reserved[top] {
		return fmt.Errorf("generate: %s: %s at the root of a build is loomext's own; rename it", name, top)
	}
	if path.Ext(name) != ".go" {
		return fmt.Errorf("generate: %s: a build root takes Go files alone of an extension; leave it out", name)
	}
	return r.put(name, data)
}

// AddSatellite puts one rendered file of the program itself into the root, below [SatelliteDir].
func (r *Root) AddSatellite(name string, data []byte) error {
	if err := checkPath(name); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	if path.Dir(name) != SatelliteDir {
		return fmt.Errorf("generate: %s: a rendered file stands in %s/", name, SatelliteDir)
	}
	return r.put(name, data)
}

func (r *Root) put(name string, data []byte) error {
	folded := strings.ToLower(name)
	if have, ok := r.folded[folded]; ok {
		return fmt.Errorf("generate: %s: %s is already in the build root; two files cannot share a name in any letter case", name, have.path)
	}
	// A name's parents may be there already as directories, spelled alike, but not as files.
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		have, ok := r.folded[strings.ToLower(dir)]
		if ok && (!have.dir || have.path != dir) {
			return fmt.Errorf("generate: %s: %s is already in the build root; a directory cannot share its name in any letter case", name, have.path)
		}
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		r.folded[strings.ToLower(dir)] = entry{path: dir, dir: true}
	}
	r.folded[folded] = entry{path: name}
	r.files[name] = data
	return nil
}

// File returns one file's bytes, which are not to be changed.
func (r *Root) File(name string) ([]byte, bool) {
	data, ok := r.files[name]
	return data, ok
}

// Files yields every file in the order of the paths. The bytes are not to be changed.
func (r *Root) Files() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, name := range slices.Sorted(maps.Keys(r.files)) {
			if !yield(name, r.files[name]) {
				return
			}
		}
	}
}

// Digest is "sha256:<64 hex>" over the sorted, length-prefixed pairs of path and bytes.
func (r *Root) Digest() string { return digest(r.files) }

func digest(files map[string][]byte) string {
	h := sha256.New()
	var length [8]byte
	write := func(n int) {
		binary.BigEndian.PutUint64(length[:], uint64(n))
		h.Write(length[:])
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		write(len(name))
		h.Write([]byte(name))
		write(len(files[name]))
		h.Write(files[name])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

const (
	fileMode fs.FileMode = 0o644
	dirMode  fs.FileMode = 0o755
)

// WriteTo makes dir, which must not be there, and writes the root into it with modes that no umask changes. On an error
// nothing of dir is left.
func (r *Root) WriteTo(dir string) error { return r.write(dir, "") }

// WriteSharing is WriteTo with one symbolic link in the place of vendor/, to a directory that [CheckVendor] takes. It
// spares a build most of the files it would write and remove again.
func (r *Root) WriteSharing(dir, vendor string) error { return r.write(dir, vendor) }

func (r *Root) write(dir, vendor string) (err error) {
	if err := os.Mkdir(dir, dirMode); err != nil {
		return fmt.Errorf("generate: write the build root: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("generate: write the build root: %w", err), os.RemoveAll(dir))
		}
	}()
	if err := os.Chmod(dir, dirMode); err != nil {
		return err
	}
	shared := func(string) bool { return false }
	if vendor != "" {
		if err := os.Symlink(vendor, filepath.Join(dir, vendorDir)); err != nil {
			return err
		}
		shared = func(name string) bool { return within(name, vendorDir) }
	}
	for _, d := range r.dirs() {
		if shared(d) {
			continue
		}
		full := filepath.Join(dir, filepath.FromSlash(d))
		if err := os.Mkdir(full, dirMode); err != nil {
			return err
		}
		if err := os.Chmod(full, dirMode); err != nil {
			return err
		}
	}
	for name, data := range r.files {
		if shared(name) {
			continue
		}
		if err := writeNew(filepath.Join(dir, filepath.FromSlash(name)), data); err != nil {
			return err
		}
	}
	return nil
}

// dirs lists every directory, each after the one it is in.
func (r *Root) dirs() []string {
	var all []string
	for _, e := range r.folded {
		if e.dir {
			all = append(all, e.path)
		}
	}
	slices.Sort(all)
	return all
}

// writeNew writes a file that must not be there: a link or a second file in the way is an error, never followed.
func writeNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(fileMode), f.Close())
}
