package vet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/jail"
)

// cacheDir is where the tests' builder has its cache, so that the packages which extensions import are compiled once.
var cacheDir string

func TestMain(m *testing.M) {
	jail.Main() // the typed half runs in this program too
	dir, err := os.MkdirTemp("", "loomext-vet-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cacheDir = dir
	if kept := os.Getenv("LOOMEXT_TEST_VET_CACHE"); kept != "" {
		cacheDir = kept
	} else {
		_ = os.Setenv("LOOMEXT_TEST_VET_CACHE", cacheDir) // for the processes that a fuzzer starts
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var builtLibrary = sync.OnceValues(func() (Library, error) {
	lib, err := (&build.Builder{Cache: cacheDir, Std: Std()}).Library(context.Background())
	return Library(lib), err
})

// library is the compiled packages, made once.
func library(t testing.TB) Library {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	goroot(t)
	lib, err := builtLibrary()
	if err != nil {
		t.Fatal(err)
	}
	return lib
}
