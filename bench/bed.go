package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/install"
)

// bed is what the figures are taken on: programs built from the working tree, a home and caches of their own, and the
// extensions of testdata installed.
type bed struct {
	dir       string // temporary; all else is below it
	module    string // the root of the working tree
	toolchain build.Toolchain
	loomext   string // programs
	bare      string
	netecho   string
	echo      string // artifacts
	forecast  install.Record
	sessions  *crowded // once it was found
	source    string   // of the forecast extension, to be changed
}

func newBed(ctx context.Context) (_ *bed, err error) {
	b := &bed{}
	if b.toolchain, err = build.Probe(ctx, ""); err != nil {
		return nil, err
	}
	if b.module, err = b.moduleRoot(ctx); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "loomext-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.remove()
		}
	}()
	for _, dir := range []string{"tmp", "user"} {
		if err := os.Mkdir(b.path(dir), 0o700); err != nil {
			return nil, err
		}
	}
	for _, p := range []struct {
		to   *string
		pkg  string
		name string
	}{
		{&b.loomext, "./cmd/loomext", "loomext"},
		{&b.bare, "./bench/testdata/bare", "bare"},
		{&b.netecho, "./bench/testdata/netecho", "netecho"},
	} {
		*p.to = b.path(p.name)
		if err := b.compile(ctx, p.pkg, *p.to); err != nil {
			return nil, err
		}
	}
	b.source = b.path("forecast")
	if err := os.CopyFS(b.source, os.DirFS(filepath.Join(b.module, "bench/testdata/forecast"))); err != nil {
		return nil, err
	}
	if b.forecast, err = b.install(ctx, b.source); err != nil {
		return nil, err
	}
	for _, name := range []string{"echo", "caller"} {
		if _, err = b.install(ctx, filepath.Join(b.module, "bench/testdata", name)); err != nil {
			return nil, err
		}
	}
	for _, name := range hooked {
		if err = b.installHooked(ctx, name); err != nil {
			return nil, err
		}
	}
	b.echo = b.artifact("echo")
	return b, nil
}

// installHooked installs the extension with hooks under another name.
func (b *bed) installHooked(ctx context.Context, name string) error {
	source := b.path(name)
	if err := os.CopyFS(source, os.DirFS(filepath.Join(b.module, "bench/testdata", hookedSource))); err != nil {
		return err
	}
	file := filepath.Join(source, "extension.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(strconv.Quote(hookedSource)), []byte(strconv.Quote(name)), 1), 0o600); err != nil {
		return err
	}
	_, err = b.install(ctx, source)
	return err
}

func (b *bed) path(name string) string { return filepath.Join(b.dir, name) }

// remove leaves nothing behind. Caches are read-only, so their directories are opened first.
func (b *bed) remove() {
	_ = filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	if err := os.RemoveAll(b.dir); err != nil {
		say(err.Error())
	}
}

// moduleRoot is the working tree this program was built from.
func (b *bed) moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, b.toolchain.Go, "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	path, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if path != "github.com/loomext/loomext" {
		return "", fmt.Errorf("this is module %s; run it inside loomext's own working tree", path)
	}
	return dir, nil
}

// compile builds a program of the working tree as make build does, with the user's own go settings.
func (b *bed) compile(ctx context.Context, pkg, to string) error {
	cmd := exec.CommandContext(ctx, b.toolchain.Go, "build", "-trimpath", "-ldflags=-s -w", "-o", to, pkg)
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return quietly(cmd)
}

// environment is what loomext runs with: the user's PATH, and everything it keeps below the bed.
func (b *bed) environment() []string {
	return []string{
		"PATH=" + filepath.Dir(b.toolchain.Go) + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"HOME=" + b.path("user"), "XDG_CACHE_HOME=" + b.path("cache"), "LOOM_HOME=" + b.path("home"), "TMPDIR=" + b.path("tmp"),
	}
}

// command is one command line of loomext.
func (b *bed) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.loomext, args...)
	cmd.Env = b.environment()
	return cmd
}

// install installs a source and returns its record.
func (b *bed) install(ctx context.Context, source string) (install.Record, error) {
	cmd := b.command(ctx, "install", source, "--yes", "--json")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return install.Record{}, fmt.Errorf("loomext install: %w: %s", err, errs.String())
	}
	var result struct{ Record install.Record }
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return install.Record{}, fmt.Errorf("loomext install --json: %w", err)
	}
	return result.Record, nil
}

// artifact is the installed satellite of an extension, whichever generation is current.
func (b *bed) artifact(name string) string {
	return filepath.Join(b.path("home"), "extensions", name, "loom_satellite")
}

// quietly runs a command and puts what it said into the error alone.
func quietly(cmd *exec.Cmd) error {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, said.String())
	}
	return err
}
