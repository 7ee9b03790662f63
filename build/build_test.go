package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/vendorize"
)

// shared is a cache directory that most tests use, because filling a Go build cache takes seconds.
var shared string

func TestMain(m *testing.M) {
	if os.Getenv(withoutNamespaces) != "" {
		if err := forbidNamespaces(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if os.Getenv(childVariable) != "" {
		os.Exit(child())
	}
	dir, err := os.MkdirTemp("", "loomext-build")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared = dir
	code := m.Run()
	if err := removeAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// tree is an extension's files, extension.toml among them.
type tree map[string]string

func (t tree) File(name string) ([]byte, bool) {
	text, ok := t[name]
	return []byte(text), ok
}

func (t tree) Packages() []string {
	var all []string
	for name := range t {
		if path.Ext(name) == ".go" {
			all = append(all, path.Dir(name))
		}
	}
	return all
}

const oneTool = `[extension]
name = "weather"
version = "0.1.0"
description = "Say how the sky is."
license = "MIT"
tier = "jailed"

[config]
days = 3

[[tool]]
name = "sky"
description = "Say how the sky is."
prompt_snippet = "sky: how the sky is"
parameters = "schema/sky.json"
entry = "tool"
`

const jsonTool = `package tool

import "github.com/loomext/loomext/prelude/ext"

type query struct {
	City string ` + "`json:\"city\"`" + `
	Days int    ` + "`json:\"days\"`" + `
}

var Run = ext.Typed(func(ctx ext.Ctx, q query) (ext.Outcome, error) {
	if q.Days > 7 {
		return ext.Outcome{}, ext.Refuse("days is %d; ask for at most 7", q.Days)
	}
	return ext.JSON(map[string]any{"city": q.City, "sky": "clear"})
})
`

// weather is a whole extension of one tool, with further files over it.
func weather(more tree) tree {
	t := tree{"extension.toml": oneTool, "schema/sky.json": `{"type": "object"}`, "tool/run.go": jsonTool}
	for name, text := range more {
		t[name] = text
	}
	return t
}

// rootOf is the build root of a tree and the declaration its satellite must have.
func rootOf(t tree) (*vendorize.Root, gen.Declaration, error) {
	m, err := manifest.Decode([]byte(t["extension.toml"]), t)
	if err != nil {
		return nil, gen.Declaration{}, err
	}
	root, err := vendorize.New("example.com/weather")
	if err != nil {
		return nil, gen.Declaration{}, err
	}
	for name, text := range t {
		if path.Ext(name) == ".go" {
			if err := root.Add(name, []byte(text)); err != nil {
				return nil, gen.Declaration{}, err
			}
		}
	}
	files, err := gen.Satellite(m, root.Module(), m.Config())
	if err != nil {
		return nil, gen.Declaration{}, err
	}
	for name, text := range files {
		if err := root.AddSatellite(name, text); err != nil {
			return nil, gen.Declaration{}, err
		}
	}
	return root, gen.Declare(m, m.Config()), nil
}

func mustRoot(t testing.TB, files tree) (*vendorize.Root, gen.Declaration) {
	t.Helper()
	root, want, err := rootOf(files)
	if err != nil {
		t.Fatal(err)
	}
	return root, want
}

// progress collects what a Builder says.
type progress struct {
	mu    sync.Mutex
	lines []string
}

func (p *progress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
}

func (p *progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// unique makes a source that no other test built.
func unique(t testing.TB) string {
	return "package tool\n\nconst unique = " + fmt.Sprintf("%q", t.Name()) + "\n"
}

// noStages fails the test where a build left anything behind.
func noStages(t testing.TB, cache string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(cache, stagingDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("staging/%s was left behind", e.Name())
	}
}

func TestSameInputIsBuiltOnce(t *testing.T) {
	root, want := mustRoot(t, weather(tree{"tool/unique.go": unique(t)}))
	b := &Builder{Cache: shared}
	first, err := b.Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	if first.Cached {
		t.Fatal("the first build says it was cached")
	}
	info, err := os.Stat(first.Path)
	if err != nil {
		t.Fatal(err)
	}
	if digest, size, err := FileDigest(first.Path); err != nil || digest != first.Digest || size != first.Size || size != info.Size() {
		t.Errorf("the artifact says %s, %d bytes; its file is %s, %d (%v)", first.Digest, first.Size, digest, size, err)
	}
	if info.Mode().Perm()&0o111 == 0 || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("the artifact's mode is %v", info.Mode())
	}
	// Another Root with the same files, put in another order, is the same input. Nothing may be compiled: a go command
	// that cannot build answers for its version alone.
	again, _ := mustRoot(t, weather(tree{"tool/unique.go": unique(t)}))
	second, err := (&Builder{Cache: shared}).Build(context.Background(), again, want)
	if err != nil {
		t.Fatal(err)
	}
	if !second.Cached || second.Digest != first.Digest || second.Key != first.Key || second.Path != first.Path {
		t.Errorf("the second build gave %+v after %+v", second, first)
	}
	if after, err := os.Stat(second.Path); err != nil || !after.ModTime().Equal(info.ModTime()) || !os.SameFile(after, info) {
		t.Errorf("the file was written again (%v)", err)
	}
	if len(second.Report.Layers) == 0 || len(second.Report.Layers) != len(first.Report.Layers) {
		t.Errorf("the cached artifact lost the report of its build: %+v", second.Report)
	}
	if strings.Join(second.Env, " ") != strings.Join(first.Env, " ") || strings.Join(second.Flags, " ") != strings.Join(first.Flags, " ") {
		t.Error("the cached artifact records another environment")
	}
	noStages(t, shared)
}

func TestAnyChangeIsBuiltAnew(t *testing.T) {
	b := &Builder{Cache: shared}
	keys := map[string]string{}
	for name, files := range map[string]tree{
		"as it is":      weather(tree{"tool/unique.go": unique(t)}),
		"source":        weather(tree{"tool/unique.go": unique(t) + "\n// a comment\n"}),
		"configuration": weather(tree{"tool/unique.go": unique(t), "extension.toml": strings.Replace(oneTool, "days = 3", "days = 4", 1)}),
		"file's name":   weather(tree{"tool/unique2.go": unique(t)}),
	} {
		root, want := mustRoot(t, files)
		a, err := b.Build(context.Background(), root, want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a.Cached {
			t.Errorf("%s: nothing was built", name)
		}
		if other, ok := keys[a.Key]; ok {
			t.Errorf("%s and %s have one key", name, other)
		}
		keys[a.Key] = name
	}
}

func TestDamagedArtifactIsNoticedAndBuiltAnew(t *testing.T) {
	root, want := mustRoot(t, weather(tree{"tool/unique.go": unique(t)}))
	good, err := (&Builder{Cache: shared}).Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(good.Path)
	overwrite := func(t *testing.T, name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := errors.Join(os.Remove(file), os.WriteFile(file, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(good.Path)
	if err != nil {
		t.Fatal(err)
	}
	record, err := os.ReadFile(filepath.Join(dir, metaName))
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(t *testing.T){
		"one bit flipped": func(t *testing.T) {
			flipped := append([]byte{}, whole...)
			flipped[len(flipped)/2] ^= 1
			overwrite(t, outputName, string(flipped))
		},
		"truncated":          func(t *testing.T) { overwrite(t, outputName, string(whole[:len(whole)/2])) },
		"empty":              func(t *testing.T) { overwrite(t, outputName, "") },
		"gone":               func(t *testing.T) { os.Remove(good.Path) },
		"a link":             func(t *testing.T) { os.Remove(good.Path); os.Symlink("/bin/true", good.Path) },
		"record gone":        func(t *testing.T) { os.Remove(filepath.Join(dir, metaName)) },
		"record no JSON":     func(t *testing.T) { overwrite(t, metaName, "{") },
		"record without end": func(t *testing.T) { overwrite(t, metaName, strings.Repeat(" ", maxMeta+1)) },
		"record of another key": func(t *testing.T) {
			overwrite(t, metaName, strings.Replace(string(record), good.Key, strings.Repeat("0", 64), 1))
		},
		"record of another digest": func(t *testing.T) {
			overwrite(t, metaName, strings.Replace(string(record), good.Digest, "sha256:"+strings.Repeat("0", 64), 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			damage(t)
			var said progress
			a, err := (&Builder{Cache: shared, Progress: said.say}).Build(context.Background(), root, want)
			if err != nil {
				t.Fatal(err)
			}
			if a.Cached || a.Digest != good.Digest {
				t.Errorf("got %+v, was %+v", a, good)
			}
			if !strings.Contains(said.String(), "is damaged") {
				t.Errorf("it was not said that the entry is damaged: %q", said.String())
			}
			if again, err := (&Builder{Cache: shared}).Build(context.Background(), root, want); err != nil || !again.Cached {
				t.Errorf("the entry was not mended: %+v, %v", again, err)
			}
		})
	}
	noStages(t, shared)
}

func TestSatelliteThatDeclaresSomethingElseIsNotKept(t *testing.T) {
	root, want := mustRoot(t, weather(tree{"tool/unique.go": unique(t)}))
	other := want
	other.Tools = []string{"sky", "sea"}
	a, err := (&Builder{Cache: shared}).Build(context.Background(), root, other)
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "tools is") {
		t.Fatalf("built %+v, %v", a, err)
	}
	// A decoy in a string of the author's makes two, whatever it says.
	files, err := gen.Satellite(mustManifest(t, oneTool), "example.com/weather", mustManifest(t, oneTool).Config())
	if err != nil {
		t.Fatal(err)
	}
	_, literal, _ := strings.Cut(string(files["loom_satellite/declaration.go"]), "const declaration = ")
	literal, _, _ = strings.Cut(strings.Replace(literal, `0.1.0`, `9.9.9`, 1), "\n")
	decoy := "package tool\n\nimport \"strings\"\n\nfunc isDecoy(s string) bool { return strings.Contains(s, " + literal + ") }\n"
	run := strings.Replace(jsonTool, "if q.Days > 7", "if isDecoy(q.City) || q.Days > 7", 1)
	root, want = mustRoot(t, weather(tree{"tool/decoy.go": decoy, "tool/run.go": run}))
	if a, err := (&Builder{Cache: shared}).Build(context.Background(), root, want); !errors.Is(err, gen.ErrTwoDeclarations) {
		t.Fatalf("built %+v, %v", a, err)
	}
	noStages(t, shared)
}

func mustManifest(t testing.TB, text string) manifest.Manifest {
	t.Helper()
	m, err := manifest.Decode([]byte(text), weather(nil))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSatelliteOfAJSONToolIsSmall(t *testing.T) {
	root, want := mustRoot(t, weather(nil))
	a, err := (&Builder{Cache: shared}).Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	const most = 26 << 20 / 10 // 2.6 MiB
	t.Logf("%d bytes, %.2f MiB", a.Size, float64(a.Size)/(1<<20))
	if a.Size > most {
		t.Errorf("the satellite has %d bytes, more than %d", a.Size, most)
	}
}

func snapshot(t testing.TB, dir string) map[string]fs.FileInfo {
	t.Helper()
	all := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		all[path] = info
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRebuildIsOneAndKeepsNothing(t *testing.T) {
	root, want := mustRoot(t, weather(tree{"tool/unique.go": unique(t)}))
	b := &Builder{Cache: shared}
	kept, err := b.Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, filepath.Join(shared, artifactsDir))
	// A kept artifact that was changed must not be what a rebuild compares with.
	if err := errors.Join(os.Chmod(kept.Path, 0o755), os.WriteFile(kept.Path, []byte("evil"), 0o755)); err != nil {
		t.Fatal(err)
	}
	digest, err := b.Rebuild(context.Background(), root, want)
	if err != nil || digest != kept.Digest {
		t.Errorf("rebuilt %s, %v; built %s", digest, err, kept.Digest)
	}
	if after := snapshot(t, filepath.Join(shared, artifactsDir)); len(after) != len(before) {
		t.Errorf("there were %d files of artifacts, and are %d", len(before), len(after))
	}
	if text, err := os.ReadFile(kept.Path); err != nil || string(text) != "evil" {
		t.Errorf("the rebuild wrote into the artifact cache (%v)", err)
	}
	noStages(t, shared)
}
