package build

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/loomext/loomext/jail"
)

// The parts of a cache directory.
const (
	artifactsDir = "artifacts" // <key>/{loom_satellite,meta.json}
	goCachesDir  = "gocache"   // <key>/: one trusted Go build cache each
	stagingDir   = "staging"   // <random>/ and <random>.lock, one pair for each running build
	locksDir     = "locks"
)

// The parts of a stage.
const (
	rootDir     = "root"     // the build root, which a compiler run reads
	workDir     = "work"     // what a compiler run may write: the satellite it makes, and
	tmpDir      = "tmp"      // in it the go command's temporary directory
	freshDir    = "gocache"  // and, where a trusted cache is filled, that cache
	artifactDir = "artifact" // the satellite once it was taken out of work, and its record
)

const (
	privateDir = 0o700
	// A trusted cache is read by builds, which as user 0 run as another user.
	readOnlyDir  = 0o555
	readOnlyFile = 0o444
	metaName     = "meta.json"
	// maxMeta bounds what is read of a meta.json, which takes about 2 KiB.
	maxMeta = 64 << 10
	// lockPoll is how often a waiting build looks whether the one before it is done.
	lockPoll = 20 * time.Millisecond
	// keepArtifacts is how many satellites stay, about 2.5 MB each. An installed extension has a copy of its own.
	keepArtifacts = 64
	// keepFor is how long an artifact or a Go cache that was used stays whatever the number: long enough to be copied.
	keepFor = time.Hour
	// keepGoCache is how long a Go build cache stays that no build used, about 65 MB each.
	keepGoCache = 14 * 24 * time.Hour
)

// cache is one cache directory, shared with other processes of the same user.
type cache struct{ dir string }

func openCache(dir string) (*cache, error) {
	for _, part := range []string{artifactsDir, goCachesDir, stagingDir, locksDir} {
		if err := os.MkdirAll(filepath.Join(dir, part), privateDir); err != nil {
			return nil, storage(err)
		}
	}
	// A build finds the cache where it is, not by way of links that its tree does not have.
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, storage(err)
	}
	return &cache{dir: resolved}, nil
}

func (c *cache) path(parts ...string) string {
	return filepath.Join(append([]string{c.dir}, parts...)...)
}

// lock waits for the lock of a key. Lock files stay, so there are at most 256 of each kind, and two keys may share one.
func (c *cache) lock(ctx context.Context, kind, key string) (unlock func(), err error) {
	l := flock.New(c.path(locksDir, kind+"-"+key[:min(2, len(key))]))
	if ok, err := l.TryLockContext(ctx, lockPoll); err != nil || !ok {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("compile: stopped while another build of the same was running: %w", context.Cause(ctx))
		}
		return nil, storage(err)
	}
	return func() { l.Unlock() }, nil
}

// stage is the private directory of one build. Its lock is held for as long as the process lives, so that another
// process can tell a stage in use from what a killed one left.
type stage struct {
	dir  string
	lock *flock.Flock
}

// stage makes a stage, after removing those whose process is gone.
func (c *cache) stage(ctx context.Context) (*stage, error) {
	unlock, err := c.lock(ctx, "staging", "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	c.sweep()
	var name [8]byte
	rand.Read(name[:])
	dir := c.path(stagingDir, hex.EncodeToString(name[:]))
	s := &stage{dir: dir, lock: flock.New(dir + ".lock")}
	if ok, err := s.lock.TryLock(); err != nil || !ok {
		return nil, storage(errors.Join(err, fmt.Errorf("lock %s.lock", dir)))
	}
	if err := errors.Join(os.Mkdir(dir, privateDir), os.Mkdir(s.path(workDir), privateDir), os.Mkdir(s.path(workDir, tmpDir), privateDir)); err != nil {
		return nil, errors.Join(storage(err), s.remove())
	}
	return s, nil
}

func (s *stage) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// remove leaves nothing of the stage. The lock file goes while the lock is held.
func (s *stage) remove() error {
	err := errors.Join(removeAll(s.dir), os.Remove(s.lock.Path()))
	s.lock.Unlock()
	if err != nil {
		return storage(err)
	}
	return nil
}

// sweep removes the stages of dead processes, with the staging lock held. A compiler that outlived its loomext may still
// write into one; that is left for the next sweep.
func (c *cache) sweep() {
	entries, err := os.ReadDir(c.path(stagingDir))
	if err != nil {
		return
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".lock")
		l := flock.New(c.path(stagingDir, name+".lock"))
		if ok, err := l.TryLock(); err != nil || !ok {
			continue
		}
		if removeAll(c.path(stagingDir, name)) == nil {
			os.Remove(l.Path())
		}
		l.Unlock()
	}
}

