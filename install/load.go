package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
)

// Installed is an installed extension that passed every check of a load. It holds its
// generation, so that a reinstall or a removal leaves the files until Close.
type Installed struct {
	Record   Record
	Dir      string // of the generation
	Artifact string // path of the loom_satellite
	Tree     source.Tree
	Manifest manifest.Manifest
	// Image is the artifact as it was checked, in sealed memory: what is launched from it are
	// those bytes, whatever becomes of the file. It is nil after [Store.Load].
	Image *jail.Image

	held *os.File
}

// Close lets the generation go, and the image where there is one. It is safe to call more than
// once. Satellites that were launched live on.
func (i *Installed) Close() error {
	var err error
	if i.Image != nil {
		err = i.Image.Close()
	}
	if i.held == nil { // of a [Try]
		return err
	}
	if held := i.held.Close(); !errors.Is(held, os.ErrClosed) {
		err = errors.Join(err, held)
	}
	return err
}

// loadAttempts bounds how often a load starts over because a reinstall switched the link
// between reading it and holding what it named.
const loadAttempts = 4

// Load reads an installed extension and checks link, record, digests, manifest, approval and
// seam. It needs no Go toolchain and writes nothing. Errors are of layer "record" and wrap
// [ErrNotInstalled] where there is no such extension. What is to be launched is loaded with
// [Store.LoadImage].
func (s *Store) Load(ctx context.Context, name string) (*Installed, error) {
	return s.attempt(ctx, name, false)
}

// LoadImage is Load for whoever launches. The artifact is read once, into [Installed.Image],
// and held against the record there. Errors are those of Load, and of layer "jail" where the
// artifact is as it should be and the machine does not let it be sealed.
func (s *Store) LoadImage(ctx context.Context, name string) (*Installed, error) {
	return s.attempt(ctx, name, true)
}

// attempt loads until no reinstall comes in between.
func (s *Store) attempt(ctx context.Context, name string, seal bool) (*Installed, error) {
	var err error
	for range loadAttempts {
		var installed *Installed
		if installed, err = s.load(ctx, name, seal); err == nil {
			return installed, nil
		}
		switched := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EWOULDBLOCK)
		if !switched || errors.Is(err, ErrNotInstalled) || ctx.Err() != nil {
			break
		}
	}
	return nil, refuse(LayerRecord, err)
}

func (s *Store) load(ctx context.Context, name string, seal bool) (_ *Installed, err error) {
	base, err := s.current(name)
	if err != nil {
		return nil, err
	}
	held, err := lockDir(s.generation(base), shared)
	if err != nil {
		return nil, err
	}
	a := &audit{store: s, name: name, seal: seal}
	defer func() {
		if err != nil {
			_ = held.Close()
			a.letGo()
		}
	}()
	for _, step := range a.loadSteps() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := step.check(ctx); err != nil {
			return nil, err
		}
	}
	if a.base != base {
		return nil, fs.ErrNotExist // switched in between; once more
	}
	return &Installed{
		Record: a.record, Dir: a.dir(), Artifact: filepath.Join(a.dir(), artifactName),
		Tree: a.tree, Manifest: a.manifest, Image: a.image, held: held,
	}, nil
}

// Entry is one name of a store: its record, or why that cannot be read.
type Entry struct {
	Name string
	// Generation is the base name of the generation's directory. It is empty where the
	// link names none.
	Generation string
	Record     *Record
	Err        error
}

// List reads the record of every name, sorted. It checks links and records and nothing
// that costs: [Store.Verify] does. A broken install is an entry with its fault.
func (s *Store) List() ([]Entry, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(names))
	var (
		next    atomic.Int64
		readers sync.WaitGroup
	)
	for range min(len(names), runtime.GOMAXPROCS(0)) {
		readers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				entries[i] = s.Entry(names[i])
			}
		})
	}
	readers.Wait()
	return slices.DeleteFunc(entries, func(e Entry) bool {
		return errors.Is(e.Err, ErrNotInstalled) // removed since the directory was read
	}), nil
}

// names are those that have a link, or something in a link's place, sorted.
func (s *Store) names() ([]string, error) {
	dir, err := os.Open(filepath.Join(s.home, linksDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, refuse(LayerRecord, err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, refuse(LayerRecord, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return strings.HasPrefix(name, ".") // what file managers leave; no extension has such a name
	})
	slices.Sort(names)
	return names, nil
}

// Generations are the generations that are current: the base name of each one's directory,
// by the name of the extension. It is empty where the link names none, which [Store.Entry]
// has the reason for. Nothing but links is read, so that it can be asked many times a
// second: what is installed has changed exactly when this has.
func (s *Store) Generations() (map[string]string, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	generations := make(map[string]string, len(names))
	for _, name := range names {
		base, err := s.current(name)
		if !errors.Is(err, ErrNotInstalled) {
			generations[name] = base
		}
	}
	return generations, nil
}

// Entry is what [Store.List] has of one name. Its error is of layer "record", and wraps
// [ErrNotInstalled] where there is no such extension.
func (s *Store) Entry(name string) Entry {
	var entry Entry
	for range loadAttempts {
		if entry = s.entry(name); entry.Err == nil || entry.Generation == "" {
			break
		}
		if base, err := s.current(name); err == nil && base == entry.Generation {
			break
		} // else a reinstall took away what was being read
	}
	return entry
}

func (s *Store) entry(name string) Entry {
	a := &audit{store: s, name: name}
	ctx := context.Background() // two small reads
	if _, err := a.checkLink(ctx); err != nil {
		return Entry{Name: name, Generation: a.base, Err: refuse(LayerRecord, err)}
	}
	if _, err := a.checkRecord(ctx); err != nil {
		return Entry{Name: name, Generation: a.base, Err: refuse(LayerRecord, err)}
	}
	return Entry{Name: name, Generation: a.base, Record: &a.record}
}

// Record reads the record of one name and checks what [Store.List] does. Errors are of
// layer "record".
func (s *Store) Record(name string) (Record, error) {
	entry := s.Entry(name)
	if entry.Err != nil {
		return Record{}, entry.Err
	}
	return *entry.Record, nil
}

// Remove takes an extension away: its link first, in one step, then its generations, but for
// those that a session still holds, which the next install of the name sweeps.
func (s *Store) Remove(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return refuse(LayerRecord, err)
	}
	if _, err := os.Lstat(s.link(name)); err != nil {
		_, err := s.current(name)
		return refuse(LayerRecord, err)
	}
	if err := s.prepare(); err != nil { // a store that was copied may lack the locks
		return refuse(LayerRecord, err)
	}
	release, err := s.lock(ctx, name)
	if err != nil {
		return refuse(LayerRecord, err)
	}
	defer release()
	if err := s.unlinked(name, os.Remove(s.link(name))); err != nil {
		return refuse(LayerRecord, err)
	}
	s.sweepGenerations(name, "")
	return nil
}

// unlinked says what a failed removal of the link means.
func (s *Store) unlinked(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = s.current(name) // another removal was first
		return err
	case errors.Is(err, syscall.ENOTEMPTY):
		return fmt.Errorf("%s is a directory that no install made; move it away", s.link(name))
	case err != nil:
		return fmt.Errorf("cannot remove %s: %w; make the store writable", name, err)
	}
	return nil
}
