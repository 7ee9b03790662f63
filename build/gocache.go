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

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vendorize"
)

// A trusted Go build cache holds the compiled preludes and standard library, and nothing that any extension's build
// wrote. A build has it as its Go cache, read-only.
//
// Go spreads its entries over 256 directories, but names each by its whole hash. So a cache here has one directory of
// entries and 256 symbolic links to it: whether it holds what was filled is then one directory to read.
//
// Beside the entries stands the vendor directory that they were compiled from. The roots of builds link to it.
const (
	entriesDir = "all"
	vendorName = "vendor"
	indexName  = "index.json"
	trimName   = "trim.txt"
	readmeName = "README" // where it is missing, the go command writes its own
	// maxIndex bounds what is read of an index, which takes about 100 KiB.
	maxIndex = 8 << 20
)

const readme = `What loomext compiled of Go's standard library and of its own packages, once for each
toolchain. It may be removed whenever no build is running, and costs a slower build then.
`

// untouched is the modification time of every trusted file. It lies in the future, so that the go command does not
// refresh it when it uses the entry (it does so for times more than an hour ago); any write moves it.
var untouched = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

type trusted struct {
	dir string
	index
	// vendored holds the vendor directory against what it must be.
	vendored func(dir string) error
}

// index is what a cache says of itself.
type index struct {
	Entries []indexed `json:"entries"`
	// Exports is, by import path, the entry that holds a package's export data.
	Exports map[string]string `json:"exports"`
}

type indexed struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// errDamaged is wrapped by every finding that a trusted cache is not what was filled.
var errDamaged = errors.New("the compiled standard library in the cache is damaged")

// trusted returns the Go build cache for a toolchain, filling it first where there is none or a damaged one.
func (b *Builder) trusted(ctx context.Context, c *cache, t Toolchain) (*trusted, error) {
	return b.cacheOf(ctx, c, t, filling{
		kind:     "gocache/3",
		preludes: vendorize.Digest(),
		std:      slices.Clone(b.Std),
		news:     "compile: the standard library and the preludes, once for " + t.Version,
		root:     fillRoot,
		vendored: vendorize.CheckVendor,
	})
}

// filling is what a cache is filled with.
type filling struct {
	kind     string // raised when this package fills it with something else
	preludes string // their digest
	std      []string
	news     string // said before it
	root     func(std []string) (*vendorize.Root, error)
	vendored func(dir string) error // see [trusted]
	// compile, if not nil, makes another run of the spec of a go build.
	compile func(*jail.Spec)
}

