package host_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/jail"
)

// withCommands is a session on an extension that runs scripts, over a workspace.
func withCommands(t *testing.T, dir string) *host.Session {
	t.Helper()
	if layer, _ := jail.Inspect().Layer("namespaces"); layer.State != jail.Enforced {
		t.Skip("skipped layer: namespaces: ", layer.Reason)
	}
	own := filepath.Join(t.TempDir(), "home")
	if err := installFrom(t.Context(), own, "testdata/commands"); err != nil {
		t.Fatal(err)
	}
	return open(t, newHost(t, host.Options{Home: own}), host.SessionOptions{Workspace: dir})
}

func script(t *testing.T, text string) host.Call {
	t.Helper()
	args, err := json.Marshal(map[string]string{"script": text})
	if err != nil {
		t.Fatal(err)
	}
	return host.Call{Extension: "commands", Tool: "sh", Args: args}
}

// What env in [proc] of a manifest names, and nothing else of the environment, reaches a command of an installed extension.
func TestACommandGetsTheVariablesOfItsManifest(t *testing.T) {
	t.Setenv("HOST_TEST_FLAGS", "-v --all")
	t.Setenv("HOST_TEST_OTHER", "not for commands")
	s := withCommands(t, t.TempDir())
	if got := said(t, s, script(t, `echo "$HOST_TEST_FLAGS|${HOST_TEST_UNSET-unset}|${HOST_TEST_OTHER-unset}"`)); got != "-v --all|unset|unset\n" {
		t.Errorf("%q", got)
	}
}

// A session is not opened over a directory that has the user's home or loomext's own, by whatever name it is given.
func TestNoSessionWorksOnAHome(t *testing.T) {
	base := t.TempDir()
	users, project := filepath.Join(base, "users/ada"), filepath.Join(base, "users/ada/project")
	if err := errors.Join(os.MkdirAll(project, 0o755), os.Symlink(users, filepath.Join(base, "link"))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", users)
	h := newHost(t, host.Options{})
	refused := func(dir string) {
		t.Helper()
		s, err := h.Open(t.Context(), host.SessionOptions{Workspace: dir})
		if err == nil {
			s.Close()
		}
		var fault *workspace.Error
		if !errors.As(err, &fault) || fault.Code != "permission_denied" {
			t.Errorf("%s: %v", dir, err)
		}
	}
	for _, dir := range []string{users, filepath.Dir(users), filepath.Join(base, "link"), "/", home, filepath.Dir(home), filepath.Join(home, "generations")} {
		refused(dir)
	}
	open(t, h, host.SessionOptions{Workspace: project}).Close()
	mounted, within := filepath.Join(base, "mounted"), filepath.Join(project, "below")
	if err := errors.Join(os.Mkdir(mounted, 0o755), os.Mkdir(within, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, at, workspace string }{
		{users, mounted, mounted}, {filepath.Dir(users), mounted, mounted}, {home, mounted, mounted}, {filepath.Join(home, "generations"), mounted, mounted},
		{home, within, project}, {filepath.Join(home, "generations"), within, project}, {users, within, project},
	} {
		if err := unix.Mount(c.what, c.at, "", unix.MS_BIND, ""); err != nil {
			t.Skip("nothing can be mounted here: ", err)
		}
		refused(c.workspace)
		if err := unix.Unmount(c.at, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}
}
