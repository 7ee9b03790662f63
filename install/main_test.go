package install_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vet"
)

// The test binary is also the installer that the kill tests run and kill: with
// installVariable set it installs one source into one home and exits.
const (
	installVariable = "LOOMEXT_TEST_INSTALL" // "<home>:<source>"
	cacheVariable   = "LOOMEXT_TEST_CACHE"
)

// cacheDir is shared by the package's tests, so that the slow part of a build is paid once.
var cacheDir string

func TestMain(m *testing.M) {
	jail.Main() // vetting checks types in a child that is this program
	if job := os.Getenv(installVariable); job != "" {
		os.Exit(installAsChild(job))
	}
	dir, err := os.MkdirTemp("", "loomext-install-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cacheDir = dir
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	livetest.RemoveAll(dir)
	os.Exit(code)
}

func installAsChild(job string) int {
	home, src, _ := strings.Cut(job, ":")
	cacheDir = os.Getenv(cacheVariable)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if _, err := install.Open(home).Install(ctx, options(src)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func builder() *build.Builder {
	return &build.Builder{Cache: cacheDir, Std: vet.Std()}
}

func options(src string) install.Options {
	return install.Options{
		Source: src, Builder: builder(),
		Preset: &install.Decision{All: true, How: "--yes"},
	}
}

// extension writes a source of one tool that answers the given word, under the given name.
func extension(t *testing.T, name, word string, edits ...func(files map[string]string)) string {
	t.Helper()
	files := map[string]string{
		"extension.toml": fmt.Sprintf(`[extension]
name = %q
version = "1.0.0"
description = "Says a word."
license = "MIT"

[config]
loud = false

[[tool]]
name = "say"
description = "Says it."
prompt_snippet = "say: says a word"
parameters = "schema/say.json"
entry = "tool"
`, name),
		"schema/say.json": `{"type": "object", "properties": {"n": {"type": "integer"}}}`,
		"README.md":       "Says a word.\n",
		"tool/say.go": fmt.Sprintf(`package tool

import "github.com/loomext/loomext/prelude/ext"

type args struct {
	N int `+"`json:\"n\"`"+`
}

var Run = ext.Typed(func(ctx ext.Ctx, a args) (ext.Outcome, error) {
	return ext.Text(%q), nil
})
`, word),
	}
	for _, edit := range edits {
		edit(files)
	}
	dir := t.TempDir()
	for path, text := range files {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mustInstall(t *testing.T, s *install.Store, o install.Options) install.Result {
	t.Helper()
	result, err := s.Install(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// bound is an edit of [extension] that binds its tool for MCP.
func bound(files map[string]string) {
	files["extension.toml"] += `
[[mcp.prompt]]
name = "say_it"
description = "Say it some times."
tool = "say"

[[mcp.resource]]
uri = "words:said"
name = "said"
tool = "say"

[[mcp.resource]]
uri = "words://said/{n}"
name = "said_often"
description = "Said some times."
mime_type = "text/markdown"
tool = "say"
`
}
