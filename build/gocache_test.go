package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/loomext/loomext/jail"
)

// The go command runs once, except where the trusted cache lacks the index of a package.
func TestABuildIsAskedAgainOnlyWhereTheIndexCouldMatter(t *testing.T) {
	warm(t)
	for name, tt := range map[string]struct {
		more  string
		runs  int
		fails bool
	}{
		"what the cache holds":             {"import _ \"context\"\n", 1, false},
		"a package that it does not hold":  {"import _ \"container/ring\"\n", 2, false},
		"a mistake that the compiler says": {"var _ int = \"x\"\n", 1, true},
		"a package that there is not":      {"import _ \"fmt/nothing\"\n", 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			root, want := mustRoot(t, weather(tree{"tool/more.go": "package tool\n\n" + tt.more}))
			runs, writable := 0, false
			b := &Builder{Cache: shared, Jailed: func(r jail.Report) {
				runs++
				writable = writable || os.Geteuid() == 0 && !stands(r, layerTree)
			}}
			_, err := b.Build(context.Background(), root, want)
			if (err != nil) != tt.fails {
				t.Errorf("built: %v", err)
			}
			if runs != tt.runs && !writable {
				t.Errorf("the go command ran %d times, not %d (%v)", runs, tt.runs, err)
			}
		})
	}
}

// A build of files that are older than a moment is the same build: the go command would index them.
func TestFilesOfARootAreNeverIndexed(t *testing.T) {
	root, _ := mustRoot(t, weather(nil))
	dir := filepath.Join(t.TempDir(), "root")
	outside := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(root.WriteTo(dir), os.WriteFile(outside, nil, 0o644), os.Symlink(outside, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	if err := neverIndexed(dir); err != nil {
		t.Fatal(err)
	}
	for path, info := range snapshot(t, dir) {
		if info.Mode().IsRegular() && !info.ModTime().Equal(untouched) {
			t.Errorf("%s is of %v", path, info.ModTime())
		}
	}
	if info, err := os.Stat(outside); err != nil || info.ModTime().Equal(untouched) {
		t.Errorf("a file outside is of %v, %v", info.ModTime(), err)
	}
}
