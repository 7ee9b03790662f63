package host_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vet"
)

// home has the extensions of testdata installed: probe, and twin, which is probe under
// another name. No test writes to its store. cacheDir is that of all builds.
var home, cacheDir string

func TestMain(m *testing.M) {
	jail.Main()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "loomext-host-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer livetest.RemoveAll(dir)
	home, cacheDir = filepath.Join(dir, "home"), filepath.Join(dir, "cache")
	if err := installAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code = m.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func installAll(dir string) error {
	twin := filepath.Join(dir, "twin")
	if err := os.CopyFS(twin, os.DirFS("testdata/probe")); err != nil {
		return err
	}
	for _, file := range []string{"extension.toml", "tool/tool.go"} {
		path := filepath.Join(twin, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		renamed := strings.NewReplacer(`name = "probe"`, `name = "twin"`, "extension.invalid/probe", "extension.invalid/twin").Replace(string(text))
		if err := os.WriteFile(path, []byte(renamed), 0o600); err != nil {
			return err
		}
	}
	for _, source := range []string{"testdata/probe", twin} {
		if err := installFrom(context.Background(), home, source); err != nil {
			return err
		}
	}
	return nil
}

func installFrom(ctx context.Context, home, source string) error {
	_, err := install.Open(home).Install(ctx, install.Options{
		Source: source, Builder: &build.Builder{Cache: cacheDir, Std: vet.Std()},
		Preset: &install.Decision{All: true, How: "test"},
	})
	return err
}

// newHost is a host on the installed extensions that ends with the test.
func newHost(t testing.TB, o host.Options) *host.Host {
	t.Helper()
	o.Home = cmp.Or(o.Home, home)
	if o.Config == nil {
		c := config.Default()
		o.Config = &c
	}
	h, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// open is a session that is closed with the test, and leaves no process then.
func open(t testing.TB, h *host.Host, o host.SessionOptions) *host.Session {
	t.Helper()
	s, err := h.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pids := []int{}
		for _, status := range s.Status() {
			if status.PID != 0 {
				pids = append(pids, status.PID)
			}
		}
		s.Close()
		for _, pid := range pids {
			if livetest.Running(pid) {
				t.Errorf("process %d lives on", pid)
			}
		}
	})
	return s
}

func session(t testing.TB) *host.Session {
	t.Helper()
	return open(t, newHost(t, host.Options{}), host.SessionOptions{})
}

// do calls the tool of an extension with what follows as its arguments, key and value by turns.
func do(t testing.TB, op string, rest ...any) host.Call {
	t.Helper()
	args := map[string]any{"op": op}
	for i := 0; i < len(rest); i += 2 {
		args[rest[i].(string)] = rest[i+1]
	}
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return host.Call{Extension: "probe", Tool: "do", Args: text}
}

// said is the text that a call is answered with.
func said(t testing.TB, s *host.Session, c host.Call) string {
	t.Helper()
	out, err := s.Call(t.Context(), c)
	if err != nil {
		t.Fatalf("%s: %v", c.Args, err)
	}
	if len(out.Content) != 1 {
		t.Fatalf("%s: %d blocks", c.Args, len(out.Content))
	}
	return string(out.Content[0].Body)
}

// fails holds a failed call against what is expected of it.
func fails(t testing.TB, err error, kind host.Kind, piece string) *host.Error {
	t.Helper()
	var e *host.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v, want kind %s", err, kind)
	}
	if e.Kind != kind || !strings.Contains(err.Error(), piece) {
		t.Errorf("kind %s: %v; want kind %s and %q", e.Kind, err, kind, piece)
	}
	return e
}

// status is that of one extension.
func status(t testing.TB, s *host.Session, name string) host.Status {
	t.Helper()
	for _, status := range s.Status() {
		if status.Name == name {
			return status
		}
	}
	t.Fatalf("the session has no %s", name)
	return host.Status{}
}
