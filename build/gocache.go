package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loomext/loomext/vendorize"
)

// A trusted Go build cache holds the compiled preludes and standard library, and nothing that any extension's build
// wrote. A build gets a view: a directory of hard links to its files, where the go command may add entries of its own.
//
// Go spreads its entries over 256 directories, but names each by its whole hash. So a cache here has one directory of
// entries and 256 symbolic links to it: making 256 directories costs more than linking every file.
//
// Beside the entries stands the vendor directory that they were compiled from. The roots of builds link to it.
const (
	entriesDir = "all"
	vendorName = "vendor"
	indexName  = "index.json"
	// maxIndex bounds what is read of an index, which takes about 100 KiB.
	maxIndex = 8 << 20
)

// untouched is the modification time of every trusted file. It lies in the future, so that the go command does not
// refresh it when it uses the entry (it does so for times more than an hour ago); any write moves it.
var untouched = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

type trusted struct {
	dir   string
	index []indexed
}

type indexed struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// errDamaged is wrapped by every finding that a trusted cache is not what was filled.
var errDamaged = errors.New("the compiled standard library in the cache is damaged")

// trusted returns the Go build cache for a toolchain, filling it first where there is none or a damaged one.
func (b *Builder) trusted(ctx context.Context, c *cache, t Toolchain) (*trusted, error) {
	std := slices.Clone(b.Std)
	slices.Sort(std)
	std = slices.Compact(std)
	parts := append([]string{formatVersion, "gocache", t.Version, t.Stamp, t.GoRoot, vendorize.Digest()}, recordedEnv()...)
	parts = append(append(parts, flags()...), std...)
	key := keyOf(parts)
	unlock, err := c.lock(ctx, "gocache", key)
	if err != nil {
		return nil, err
	}
	defer unlock()

	dir := c.path(goCachesDir, key)
	have, err := openTrusted(dir)
	if err == nil {
		touch(dir)
		return have, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		b.say("cache: " + err.Error() + "; compiling it anew")
		if err := removeAll(dir); err != nil {
			return nil, storage(err)
		}
	}
	b.say("compile: the standard library and the preludes, once for " + t.Version)
	if err := b.fill(ctx, c, t, std, dir); err != nil {
		return nil, err
	}
	c.thin(goCachesDir, key, 0, keepGoCache)
	return openTrusted(dir)
}

// openTrusted reads the index of a cache and holds every entry against it.
func openTrusted(dir string) (*trusted, error) {
	text, err := readBounded(filepath.Join(dir, indexName), maxIndex)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Lstat(dir); err == nil {
			return nil, fmt.Errorf("%w: it has no index", errDamaged)
		}
		return nil, os.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errDamaged, err)
	}
	t := &trusted{dir: dir}
	if err := json.Unmarshal(text, &t.index); err != nil {
		return nil, fmt.Errorf("%w: its index: %v", errDamaged, err)
	}
	for _, e := range t.index {
		if e.Name != filepath.Base(e.Name) || len(e.Name) < 2 {
			return nil, fmt.Errorf("%w: its index names %.80q", errDamaged, e.Name)
		}
	}
	return t, t.verify()
}

// verify stats every entry, which notices truncation and any write that did not forge the time back, and reads the vendor
// directory. A compiler that was made to run code of its own is for the jail to hold.
func (t *trusted) verify() error {
	for _, e := range t.index {
		info, err := os.Lstat(filepath.Join(t.dir, entriesDir, e.Name))
		switch {
		case err != nil:
			return fmt.Errorf("%w: %v", errDamaged, err)
		case !info.Mode().IsRegular() || info.Size() != e.Size || !info.ModTime().Equal(untouched):
			return fmt.Errorf("%w: %s was changed", errDamaged, e.Name)
		}
	}
	if err := vendorize.CheckVendor(t.vendor()); err != nil {
		return fmt.Errorf("%w: %v", errDamaged, err)
	}
	return nil
}

// vendor is the vendor directory for roots to share.
func (t *trusted) vendor() string { return filepath.Join(t.dir, vendorName) }

// check is verify after an extension's build had a view: if that changed a trusted entry, the cache is thrown away and
// what was built is not used.
func (t *trusted) check() error {
	err := t.verify()
	if err == nil {
		return nil
	}
	return &Error{
		What: "the build of the extension wrote into the compiled standard library, which is thrown away: " + err.Error(),
		Fix:  "look at what the extension does to the compiler, and try again",
		Err:  errors.Join(err, removeAll(t.dir)),
	}
}

