package vendorize

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// authored is what stands in an author's own tree: what a satellite is compiled from, and captest for their tests.
var authored = sync.OnceValues(func() (*vendorTree, error) { return readVendored(hosttestDir) })

const (
	goModFile = "go.mod"
	// maxGoMod is the largest go.mod of an author that is read, in bytes. One that requires what it may is a tenth of a
	// kilobyte.
	maxGoMod = 256 << 10
)

// Author is the vendor/ and the go.mod of an author's own tree, as they should be, compared with what is there. With
// them gopls, go build, go vet and go test resolve everything that an extension may import, with no network. Neither
// reaches an install.
type Author struct {
	dir   string
	files map[string][]byte // what has to be there: go.mod, vendor/…
	stale []string
}

// Scaffold gives the go.mod and the vendor/ of a new tree, by slash path. The bytes are not to be changed.
func Scaffold(modulePath string) (map[string][]byte, error) {
	v, err := authored()
	if err != nil {
		return nil, err
	}
	mod, err := v.authorMod(nil, modulePath)
	if err != nil {
		return nil, err
	}
	files := maps.Clone(v.files)
	files[goModFile] = mod
	return files, nil
}

// OpenAuthor compares an author's tree with what it should have. modulePath is for a tree whose go.mod names none. It
// writes nothing, and refuses a vendor/ or a go.mod that holds anything else than the prelude and what it needs: an
// extension can import nothing else, so to overwrite it would be to lose it.
func OpenAuthor(dir, modulePath string) (*Author, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("generate: %w; name the directory of an extension", err)
	}
	defer root.Close()
	v, err := authored()
	if err != nil {
		return nil, err
	}
	have, err := readGoMod(root)
	if err != nil {
		return nil, err
	}
	mod, err := v.authorMod(have, modulePath)
	if err != nil {
		return nil, err
	}
	a := &Author{dir: dir, files: maps.Clone(v.files)}
	a.files[goModFile] = mod
	if !bytes.Equal(have, mod) {
		a.stale = append(a.stale, goModFile)
	}
	found, err := v.survey(root)
	if err != nil {
		return nil, err
	}
	for name, want := range v.files {
		if data, ok := found[name]; !ok || !bytes.Equal(data, want) {
			a.stale = append(a.stale, name)
		}
	}
	for name := range found {
		if _, ok := v.files[name]; !ok {
			a.stale = append(a.stale, name)
		}
	}
	slices.Sort(a.stale)
	return a, nil
}

// Stale lists what is missing, differs or is there too much, by slash path, sorted; it is empty where all is current.
func (a *Author) Stale() []string { return slices.Clone(a.stale) }

// Files is how many files the tree should have.
func (a *Author) Files() int { return len(a.files) }

func readGoMod(root *os.Root) ([]byte, error) {
	info, err := root.Lstat(goModFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("generate: go.mod: %w", err)
	case !info.Mode().IsRegular():
		return nil, errors.New("generate: go.mod: it is no regular file; put a file of your own there, or remove it")
	case info.Size() > maxGoMod:
		return nil, fmt.Errorf("generate: go.mod: it has %d bytes, more than %d; an extension's is a few lines", info.Size(), maxGoMod)
	}
	data, err := root.ReadFile(goModFile)
	if err != nil {
		return nil, fmt.Errorf("generate: go.mod: %w", err)
	}
	return data, nil
}

// survey reads the vendor/ that is there, and refuses one with files of other modules.
func (v *vendorTree) survey(root *os.Root) (map[string][]byte, error) {
	found := map[string][]byte{}
	info, err := root.Lstat(vendorDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found, nil
	case err != nil:
		return nil, fmt.Errorf("generate: vendor: %w", err)
	case !info.IsDir():
		return nil, errors.New("generate: vendor: it is no directory; remove it, and vendor again")
	}
	err = fs.WalkDir(root.FS(), vendorDir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !v.ours(name) {
			return fmt.Errorf("%s is of no module that the prelude needs, and an extension can import nothing else; move it away, or remove vendor/", printed(name))
		}
		if !d.Type().IsRegular() {
			found[name] = nil // differs from whatever should be there
			return nil
		}
		data, err := root.ReadFile(name)
		found[name] = data
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("generate: vendor: %w", err)
	}
	return found, nil
}

// ours reports whether a file of vendor/ is in a module that is vendored here, whatever its version.
func (v *vendorTree) ours(name string) bool {
	rest := strings.TrimPrefix(name, vendorDir+"/")
	return rest == modulesFile || slices.ContainsFunc(v.requires, func(r requirement) bool { return strings.HasPrefix(rest, r.path+"/") })
}

// printed is a name from a disk as it can stand in a message.
func printed(name string) string {
	if checkPath(name) == nil {
		return name
	}
	return fmt.Sprintf("%q", name)
}

