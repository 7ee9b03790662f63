package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ordered is a command that runs this test binary as a build in a process of its own.
func ordered(t testing.TB, o order) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	return cmd
}

func artifactOf(t testing.TB, cmd *exec.Cmd) Artifact {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var a Artifact
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return a
}

// publicDir is a directory that every user can reach; t.TempDir is its owner's alone.
func publicDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "loomext-other")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// nobody is a user that owns nothing here.
const nobody = 65534

// Everything that is said not to change the output is changed at once: the directory, the Go cache, the user, the umask,
// the time zone and the locale; and there is no network, also for the fill of the Go cache.
func TestAnotherUserElsewhereWithoutANetworkBuildsTheSameBytes(t *testing.T) {
	files := weather(tree{"tool/unique.go": unique(t)})
	root, want := mustRoot(t, files)
	here, err := (&Builder{Cache: shared}).Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	dir := publicDir(t)
	cmd := ordered(t, order{Cache: filepath.Join(dir, "a", "deeper", "cache"), Umask: 0o077, Tree: files})
	cmd.Env = append(cmd.Env, "TZ=Pacific/Chatham", "LC_ALL=de_DE.UTF-8", "HOME="+dir, "XDG_CACHE_HOME="+dir)
	cmd.Dir = dir
	if os.Getuid() == 0 {
		self := filepath.Join(dir, "build.test")
		if err := errors.Join(copyFile(cmd.Path, self), os.Chmod(self, 0o755), os.Chown(dir, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
		cmd.Path = self
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
			Cloneflags: syscall.CLONE_NEWNET,
		}
	} else {
		defer func() {
			if !t.Failed() {
				t.Skip("skipped layer: user and network: only root can change them; all else was compared and is equal")
			}
		}()
	}
	there := artifactOf(t, cmd)
	if there.Digest != here.Digest || there.Size != here.Size || there.Key != here.Key {
		t.Errorf("here %s, %d bytes, key %s;\nthere %s, %d bytes, key %s", here.Digest, here.Size, here.Key, there.Digest, there.Size, there.Key)
	}
	if there.Cached || there.Path == here.Path {
		t.Errorf("the second build was not one: %+v", there)
	}
	if there.Toolchain != here.Toolchain || strings.Join(there.Env, " ") != strings.Join(here.Env, " ") {
		t.Errorf("recorded there: %s %v", there.Toolchain, there.Env)
	}
	noStages(t, filepath.Join(dir, "a", "deeper", "cache"))
}

func TestHostileEnvironmentChangesNothing(t *testing.T) {
	files := weather(tree{
		"tool/unique.go": unique(t),
		// Compiled in only by a -tags=evil from somewhere, and then an error.
		"tool/evil.go": "//go:build evil\n\npackage tool\n\nvar x int = \"evil\"\n",
	})
	root, want := mustRoot(t, files)
	b := &Builder{Cache: shared}
	plain, err := b.Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	if err := removeAll(filepath.Dir(plain.Path)); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	marker := filepath.Join(dir, "ran")
	script := "#!/bin/sh\necho \"$0\" >> " + marker + "\nexit 1\n"
	for _, name := range []string{"git", "gcc", "cc", "gopackagesdriver", "cacheprog", "fsmonitor"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "config", "go")
	if err := errors.Join(
		os.MkdirAll(config, 0o755),
		os.WriteFile(filepath.Join(config, "env"), []byte("GOFLAGS=-tags=evil -toolexec="+filepath.Join(dir, "cc")+"\nGOAMD64=v3\nCGO_ENABLED=1\nCC="+filepath.Join(dir, "cc")+"\n"), 0o644),
		os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte("[core]\n\tfsmonitor = "+filepath.Join(dir, "fsmonitor")+"\n"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOFLAGS": "-tags=evil", "GOENV": filepath.Join(config, "env"), "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "HOME": dir,
		"GOCACHEPROG": filepath.Join(dir, "cacheprog"), "CC": filepath.Join(dir, "cc"), "CGO_ENABLED": "1", "CGO_CFLAGS": "-DEVIL",
		"GOEXPERIMENT": "nogreenteagc", "GOAMD64": "v3", "GOPACKAGESDRIVER": filepath.Join(dir, "gopackagesdriver"), "GOTOOLDIR": dir, "GOTOOLCHAIN": "go1.99.0",
		"GODEBUG": "gocacheverify=1,gocachehash=1", "GOWORK": filepath.Join(dir, "go.work"), "GOOS": "plan9", "GOARCH": "386", "GOCACHE": "/dev/null",
		"GOROOT": dir, "GO111MODULE": "off", "GOPROXY": "http://127.0.0.1:1", "GOFIPS140": "latest", "GOGC": "1", "GOMAXPROCS": "1", "TMPDIR": dir,
		"GIT_CONFIG_GLOBAL": filepath.Join(dir, ".gitconfig"), "PATH": dir + string(filepath.ListSeparator) + os.Getenv("PATH"), "LD_PRELOAD": filepath.Join(dir, "x.so"),
	} {
		t.Setenv(name, value)
	}
	hostile, err := b.Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	if hostile.Cached || hostile.Digest != plain.Digest {
		t.Errorf("built %+v, plain was %+v", hostile, plain)
	}
	if ran, err := os.ReadFile(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("these were run: %s (%v)", ran, err)
	}
	for _, e := range hostile.Env {
		if strings.Contains(e, dir) || strings.Contains(e, "evil") {
			t.Errorf("recorded: %s", e)
		}
	}
}

func TestKilledBuildIsCleanedUpByTheNext(t *testing.T) {
	warm(t)
	files := weather(tree{"tool/unique.go": unique(t)})
	cmd := ordered(t, order{Cache: shared, Tree: files})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the compiler of the build runs", func() bool { return len(processesOf(t, shared)) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	until(t, "what the killed build started is gone", func() bool { return len(processesOf(t, shared)) == 0 })

	root, want := mustRoot(t, files)
	if _, err := (&Builder{Cache: shared}).Build(context.Background(), root, want); err != nil {
		t.Fatal(err)
	}
	noStages(t, shared)
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