// meta is what stands beside a kept satellite.
type meta struct {
	Format    string      `json:"format"`
	Key       string      `json:"key"`
	Digest    string      `json:"digest"`
	Size      int64       `json:"size"`
	Toolchain string      `json:"toolchain"`
	Env       []string    `json:"env"`
	Flags     []string    `json:"flags"`
	Report    jail.Report `json:"report"`
}

// lookup returns the kept artifact of a key. The error is os.ErrNotExist where there is none, and anything else where
// there is one that is not what was kept. The key's lock is held.
func (c *cache) lookup(key string) (Artifact, error) {
	dir := c.path(artifactsDir, key)
	if _, err := os.Lstat(dir); err != nil {
		return Artifact{}, err
	}
	damaged := func(what any) (Artifact, error) {
		return Artifact{}, fmt.Errorf("the kept satellite %.12s… is damaged (%v)", key, what)
	}
	text, err := readBounded(filepath.Join(dir, metaName), maxMeta)
	if err != nil {
		return damaged(strings.TrimPrefix(err.Error(), "open "))
	}
	var m meta
	if err := json.Unmarshal(text, &m); err != nil {
		return damaged(err)
	}
	if m.Format != formatVersion || m.Key != key {
		return damaged("its record is of another build")
	}
	path := filepath.Join(dir, outputName)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return damaged("its file is gone")
	}
	digest, size, err := FileDigest(path)
	switch {
	case err != nil:
		return damaged(err)
	case digest != m.Digest || size != m.Size:
		return damaged(fmt.Sprintf("it has the digest %s and was kept with %s", digest, m.Digest))
	}
	touch(dir)
	return Artifact{
		Path: path, Digest: digest, Size: size, Toolchain: m.Toolchain, Env: m.Env, Flags: m.Flags,
		Report: m.Report, Cached: true, Key: key,
	}, nil
}

// keep renames what was taken from a stage into the cache, with its record. The key's lock is held.
func (c *cache) keep(s *stage, key string, a Artifact) (Artifact, error) {
	a.Key = key
	text, err := json.MarshalIndent(meta{
		Format: formatVersion, Key: key, Digest: a.Digest, Size: a.Size, Toolchain: a.Toolchain, Env: a.Env, Flags: a.Flags, Report: a.Report,
	}, "", "  ")
	if err != nil {
		return Artifact{}, storage(err)
	}
	whole, target := s.path(artifactDir), c.path(artifactsDir, key)
	err = errors.Join(
		os.WriteFile(filepath.Join(whole, metaName), append(text, '\n'), 0o644),
		removeAll(target), // a damaged one
	)
	if err == nil {
		err = os.Rename(whole, target)
	}
	if err != nil {
		return Artifact{}, storage(err)
	}
	c.thin(artifactsDir, key, keepArtifacts, keepFor)
	a.Path = filepath.Join(target, outputName)
	return a, nil
}

// thin removes the entries used longest ago until at most n are left, but none that was used within the given time nor
// the one just made. It is best effort: what it leaves costs room alone.
func (c *cache) thin(part, justMade string, n int, within time.Duration) {
	entries, err := os.ReadDir(c.path(part))
	if err != nil || len(entries) <= n {
		return
	}
	type aged struct {
		name string
		used time.Time
	}
	var old []aged
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != justMade && time.Since(info.ModTime()) > within {
			old = append(old, aged{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(old, func(a, b aged) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, o := range old[:min(len(old), len(entries)-n)] {
		removeAll(c.path(part, o.name))
	}
}

// touch says that a directory was used now. A cache on a read-only disk cannot say it and is not thinned either.
func touch(dir string) {
	now := time.Now()
	os.Chtimes(dir, now, now)
}

func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", filepath.Base(path), limit)
	}
	return data, err
}