// authorMod is a go.mod with the requirements of the prelude, made of the one that is there, or new.
func (v *vendorTree) authorMod(have []byte, modulePath string) ([]byte, error) {
	f, err := modfile.Parse(goModFile, have, nil)
	if err != nil {
		return nil, fmt.Errorf("generate: %w; correct it", err)
	}
	if f.Module == nil {
		if err := f.AddModuleStmt(modulePath); err != nil {
			return nil, fmt.Errorf("generate: go.mod: %w", err)
		}
	}
	if err := checkModule(f.Module.Mod.Path, v.modulePaths()); err != nil {
		return nil, fmt.Errorf("generate: go.mod: %w", err)
	}
	if err := v.onlyOurs(f); err != nil {
		return nil, err
	}
	if f.Go == nil || semver.Compare("v"+f.Go.Version, "v"+goVersion) < 0 {
		if err := f.AddGoStmt(goVersion); err != nil {
			return nil, fmt.Errorf("generate: go.mod: %w", err)
		}
	}
	if !v.required(f) {
		var requires []*modfile.Require
		for _, r := range v.requires {
			q := &modfile.Require{Indirect: r.path != ownModule}
			q.Mod.Path, q.Mod.Version = r.path, r.version
			requires = append(requires, q)
		}
		f.SetRequireSeparateIndirect(requires)
	}
	f.Cleanup()
	text, err := f.Format()
	if err != nil {
		return nil, fmt.Errorf("generate: go.mod: %w", err)
	}
	return text, nil
}

// required reports whether a go.mod requires what it should, however that is written.
func (v *vendorTree) required(f *modfile.File) bool {
	for _, r := range v.requires {
		if !slices.ContainsFunc(f.Require, func(q *modfile.Require) bool { return q.Mod.Path == r.path && q.Mod.Version == r.version }) {
			return false
		}
	}
	return len(f.Require) == len(v.requires)
}

// onlyOurs refuses a go.mod that brings other modules in, and takes a replacement of ours out: it would read a prelude
// that is not the one that extensions are built with.
func (v *vendorTree) onlyOurs(f *modfile.File) error {
	known := v.modulePaths()
	const only = "an extension can import the prelude and a part of the standard library and nothing else"
	for _, q := range f.Require {
		if !slices.Contains(known, q.Mod.Path) {
			return fmt.Errorf("generate: go.mod:%d: it requires %s; %s: take the line out", q.Syntax.Start.Line, q.Mod.Path, only)
		}
	}
	for _, t := range f.Tool {
		return fmt.Errorf("generate: go.mod:%d: it has the tool %s; %s: take the line out", t.Syntax.Start.Line, t.Path, only)
	}
	for _, r := range slices.Clone(f.Replace) {
		if !slices.Contains(known, r.Old.Path) {
			return fmt.Errorf("generate: go.mod:%d: it replaces %s; %s: take the line out", r.Syntax.Start.Line, r.Old.Path, only)
		}
		if err := f.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return fmt.Errorf("generate: go.mod: %w", err)
		}
	}
	return nil
}

// Write brings the tree up to date: vendor/ is written beside and put in its place whole, and so is go.mod. What a killed
// process left beside them goes. Where nothing is stale it writes nothing.
func (a *Author) Write() (err error) {
	root, err := os.OpenRoot(a.dir)
	if err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	defer root.Close()
	if len(a.stale) == 0 {
		Sweep(root, ".")
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("generate: cannot write into %s: %w; make it writable, with space to spare", a.dir, err)
		}
	}()
	beside, err := NewStage(root, ".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, beside.Remove()) }()
	stage := beside.Name
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		to := path.Join(stage, name)
		if err := root.MkdirAll(path.Dir(to), dirMode); err != nil {
			return err
		}
		if err := root.WriteFile(to, a.files[name], fileMode); err != nil {
			return err
		}
	}
	if a.stale[0] != goModFile || len(a.stale) > 1 {
		if err := swap(root, path.Join(stage, vendorDir), vendorDir); err != nil {
			return err
		}
	}
	if a.stale[0] == goModFile {
		return root.Rename(path.Join(stage, goModFile), goModFile)
	}
	return nil
}

// swap puts one directory in the place of another, which is then where the one was. Where the system cannot exchange
// two names at once there is a moment with neither.
func swap(root *os.Root, fresh, place string) error {
	if _, err := root.Lstat(place); errors.Is(err, fs.ErrNotExist) {
		return root.Rename(fresh, place)
	}
	if exchange(root, fresh, place) == nil {
		return nil
	}
	return swapSlowly(root, fresh, place)
}

func swapSlowly(root *os.Root, fresh, place string) error {
	aside := fresh + "-before"
	if err := root.Rename(place, aside); err != nil {
		return err
	}
	if err := root.Rename(fresh, place); err != nil {
		return errors.Join(err, root.Rename(aside, place))
	}
	return nil
}