// view makes the build's own Go cache in a stage and returns its path.
func (t *trusted) view(s *stage) (string, error) {
	dir := s.path("gocache")
	entries := filepath.Join(dir, entriesDir)
	if err := errors.Join(os.Mkdir(dir, privateDir), os.Mkdir(entries, privateDir)); err != nil {
		return "", storage(err)
	}
	for i := range 256 {
		fan := fmt.Sprintf("%02x", i)
		// A hard link to a symbolic link costs a twentieth of a new one.
		if os.Link(filepath.Join(t.dir, fan), filepath.Join(dir, fan)) == nil {
			continue
		}
		if err := os.Symlink(entriesDir, filepath.Join(dir, fan)); err != nil {
			return "", storage(err)
		}
	}
	for _, e := range t.index {
		from, to := filepath.Join(t.dir, entriesDir, e.Name), filepath.Join(entries, e.Name)
		if os.Link(from, to) == nil {
			continue
		}
		// A file system without hard links, or with too many to one file.
		if err := copyFile(from, to); err != nil {
			return "", storage(err)
		}
	}
	return dir, storage(notYetTrimmed(dir))
}

// notYetTrimmed keeps the go command from searching a cache for old entries when it closes it.
func notYetTrimmed(dir string) error {
	return os.WriteFile(filepath.Join(dir, "trim.txt"), fmt.Append(nil, time.Now().Unix()), 0o644)
}

// fill compiles our own packages and the given standard ones into a new cache and renames it to dir.
func (b *Builder) fill(ctx context.Context, c *cache, t Toolchain, std []string, dir string) (err error) {
	stage, err := c.stage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.remove()) }()
	root, err := fillRoot(std)
	if err != nil {
		return err
	}
	if err := root.WriteTo(stage.path("root")); err != nil {
		return storage(err)
	}
	fresh := stage.path("gocache")
	if err := errors.Join(os.Mkdir(fresh, privateDir), os.Mkdir(filepath.Join(fresh, entriesDir), privateDir)); err != nil {
		return storage(err)
	}
	for i := range 256 {
		if err := os.Symlink(entriesDir, filepath.Join(fresh, fmt.Sprintf("%02x", i))); err != nil {
			return storage(err)
		}
	}
	if err := notYetTrimmed(fresh); err != nil {
		return storage(err)
	}
	if _, err := b.run(ctx, t, bounds{wall: fillLimit}.filled(), stage, fresh); err != nil {
		return fmt.Errorf("compiling the preludes and the standard library, before any extension: %w", err)
	}
	if err := os.Rename(filepath.Join(stage.path("root"), "vendor"), filepath.Join(fresh, vendorName)); err != nil {
		return storage(err)
	}
	if err := seal(fresh); err != nil {
		return storage(err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return storage(err)
	}
	return storage(os.Chmod(dir, 0o555))
}

// fillRoot is a program that imports all that extensions may.
func fillRoot(std []string) (*vendorize.Root, error) {
	root, err := vendorize.New("extension.invalid/fill")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("package main\n\nimport (\n")
	for _, p := range vendorize.Packages() {
		if strings.Contains(p, "/prelude/") && !slices.Contains(strings.Split(p, "/"), "internal") {
			fmt.Fprintf(&b, "\t_ %q\n", p)
		}
	}
	for _, p := range std {
		if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") {
			fmt.Fprintf(&b, "\t_ %q\n", p)
		}
	}
	b.WriteString(")\n\nfunc main() {}\n")
	return root, root.AddSatellite(vendorize.SatelliteDir+"/main.go", b.Bytes())
}

// seal makes a filled cache read-only, stamps its entries and writes its index.
func seal(dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, entriesDir))
	if err != nil {
		return err
	}
	index := []indexed{}
	for _, e := range entries {
		path := filepath.Join(dir, entriesDir, e.Name())
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(os.Chmod(path, 0o444), os.Chtimes(path, untouched, untouched)); err != nil {
			return err
		}
		index = append(index, indexed{Name: e.Name(), Size: info.Size()})
	}
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(filepath.Join(dir, vendorName), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o555)
		}
		// The go command writes an index of every package whose files are older than a few seconds, under the path of the
		// build's root: it would be made for each build and never read. A file of the future gets none.
		return errors.Join(os.Chmod(path, 0o444), os.Chtimes(path, untouched, untouched))
	})
	// What the go command keeps for itself at the top: trim.txt, README.
	top, readErr := os.ReadDir(dir)
	for _, e := range top {
		if e.Type().IsRegular() {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, readErr,
		os.WriteFile(filepath.Join(dir, indexName), text, 0o444),
		os.Chmod(filepath.Join(dir, entriesDir), 0o555),
	)
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