// cacheOf is the cache that has the filling, under a key made of all that is in it.
func (b *Builder) cacheOf(ctx context.Context, c *cache, t Toolchain, f filling) (*trusted, error) {
	slices.Sort(f.std)
	f.std = slices.Compact(f.std)
	parts := append([]string{formatVersion, f.kind, t.Version, t.Stamp, t.GoRoot, f.preludes}, recordedEnv()...)
	key := keyOf(append(append(parts, flags()...), f.std...))
	unlock, err := c.lock(ctx, "gocache", key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return b.openOrFill(ctx, c, t, key, f)
}

// openOrFill opens the cache of a key, whose lock is held, and fills it where there is none or a damaged one.
func (b *Builder) openOrFill(ctx context.Context, c *cache, t Toolchain, key string, f filling) (*trusted, error) {
	dir := c.path(goCachesDir, key)
	have, err := openTrusted(dir, f.vendored)
	if err == nil {
		touch(dir)
		have.notYetTrimmed()
		return have, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		b.say("cache: " + err.Error() + "; compiling it anew")
		if err := removeAll(dir); err != nil {
			return nil, storage(err)
		}
	}
	b.say(f.news)
	if err := b.fill(ctx, c, t, f, dir); err != nil {
		return nil, err
	}
	c.thin(goCachesDir, key, 0, keepGoCache)
	return openTrusted(dir, f.vendored)
}

// openTrusted reads the index of a cache and holds every entry against it.
func openTrusted(dir string, vendored func(string) error) (*trusted, error) {
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
	t := &trusted{dir: dir, vendored: vendored}
	if err := json.Unmarshal(text, &t.index); err != nil {
		return nil, fmt.Errorf("%w: its index: %v", errDamaged, err)
	}
	known := map[string]bool{}
	for _, e := range t.Entries {
		if e.Name != filepath.Base(e.Name) || len(e.Name) < 2 {
			return nil, fmt.Errorf("%w: its index names %.80q", errDamaged, e.Name)
		}
		known[e.Name] = true
	}
	for path, name := range t.Exports {
		if !known[name] {
			return nil, fmt.Errorf("%w: its index has no entry for %.80q", errDamaged, path)
		}
	}
	if err := t.verify(); err != nil {
		return nil, err
	}
	return t, nil
}

// verify stats every entry, which notices truncation and any write that did not forge the time back, removes entries that
// were added, and reads the vendor directory.
func (t *trusted) verify() error {
	entries := filepath.Join(t.dir, entriesDir)
	for _, e := range t.Entries {
		info, err := os.Lstat(filepath.Join(entries, e.Name))
		switch {
		case err != nil:
			return fmt.Errorf("%w: %v", errDamaged, err)
		case !info.Mode().IsRegular() || info.Size() != e.Size || !info.ModTime().Equal(untouched):
			return fmt.Errorf("%w: %s was changed", errDamaged, e.Name)
		}
	}
	if err := t.prune(entries); err != nil {
		return fmt.Errorf("%w: %v", errDamaged, err)
	}
	if err := t.vendored(t.vendor()); err != nil {
		return fmt.Errorf("%w: %v", errDamaged, err)
	}
	return nil
}

// prune removes the entries that are not in the index. Without a wall, the go command of user 0 adds what it compiled, and
// never misses it again.
func (t *trusted) prune(entries string) error {
	f, err := os.Open(entries)
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil || len(names) == len(t.Entries) {
		return err
	}
	// Another build may be reading it meanwhile, as another user.
	if err := os.Chmod(entries, 0o755); err != nil {
		return err
	}
	known := make(map[string]bool, len(t.Entries))
	for _, e := range t.Entries {
		known[e.Name] = true
	}
	for _, name := range names {
		if !known[name] {
			err = errors.Join(err, removeAll(filepath.Join(entries, name)))
		}
	}
	return errors.Join(err, os.Chmod(entries, readOnlyDir))
}

// vendor is the vendor directory for roots to share.
func (t *trusted) vendor() string { return filepath.Join(t.dir, vendorName) }

// check is verify after an extension's build that the file system wall did not hold off the cache: if a trusted entry was
// changed, the cache is thrown away and what was built is not used. Behind the wall there is nothing to look for, and the
// look would cost every build what it costs before it: some milliseconds.
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

// notYetTrimmed says in a cache that its old entries were looked for just now. The go command believes it for a day, and
// would otherwise go through all entries at the end of every build, to remove none of them.
func (t *trusted) notYetTrimmed() {
	f, err := os.OpenFile(filepath.Join(t.dir, trimName), os.O_WRONLY, 0)
	if err != nil {
		return // a cache on a read-only disk costs that time
	}
	defer f.Close()
	fmt.Fprint(f, time.Now().Unix()) // over a time of as many digits, so that a reader sees one or the other
}

// fill compiles our own packages and standard ones into a new cache and renames it to dir.
func (b *Builder) fill(ctx context.Context, c *cache, t Toolchain, f filling, dir string) (err error) {
	stage, err := c.stage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.remove()) }()
	root, err := f.root(f.std)
	if err != nil {
		return err
	}
	if err := root.WriteTo(stage.path(rootDir)); err != nil {
		return storage(err)
	}
	if err := neverIndexed(stage.path(rootDir)); err != nil {
		return storage(err)
	}
	fresh := stage.path(workDir, freshDir)
	if err := errors.Join(os.Mkdir(fresh, privateDir), os.Mkdir(filepath.Join(fresh, entriesDir), privateDir)); err != nil {
		return storage(err)
	}
	for i := range 256 {
		if err := os.Symlink(entriesDir, filepath.Join(fresh, fmt.Sprintf("%02x", i))); err != nil {
			return storage(err)
		}
	}
	env := environment(t, fresh, stage.path(workDir, tmpDir))
	bound := bounds{cpu: fillLimit, wall: fillLimit}.filled()
	spec := b.spec(t, bound, stage, env)
	if f.compile != nil {
		f.compile(&spec)
	}
	if _, err := b.start(ctx, spec, bound, stage); err != nil {
		if closed := t.closed(); closed != nil {
			return closed
		}
		return fmt.Errorf("compiling the preludes and the standard library, before any extension: %w", err)
	}
	exports, err := b.exports(ctx, t, stage, env)
	if err != nil {
		return err
	}
	if err := reclaim(fresh); err != nil {
		return storage(err)
	}
	if err := os.Rename(stage.path(rootDir, vendorName), filepath.Join(fresh, vendorName)); err != nil {
		return storage(err)
	}
	if err := seal(fresh, exports); err != nil {
		return storage(err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return storage(err)
	}
	return storage(os.Chmod(dir, readOnlyDir))
}

