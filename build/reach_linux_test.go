package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/jail"
)

// splitToolchain is the found toolchain laid out as distributions do: a GOROOT of links, relative ones and absolute ones,
// to parts that stand elsewhere, some by way of another link.
func splitToolchain(t testing.TB) Toolchain {
	t.Helper()
	whole, err := Probe(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := publicDir(t)
	split := whole
	split.GoRoot = filepath.Join(dir, "lib", "go-1.26")
	split.Go = filepath.Join(split.GoRoot, "bin", "go")
	tools := filepath.Join(split.GoRoot, split.toolDir())
	inside := func(name string) string { return filepath.Join(split.GoRoot, name) }
	at := func(name string) string { return filepath.Join(whole.GoRoot, name) }
	steps := []error{
		os.MkdirAll(filepath.Join(dir, "share"), 0o755), os.MkdirAll(inside("bin"), 0o755), os.MkdirAll(tools, 0o755),
		os.Symlink(whole.GoRoot, filepath.Join(dir, "share", "current")),
		os.Symlink("../../share/current/src", inside("src")),
		os.Symlink("../../share/current/lib", inside("lib")),
		os.Symlink("elsewhere", inside("pkg/include")), os.Symlink(at("pkg/include"), inside("pkg/elsewhere")),
		os.Symlink(at("bin/go"), split.Go),
		os.Symlink("../../share/nowhere", inside("VERSION.cache")),
	}
	for _, name := range []string{"VERSION", "go.env"} {
		text, err := os.ReadFile(at(name))
		steps = append(steps, err, os.WriteFile(inside(name), text, 0o644))
	}
	for _, tool := range []string{"asm", "compile", "link"} {
		steps = append(steps, os.Symlink(filepath.Join(whole.GoRoot, whole.toolDir(), tool), filepath.Join(tools, tool)))
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	return split
}

func TestAToolchainThatIsSplitOverTheSystemBuildsTheSameBytes(t *testing.T) {
	root, want := mustRoot(t, weather(tree{"tool/unique.go": unique(t)}))
	whole, err := (&Builder{Cache: shared}).Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	split := splitToolchain(t)
	reach := split.reach()
	for _, path := range reach {
		if path == "/" || below(split.GoRoot, path) {
			t.Errorf("a build reads all of %s", path)
		}
	}
	for _, name := range []string{split.GoRoot, filepath.Join(split.GoRoot, "../../share/current/src")} {
		if !slices.Contains(reach, name) {
			t.Errorf("a build does not read %s; it reads %v", name, reach)
		}
	}
	c, err := openCache(shared)
	if err != nil {
		t.Fatal(err)
	}
	a, err := (&Builder{Cache: shared}).compile(context.Background(), c, split, root, want, func(_ *stage, a Artifact) (Artifact, error) { return a, nil })
	if err != nil {
		t.Fatal(err)
	}
	if a.Digest != whole.Digest {
		t.Errorf("the whole one made %s, the split one %s", whole.Digest, a.Digest)
	}
}

func TestLinksThatABuildDoesNotFollow(t *testing.T) {
	dir := t.TempDir()
	goroot := filepath.Join(dir, "a", "go")
	if err := os.MkdirAll(filepath.Join(goroot, "pkg"), 0o755); err != nil {
		t.Fatal(err)
	}
	toolchain := Toolchain{GoRoot: goroot, Go: filepath.Join(goroot, "bin", "go")}
	for name, to := range map[string]string{
		"to itself": "src", "to the root": "/", "to a directory above": "..", "to nothing": "/nonexistent/src", "to its own": "pkg",
	} {
		link := filepath.Join(goroot, "src")
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		if reach := toolchain.reach(); !slices.Equal(reach, []string{goroot}) {
			t.Errorf("%s: a build reads %v", name, reach)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

// A program of the system that needs a loader and a library stands in for a go command that does.
func TestAToolchainOfDynamicProgramsReachesItsLibraries(t *testing.T) {
	h := newHostileGo(t)
	if reach := h.toolchain.reach(); !slices.Equal(reach, []string{h.toolchain.GoRoot}) {
		t.Fatalf("a static toolchain reads %v", reach)
	}
	const dynamic = "/bin/true"
	loader := interpreter(dynamic)
	if loader == "" {
		t.Skipf("skipped layer: C library: %s is not there or needs no loader", dynamic)
	}
	if err := errors.Join(copyFile(dynamic, h.toolchain.Go), os.Chmod(h.toolchain.Go, 0o755)); err != nil {
		t.Fatal(err)
	}
	c, tr := smallTrusted(t)
	s, err := c.stage(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.remove()
	if err := os.Mkdir(s.path(rootDir), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(spec jail.Spec) (jail.Report, error) {
		command, err := jail.Start(context.Background(), spec, jail.Options{BestEffort: true})
		if err != nil {
			return jail.Report{}, err
		}
		exit, err := command.Wait()
		if err == nil && !exit.OK() {
			err = errors.New(exit.String() + ": " + command.Stderr())
		}
		return command.Report(), err
	}
	spec := (&Builder{}).spec(h.toolchain, bounds{}.filled(), s, environment(h.toolchain, tr.dir, s.path(workDir, tmpDir)), tr.dir)
	report, err := run(spec)
	if err != nil {
		t.Errorf("with its libraries: %v", err)
	}
	if !anyStands(report, []string{layerTree, layerLandlock}) {
		t.Skipf("skipped layer: %s or %s: %+v", layerTree, layerLandlock, report)
	}
	spec.ReadOnly = slices.DeleteFunc(spec.ReadOnly, func(path string) bool {
		return path == filepath.Dir(loader) || slices.Contains(loaderDirs, path)
	})
	if _, err := run(spec); err == nil {
		t.Error("without its libraries it runs as well, so that nothing was shown")
	}
}

func TestAToolchainThatIsClosedToOthersIsSaid(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped layer: user: only root builds as another")
	}
	h := newHostileGo(t)
	h.order(t, []string{"exit", "1"})
	root, want := mustRoot(t, weather(nil))
	fill := func() error {
		_, err := (&Builder{Cache: t.TempDir(), Go: h.toolchain.Go}).Build(context.Background(), root, want)
		return err
	}
	orders := filepath.Join(h.toolchain.GoRoot, "orders")
	for path, mode := range map[string]os.FileMode{h.toolchain.Go: 0o744, orders: 0o640, h.toolchain.GoRoot: 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := fill(); err == nil || !strings.HasPrefix(err.Error(), "compile: "+path+": builds do not run as root") {
			t.Errorf("with %s %v: %v", path, mode, err)
		}
		if err := os.Chmod(path, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	if err := fill(); err == nil || strings.Contains(err.Error(), "do not run as root") {
		t.Errorf("with an open toolchain: %v", err)
	}
}

func TestOutermostPaths(t *testing.T) {
	got := outermost([]string{"/usr/lib/go", "/lib", "/usr/lib", "/usr/lib64", "/usr/lib", "/usr/lib/go-1.26/src", "/opt/x"})
	if want := []string{"/lib", "/opt/x", "/usr/lib", "/usr/lib64"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
