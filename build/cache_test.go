package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestConcurrentBuildersOfOneInputBuildOnce(t *testing.T) {
	warm(t)
	root, want := mustRoot(t, weather(tree{"tool/unique.go": unique(t)}))
	const builders = 4
	var (
		wg        sync.WaitGroup
		artifacts [builders]Artifact
		errs      [builders]error
	)
	for i := range builders {
		wg.Go(func() { artifacts[i], errs[i] = (&Builder{Cache: shared}).Build(context.Background(), root, want) })
	}
	wg.Wait()
	built := 0
	for i, a := range artifacts {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if a.Digest != artifacts[0].Digest {
			t.Errorf("builder %d has %s, builder 0 has %s", i, a.Digest, artifacts[0].Digest)
		}
		if !a.Cached {
			built++
		}
	}
	if built != 1 {
		t.Errorf("%d of %d built", built, builders)
	}
	noStages(t, shared)
}

func TestConcurrentBuildsOfTwoInputsBothStand(t *testing.T) {
	warm(t)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			root, want, err := rootOf(weather(tree{"tool/unique.go": unique(t) + fmt.Sprintf("\nconst i = %d\n", i)}))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := (&Builder{Cache: shared}).Build(context.Background(), root, want); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	noStages(t, shared)
}

func TestBuildOfAnExtensionLeavesTheTrustedCacheAlone(t *testing.T) {
	warm(t)
	before := snapshot(t, filepath.Join(shared, goCachesDir))
	root, want := mustRoot(t, weather(tree{
		"tool/unique.go": unique(t),
		// A package of the standard library that the trusted cache does not hold is compiled for this build alone.
		"tool/more.go": "package tool\n\nimport \"container/ring\"\n\nvar _ = ring.New(3)\n",
	}))
	if _, err := (&Builder{Cache: shared}).Build(context.Background(), root, want); err != nil {
		t.Fatal(err)
	}
	after := snapshot(t, filepath.Join(shared, goCachesDir))
	for path, info := range after {
		old, ok := before[path]
		delete(before, path)
		if filepath.Base(path) == trimName { // this process's own note, made new at every build
			continue
		}
		switch {
		case !ok:
			t.Errorf("%s was added", path)
		case info.Size() != old.Size() || info.Mode() != old.Mode() || !os.SameFile(info, old) || !info.IsDir() && !info.ModTime().Equal(old.ModTime()):
			t.Errorf("%s was changed", path)
		}
		if info.Mode().Type() != fs.ModeSymlink && info.Mode().Perm()&0o222 != 0 && filepath.Dir(path) != shared {
			t.Errorf("%s can be written: %v", path, info.Mode())
		}
	}
	for path := range before {
		t.Errorf("%s was removed", path)
	}
}

