package install

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/loomext/loomext/manifest"
)

// The parts of a store, below its home.
const (
	linksDir       = "extensions"
	generationsDir = "generations"
	stagingDir     = ".staging"
	locksDir       = ".locks"
)

// The parts of a generation.
const (
	treeName     = "tree"
	artifactName = "loom_satellite"
	recordName   = "install.json"
)

const (
	// dirMode keeps a store to its owner: records name secrets and hosts.
	dirMode = 0o700
	// lockPoll is how often a waiting install looks whether its name is free.
	lockPoll = 20 * time.Millisecond
	// digestHexLen is the length of a SHA-256 in hexadecimal, as generations are named with.
	digestHexLen = 64
)

// Store is one directory of installed extensions. The zero value is of no use; see [Open].
type Store struct {
	home string
}

// DefaultHome is $LOOM_HOME or, where that is unset or empty, .loom in the home directory.
func DefaultHome() (string, error) {
	if home := os.Getenv("LOOM_HOME"); home != "" {
		return filepath.Abs(home)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no home directory for the store (%w); set LOOM_HOME or pass --home", err)
	}
	return filepath.Join(home, ".loom"), nil
}

// Open names a store. It touches nothing: a store that is not there is empty,
// and the first install makes it.
func Open(home string) *Store { return &Store{home: home} }

// Home is the directory of the store.
func (s *Store) Home() string { return s.home }

func (s *Store) link(name string) string { return filepath.Join(s.home, linksDir, name) }

func (s *Store) generation(base string) string {
	return filepath.Join(s.home, generationsDir, base)
}

// checkName keeps a name that came from a command line from being a path.
func checkName(name string) error {
	if manifest.IsName(name) {
		return nil
	}
	return fmt.Errorf("%q is no extension name; names are [a-z][a-z0-9_]* without a double underscore", name)
}

// prepare makes the directories of the store.
func (s *Store) prepare() error {
	for _, dir := range []string{"", linksDir, generationsDir, stagingDir, locksDir} {
		if err := os.MkdirAll(filepath.Join(s.home, dir), dirMode); err != nil {
			return fmt.Errorf("cannot make the store: %w; name another with --home, or make this one writable", err)
		}
	}
	return nil
}

// lock takes the lock of one name, waiting until ctx ends. Two installs of one name
// follow one another; two names do not wait for each other.
func (s *Store) lock(ctx context.Context, name string) (release func(), err error) {
	path := filepath.Join(s.home, locksDir, name)
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no lock file; remove it", path)
	}
	lock := flock.New(path, flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("cannot lock %s: %w; make the store writable", name, err)
	}
	return func() { _ = lock.Unlock() }, nil
}

// current reads the link of a name: the base name of the generation it switches to.
// The error wraps ErrNotInstalled where there is no link.
func (s *Store) current(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	target, err := os.Readlink(s.link(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s is %w in %s; `loomext list` shows what is", name, ErrNotInstalled, s.home)
	case errors.Is(err, syscall.EINVAL):
		return "", fmt.Errorf("%s is not the link an install makes; move it away and install %s again", s.link(name), name)
	case err != nil:
		return "", fmt.Errorf("%w; make the store readable", err)
	}
	base, ok := strings.CutPrefix(target, "../"+generationsDir+"/")
	if !ok || !isGeneration(base, name) {
		return "", fmt.Errorf("the link of %s points to %q, which is no generation of it; install %s again", name, target, name)
	}
	return base, nil
}

// isGeneration reports whether base is <name>-<64 hex>.
func isGeneration(base, name string) bool {
	digest, ok := strings.CutPrefix(base, name+"-")
	if !ok || len(digest) != digestHexLen {
		return false
	}
	_, err := hex.DecodeString(digest)
	return err == nil && strings.ToLower(digest) == digest
}

// staging is a directory of one install's own below the store. While its owner lives it is
// locked, so that a later install can tell a dead one's leavings from work under way.
type staging struct {
	dir  string
	held *os.File
}

// stageAttempts bounds the retries of making a staging directory: a sweep may take one in the
// moment before it is locked.
const stageAttempts = 8

func (s *Store) stage() (*staging, error) {
	s.sweepStaging()
	var err error
	for range stageAttempts {
		random := make([]byte, 12)
		if _, err = rand.Read(random); err != nil {
			return nil, err
		}
		dir := filepath.Join(s.home, stagingDir, hex.EncodeToString(random))
		if err = os.Mkdir(dir, dirMode); err != nil {
			return nil, err
		}
		var held *os.File
		if held, err = lockDir(dir, exclusive); err == nil {
			return &staging{dir: dir, held: held}, nil
		}
	}
	return nil, err
}

// remove ends the staging directory. It is safe to call more than once.
func (st *staging) remove() {
	_ = os.RemoveAll(st.dir)
	_ = st.held.Close()
}

// sweepStaging removes what installs that were killed have left.
func (s *Store) sweepStaging() {
	parent := filepath.Join(s.home, stagingDir)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		removeUnheld(filepath.Join(parent, entry.Name()))
	}
}

// sweepGenerations removes the generations of one name but keep, unless a session holds one.
// The caller has the name's lock.
func (s *Store) sweepGenerations(name, keep string) {
	parent := filepath.Join(s.home, generationsDir)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if base := entry.Name(); base != keep && isGeneration(base, name) {
			removeUnheld(filepath.Join(parent, base))
		}
	}
}

// removeUnheld removes a directory unless another process, or this one, has it locked.
func removeUnheld(dir string) {
	held, err := lockDir(dir, exclusive)
	if err != nil {
		return
	}
	defer held.Close()
	_ = os.RemoveAll(dir)
}

// publish moves a finished generation out of staging and then switches the link of its name.
// Until the last rename the store is as it was.
func (s *Store) publish(st *staging, staged, name, base string) error {
	if err := syncTree(staged); err != nil {
		return err
	}
	if err := os.Rename(staged, s.generation(base)); err != nil {
		return err
	}
	if err := s.switchTo(st, name, base); err != nil {
		_ = os.RemoveAll(s.generation(base))
		return err
	}
	// The switch is made. A disk that does not confirm it may go back to the old install
	// at a power cut, which is whole as well.
	_ = syncDir(filepath.Join(s.home, linksDir))
	return nil
}

// switchTo makes the link of a name point to a generation.
func (s *Store) switchTo(st *staging, name, base string) error {
	if err := syncDir(filepath.Join(s.home, generationsDir)); err != nil {
		return err
	}
	link := filepath.Join(st.dir, "link")
	if err := os.Symlink("../"+generationsDir+"/"+base, link); err != nil {
		return err
	}
	err := os.Rename(link, s.link(name))
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.EISDIR) {
		return fmt.Errorf("%s is a directory, where the link of %s goes; move it away", s.link(name), name)
	}
	return err
}

// syncTree asks the disk to have what a generation's directory and its record hold, so that
// a power cut after the switch cannot leave a link to an empty record.
func syncTree(dir string) error {
	for _, name := range []string{artifactName, recordName, ""} {
		if err := syncDir(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
