package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vet"
)

// scratch is where the stores of these tests are. It has one cache of builds.
var scratch string

// storeVariable makes this test's program one that changes a store, as another process
// would: "install <home> <source>" or "remove <home> <name>".
const storeVariable = "LOOMEXT_TEST_MCP_STORE"

func TestMain(m *testing.M) {
	jail.Main()
	if order := os.Getenv(storeVariable); order != "" {
		if err := obey(strings.Fields(order)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "loomext-mcp-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer livetest.RemoveAll(dir)
	scratch = dir
	if code = m.Run(); code != 0 {
		return code
	}
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// deskHome is a store with desk installed, and twin, which is desk under another name. No
// test writes to it.
var deskHome = sync.OnceValues(func() (string, error) {
	home := filepath.Join(scratch, "home")
	for _, name := range []string{"desk", "twin"} {
		if err := installDesk(home, name); err != nil {
			return "", err
		}
	}
	return home, nil
})

// desk is the source of desk under a name.
func desk(name string) (string, error) {
	dir := filepath.Join(scratch, "source", name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.CopyFS(dir, os.DirFS("testdata/desk")); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "extension.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	renamed := strings.ReplaceAll(string(text), `name = "desk"`, `name = "`+name+`"`)
	return dir, os.WriteFile(path, []byte(renamed), 0o600)
}

func installDesk(home, name string) error {
	dir, err := desk(name)
	if err != nil {
		return err
	}
	return installFrom(home, dir, filepath.Join(scratch, "cache"))
}

func installFrom(home, dir, cache string) error {
	_, err := install.Open(home).Install(context.Background(), install.Options{
		Source: dir, Builder: &build.Builder{Cache: cache, Std: vet.Std()},
		Preset: &install.Decision{All: true, How: "test"},
	})
	return err
}

// obey does what another process was told.
func obey(order []string) error {
	if order[0] == "install" {
		return installFrom(order[1], order[2], order[3])
	}
	return install.Open(order[1]).Remove(context.Background(), order[2])
}

// elsewhere has another process change a store.
func elsewhere(t *testing.T, order ...string) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), storeVariable+"="+strings.Join(order, " "))
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", order, err, text)
	}
}
