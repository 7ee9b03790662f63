package build

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// hostileProgram is testdata/hostile, compiled once.
var hostileProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "loomext-hostile")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "go")
	cmd := exec.Command("go", "build", "-o", out, "./testdata/hostile")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.New(err.Error() + ": " + string(said))
	}
	return os.ReadFile(out)
})

// hostileGo is a Go installation whose go command does as it is told.
type hostileGo struct{ toolchain Toolchain }

func newHostileGo(t testing.TB) hostileGo {
	t.Helper()
	program, err := hostileProgram()
	if err != nil {
		t.Fatal(err)
	}
	root := publicDir(t)
	h := hostileGo{Toolchain{GoRoot: root, Go: filepath.Join(root, "bin", "go"), Version: "go1.26.999"}}
	if err := errors.Join(os.Mkdir(filepath.Join(root, "bin"), 0o755), os.WriteFile(h.toolchain.Go, program, 0o755)); err != nil {
		t.Fatal(err)
	}
	return h
}

// order says what the next build does: words of an order, and orders one after the other. $OUT is the satellite's file.
func (h hostileGo) order(t testing.TB, orders ...[]string) {
	t.Helper()
	var lines []string
	for _, o := range orders {
		lines = append(lines, strings.Join(o, "\t"))
	}
	if err := os.WriteFile(filepath.Join(h.toolchain.GoRoot, "orders"), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAHostileCompilerLeavesIsNotTakenAndNotLeft(t *testing.T) {
	h := newHostileGo(t)
	cache := publicDir(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("the host's own"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, want := mustRoot(t, weather(nil))
	for _, tt := range []struct {
		name   string
		orders [][]string
		want   string
	}{
		{"nothing", nil, "cannot be read: no such file or directory"},
		{"a link to a file of the host", [][]string{{"symlink", secret, "$OUT"}}, "cannot be read: too many levels of symbolic links"},
		{"a directory", [][]string{{"directory", "$OUT/x"}}, "no regular file but d"},
		{"a file that is no program", [][]string{{"create", "$OUT"}}, "no ELF executable"},
		{"directories without a mode", [][]string{
			{"create", "$OUT"}, {"directory", "$OUT.d/a/b/c"}, {"create", "$OUT.d/a/b/c/file"}, {"mode", "$OUT.d/a/b/c", "0"}, {"mode", "$OUT.d/a/b", "0"}, {"mode", "$OUT.d/a", "0"}, {"mode", "$OUT.d", "0"},
		}, "no ELF executable"},
		{"links out of the stage", [][]string{{"create", "$OUT"}, {"symlink", filepath.Dir(secret), "$OUT.l"}, {"symlink", secret, "$OUT.m"}}, "no ELF executable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h.order(t, tt.orders...)
			a, err := (&Builder{Cache: cache, Go: h.toolchain.Go}).Build(context.Background(), root, want)
			var e *Error
			if !errors.As(err, &e) || e.Place != outputName || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("built %+v, %v\nwant …%s…", a, err, tt.want)
			}
			noStages(t, cache)
			if text, err := os.ReadFile(secret); err != nil || string(text) != "the host's own" {
				t.Errorf("the host's file holds %q, %v", text, err)
			}
			if info, err := os.Stat(filepath.Dir(secret)); err != nil || info.Mode().Perm()&0o700 == 0 {
				t.Errorf("the host's directory is %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestOnlyARegularFileWithinTheBoundIsTaken(t *testing.T) {
	const bound = 4096
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("the host's own"), 0o600); err != nil {
		t.Fatal(err)
	}
	sized := func(n int64) func(string) error {
		return func(out string) error { return errors.Join(os.WriteFile(out, nil, 0o600), os.Truncate(out, n)) }
	}
	for name, tt := range map[string]struct {
		leave func(out string) error
		want  string // "" is taken
	}{
		"nothing":         {func(string) error { return nil }, "cannot be read: no such file or directory"},
		"a link":          {func(out string) error { return os.Symlink(secret, out) }, "cannot be read: too many levels of symbolic links"},
		"a pipe":          {func(out string) error { return syscall.Mkfifo(out, 0o600) }, "no regular file but p"},
		"a directory":     {func(out string) error { return os.Mkdir(out, 0o700) }, "no regular file but d"},
		"a byte too many": {sized(bound + 1), "has 4097 bytes"},
		"all that may be": {sized(bound), ""},
		"an empty file":   {sized(0), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := openCache(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s, err := c.stage(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer s.remove()
			if err := tt.leave(s.path(workDir, outputName)); err != nil {
				t.Fatal(err)
			}
			a, err := s.take(bound)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("taken: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if digest, size, err := FileDigest(a.Path); err != nil || digest != a.Digest || a.Size != size {
				t.Errorf("taken %+v; the file has %s, %d, %v", a, digest, size, err)
			}
			if info, err := os.Stat(a.Path); err != nil || info.Mode() != 0o555 {
				t.Errorf("the file is %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestTreesThatResistAreRemovedAndNothingOutside(t *testing.T) {
	outside := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "file"), nil, 0o400), os.Chmod(outside, 0o500)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(outside, 0o700)
	dir := filepath.Join(t.TempDir(), "tree")
	// A chain of directories that is longer than a path may be, with a mode on none of them, and links among them.
	const depth = 50
	long := strings.Repeat("d", 100)
	grow := func(at string) error {
		if err := os.Mkdir(at, 0o700); err != nil {
			return err
		}
		root, err := os.OpenRoot(at)
		for chain := []*os.Root{root}; err == nil; {
			last := chain[len(chain)-1]
			if len(chain) > depth {
				// From the bottom up, since nothing is reached below a directory without a mode.
				for i := depth - 1; i >= 0; i-- {
					err = errors.Join(err, chain[i].Chmod(long, 0))
				}
				for _, r := range chain {
					err = errors.Join(err, r.Close())
				}
				return err
			}
			err = errors.Join(last.Mkdir(long, 0o700), last.Symlink(outside, "l"), last.WriteFile("f", nil, 0o600))
			if err == nil {
				root, err = last.OpenRoot(long)
				chain = append(chain, root)
			}
		}
		return err
	}
	for name, remove := range map[string]func(string) error{"all at once": removeAll, "layer by layer": removeLayers} {
		if err := grow(dir); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := remove(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s: it is still there (%v)", name, err)
		}
		if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
			t.Errorf("%s: a directory outside is %v, %v", name, info.Mode(), err)
		}
		if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := removeAll(dir); err != nil {
		t.Errorf("a tree that is not there: %v", err)
	}
}