// smallTrusted is a trusted cache as fill makes one, with three entries in it.
func smallTrusted(t testing.TB) (*cache, *trusted) {
	t.Helper()
	c, err := openCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := fillRoot(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := c.path(goCachesDir, "key")
	if err := errors.Join(root.WriteTo(dir+".root"), os.MkdirAll(filepath.Join(dir, entriesDir), 0o755), os.Rename(dir+".root/vendor", dir+"/vendor"), os.RemoveAll(dir+".root")); err != nil {
		t.Fatal(err)
	}
	for i := range 256 {
		if err := os.Symlink(entriesDir, filepath.Join(dir, fmt.Sprintf("%02x", i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"00aa-a", "00bb-d", "ff00-d"} {
		if err := os.WriteFile(filepath.Join(dir, entriesDir, name), []byte("entry "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := seal(dir, map[string]string{"bytes": "00bb-d"}); err != nil {
		t.Fatal(err)
	}
	trusted, err := openFilled(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(c.dir) })
	return c, trusted
}

func TestDamageToATrustedCacheIsNoticed(t *testing.T) {
	// Where no wall stands, a build can write what its user can; whoever does is found out, and the cache goes.
	forceWrite := func(path, text string) error {
		return errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, []byte(text), 0o644))
	}
	open := func(dir string) error { return os.Chmod(dir, 0o755) }
	for name, damage := range map[string]func(tr *trusted) error{
		"an entry rewritten": func(tr *trusted) error {
			return forceWrite(filepath.Join(tr.dir, "00", "00aa-a"), "entry 00aa-X")
		},
		"an entry cut short": func(tr *trusted) error {
			path := filepath.Join(tr.dir, entriesDir, "00bb-d")
			return errors.Join(forceWrite(path, ""), os.Chtimes(path, untouched, untouched))
		},
		"an entry removed": func(tr *trusted) error {
			return errors.Join(open(filepath.Join(tr.dir, entriesDir)), os.Remove(filepath.Join(tr.dir, entriesDir, "ff00-d")))
		},
		"an entry made a link": func(tr *trusted) error {
			path := filepath.Join(tr.dir, entriesDir, "ff00-d")
			return errors.Join(open(filepath.Dir(path)), os.Remove(path), os.Symlink("/etc/passwd", path))
		},
		"a prelude file changed": func(tr *trusted) error {
			return forceWrite(filepath.Join(tr.vendor(), "github.com/loomext/loomext/prelude/ext/ext.go"), "package ext\n")
		},
		"a file added to a prelude": func(tr *trusted) error {
			dir := filepath.Join(tr.vendor(), "github.com/loomext/loomext/prelude/ext")
			return errors.Join(open(dir), os.WriteFile(filepath.Join(dir, "evil.go"), nil, 0o644))
		},
		"modules.txt removed": func(tr *trusted) error {
			return errors.Join(open(tr.vendor()), os.Remove(filepath.Join(tr.vendor(), "modules.txt")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, tr := smallTrusted(t)
			if err := tr.check(); err != nil {
				t.Fatalf("before the damage: %v", err)
			}
			if err := damage(tr); err != nil {
				t.Fatal(err)
			}
			if _, err := openFilled(tr.dir); !errors.Is(err, errDamaged) {
				t.Errorf("opened with %v", err)
			}
			if err := tr.check(); !errors.Is(err, errDamaged) {
				t.Errorf("checked with %v", err)
			}
			if _, err := os.Lstat(tr.dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the damaged cache was left (%v)", err)
			}
		})
	}
}

func TestEntriesThatWereAddedToATrustedCacheAreRemoved(t *testing.T) {
	_, tr := smallTrusted(t)
	entries := filepath.Join(tr.dir, entriesDir)
	add := func() error {
		return errors.Join(os.Chmod(entries, 0o755), os.WriteFile(filepath.Join(entries, "7fff-d"), nil, 0o600), os.MkdirAll(filepath.Join(entries, "7fff-a", "x"), 0o755), os.Chmod(filepath.Join(entries, "7fff-a"), 0))
	}
	for name, look := range map[string]func() error{
		"after a build": tr.check,
		"before one":    func() error { _, err := openFilled(tr.dir); return err },
	} {
		if err := add(); err != nil {
			t.Fatal(err)
		}
		if err := look(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		left, err := os.ReadDir(entries)
		if err != nil || len(left) != len(tr.Entries) {
			t.Errorf("%s: left are %v, %v", name, left, err)
		}
		if info, err := os.Stat(entries); err != nil || info.Mode().Perm() != readOnlyDir {
			t.Errorf("%s: the directory of the entries was left %v, %v", name, info.Mode(), err)
		}
	}
}

func TestIndexThatIsNotOurs(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{", "the list alone": `[{"name":"00aa-a","size":12}]`,
		"a path out":                 `{"entries":[{"name":"../../evil","size":0}]}`,
		"an absolute path":           `{"entries":[{"name":"/etc/passwd","size":0}]}`,
		"an empty name":              `{"entries":[{"name":"","size":0}]}`,
		"an entry that is not there": `{"entries":[{"name":"0123-a","size":0}]}`,
		"exports that are no entry":  `{"entries":[{"name":"00aa-a","size":12}],"exports":{"bytes":"00bb-d"}}`,
		"exports out of the cache":   `{"entries":[],"exports":{"bytes":"/etc/passwd"}}`,
	} {
		_, tr := smallTrusted(t)
		if err := errors.Join(os.Chmod(filepath.Join(tr.dir, indexName), 0o644), os.WriteFile(filepath.Join(tr.dir, indexName), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		if _, err := openFilled(tr.dir); !errors.Is(err, errDamaged) {
			t.Errorf("%s: opened with %v", name, err)
		}
	}
}

func TestStagesOfDeadProcessesAreRemoved(t *testing.T) {
	c, err := openCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mine, err := c.stage(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	dead := c.path(stagingDir, "0123456789abcdef")
	if err := errors.Join(os.MkdirAll(filepath.Join(dead, "root", "sub"), 0o755), os.WriteFile(dead+".lock", nil, 0o600), os.Chmod(filepath.Join(dead, "root"), 0o555),
		os.WriteFile(c.path(stagingDir, "feed.lock"), nil, 0o600), os.Mkdir(c.path(stagingDir, "nolock"), 0o755)); err != nil {
		t.Fatal(err)
	}
	second, err := c.stage(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(c.path(stagingDir))
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if len(left) != 4 || !strings.Contains(strings.Join(left, " "), filepath.Base(mine.dir)) {
		t.Errorf("left are %v; the two living stages are %s and %s", left, mine.dir, second.dir)
	}
	if err := errors.Join(mine.remove(), second.remove()); err != nil {
		t.Error(err)
	}
	noStages(t, c.dir)
}

func TestOldArtifactsMakeRoom(t *testing.T) {
	c, err := openCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		dir := c.path(artifactsDir, fmt.Sprint(i))
		used := time.Now().Add(-time.Duration(i) * 24 * time.Hour)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "x"), nil, 0o644), os.Chtimes(dir, used, used)); err != nil {
			t.Fatal(err)
		}
	}
	// 5 was just made; 0 was used within the hour; of the others the two used longest ago go.
	c.thin(artifactsDir, "5", 4, keepFor)
	var left []string
	entries, err := os.ReadDir(c.path(artifactsDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if strings.Join(left, " ") != "0 1 2 5" {
		t.Errorf("left are %v", left)
	}
}

func TestKeysTellApartWhatCanChangeTheOutput(t *testing.T) {
	base := Toolchain{GoRoot: "/go", Go: "/go/bin/go", Version: "go1.26.8"}
	key := artifactKey("sha256:a", base)
	elsewhere := base
	elsewhere.GoRoot, elsewhere.Go = "/opt/go", "/opt/go/bin/go"
	if artifactKey("sha256:a", elsewhere) != key {
		t.Error("where Go stands does not change the output and changed the key")
	}
	newer, stamped := base, base
	newer.Version, stamped.Stamp = "go1.26.9", "compile 1 2"
	for name, other := range map[string]string{"root": artifactKey("sha256:b", base), "version": artifactKey("sha256:a", newer), "stamp": artifactKey("sha256:a", stamped)} {
		if other == key {
			t.Errorf("another %s has the same key", name)
		}
	}
	if keyOf([]string{"ab", "c"}) == keyOf([]string{"a", "bc"}) {
		t.Error("parts of a key run into each other")
	}
}