// reclaim makes this process's user the owner of what a compiler run wrote: as user 0, the jail gave its directory to
// another.
func reclaim(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, os.Geteuid(), os.Getegid())
	})
}

// neverIndexed dates every file of a build root into the future. The go command writes an index of every package whose
// files are older than a few seconds into its cache, under the path of the build's root: a fill would keep what no
// build ever reads, and in a build of an extension the write would fail. Files of the future get none.
func neverIndexed(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return os.Chtimes(path, untouched, untouched)
	})
}

// fillModule is the module of the program that a fill compiles.
const fillModule = "extension.invalid/fill"

// fillRoot is a program that imports all that extensions may.
func fillRoot(std []string) (*vendorize.Root, error) {
	root, err := vendorize.New(fillModule)
	if err != nil {
		return nil, err
	}
	return root, root.AddSatellite(vendorize.SatelliteDir+"/main.go", fillProgram(std))
}

// fillProgram is the text of that program.
func fillProgram(std []string) []byte {
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
	return b.Bytes()
}

// seal makes a filled cache read-only, stamps its entries and writes its index.
func seal(dir string, exports map[string]string) error {
	entries, err := os.ReadDir(filepath.Join(dir, entriesDir))
	if err != nil {
		return err
	}
	index := index{Entries: []indexed{}, Exports: exports}
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
		if err := errors.Join(os.Chmod(path, readOnlyFile), os.Chtimes(path, untouched, untouched)); err != nil {
			return err
		}
		index.Entries = append(index.Entries, indexed{Name: e.Name(), Size: info.Size()})
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
			return os.Chmod(path, readOnlyDir)
		}
		return os.Chmod(path, readOnlyFile)
	})
	// What the go command keeps for itself at the top.
	top, readErr := os.ReadDir(dir)
	for _, e := range top {
		if e.Type().IsRegular() {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	trim := filepath.Join(dir, trimName)
	return errors.Join(err, readErr,
		os.WriteFile(filepath.Join(dir, readmeName), []byte(readme), readOnlyFile),
		os.WriteFile(filepath.Join(dir, indexName), text, readOnlyFile),
		os.WriteFile(trim, fmt.Append(nil, time.Now().Unix()), 0o644),
		os.Chmod(trim, 0o644), // whatever the umask is
		os.Chmod(filepath.Join(dir, entriesDir), readOnlyDir),
	)
}
