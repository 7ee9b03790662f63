package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// needGo is the oldest toolchain that compiles the preludes.
	needGo = "go1.26"
	// probeLimit is generous: the go command answers in milliseconds, and a cold disk in a second.
	probeLimit = 20 * time.Second
	// probeOutput bounds what a program that is no go command can make us read.
	probeOutput = 64 << 10
)

// Toolchain is one installed Go.
type Toolchain struct {
	GoRoot string // absolute, without symbolic links
	Go     string // the go command in it
	// Version is what `go env GOVERSION` says, experiments included: "go1.26.8".
	Version string
	// Stamp tells apart toolchains that share a version: empty for a release, sizes and times of its tools otherwise.
	Stamp string
}

// Probe asks a go command what it is, with nothing of the caller's environment. An empty path looks on PATH. A command
// older than this package needs is refused; another one is never downloaded or looked for in its place.
func Probe(ctx context.Context, goCommand string) (Toolchain, error) {
	path, err := findGo(goCommand)
	if err != nil {
		return Toolchain{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	text, err := ask(ctx, path, "env", "-json", "GOROOT", "GOVERSION", "GOFLAGS")
	var env struct{ GOROOT, GOVERSION, GOFLAGS string }
	if err == nil {
		err = json.Unmarshal([]byte(text), &env)
	}
	if have := release(env.GOVERSION); err != nil || have == "" || version.Compare(version.Lang(have), needGo) < 0 {
		return Toolchain{}, unfit(ctx, path, err)
	}
	if env.GOFLAGS != "" {
		// GOFLAGS= counts as unset, so flags in GOROOT's own go.env reach every build.
		return Toolchain{}, &Error{Place: filepath.Join(env.GOROOT, "go.env"), What: fmt.Sprintf("it sets GOFLAGS=%s, which changes every build", env.GOFLAGS), Fix: "remove that line"}
	}
	if !filepath.IsAbs(env.GOROOT) {
		return Toolchain{}, &Error{Place: path, What: fmt.Sprintf("its GOROOT is %q", env.GOROOT), Fix: "repair the Go installation"}
	}
	// A build finds GOROOT where it is, not by way of links that its tree does not have.
	if resolved, err := filepath.EvalSymlinks(env.GOROOT); err == nil {
		env.GOROOT = resolved
	}
	t := Toolchain{GoRoot: env.GOROOT, Version: env.GOVERSION, Go: filepath.Join(env.GOROOT, "bin", "go"+exeSuffix())}
	if _, err := os.Stat(t.Go); err != nil {
		return Toolchain{}, &Error{Place: t.Go, What: "the go command's GOROOT has no go command: " + err.Error(), Fix: "repair the Go installation", Err: err}
	}
	t.Stamp, err = t.stamp()
	return t, err
}

// unfit says why a command is not the go command that is needed. "go version" answers where nothing else of an old or a
// damaged installation does, so it is what to report.
func unfit(ctx context.Context, path string, cause error) error {
	text, err := ask(ctx, path, "version")
	fields := strings.Fields(text)
	switch {
	case err != nil:
		return err
	case len(fields) < 3 || fields[0] != "go" || fields[1] != "version":
		return &Error{Place: path, What: fmt.Sprintf("it is no go command: asked for its version it said %.100q", text), Fix: "name the go command of Go 1.26 or newer", Err: cause}
	case cause != nil && release(text) != "" && version.Compare(version.Lang(release(text)), needGo) >= 0:
		return &Error{Place: path, What: "it does not say where it stands: " + cause.Error(), Fix: "repair the Go installation", Err: cause}
	}
	return &Error{
		Place: path,
		What:  fmt.Sprintf("need %s or newer, have %s", needGo, strings.Join(fields[2:], " ")),
		Fix:   "install a newer Go, and put its go command on PATH",
		Err:   cause,
	}
}

func findGo(named string) (string, error) {
	if named == "" {
		path, err := exec.LookPath("go")
		if err != nil {
			return "", &Error{What: "no go command on PATH", Fix: "install Go 1.26 or newer, and put its go command on PATH", Err: err}
		}
		named = path
	}
	path, err := filepath.Abs(named)
	if err != nil {
		return "", &Error{Place: named, What: err.Error(), Err: err}
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", &Error{Place: path, What: "there is no go command", Fix: "name the go command of Go 1.26 or newer", Err: err}
	}
	return path, nil
}

// ask runs the go command for one answer.
func ask(ctx context.Context, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = os.TempDir()
	cmd.Env = probeEnvironment(filepath.Dir(path))
	cmd.WaitDelay = time.Second
	var out, stderr limitedBuffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		said := strings.TrimSpace(stderr.String())
		if said != "" {
			said = ": " + said
		}
		return "", &Error{
			Place: path,
			What:  fmt.Sprintf("go %s failed: %v%s", args[0], err, said),
			Fix:   "name the go command of a whole Go installation; a wrapper that needs more than PATH does not do",
			Err:   err,
		}
	}
	return strings.TrimSpace(out.String()), nil
}

// limitedBuffer keeps the first probeOutput bytes and swallows the rest.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := probeOutput - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

// release is the first word of a version text that is a Go version, as go/version reads it, or "".
func release(text string) string {
	for word := range strings.FieldsSeq(text) {
		if version.IsValid(word) {
			return word
		}
		// A development tree calls itself go1.27-0a1b2c3d.
		if base, _, ok := strings.Cut(word, "-"); ok && version.IsValid(base) {
			return base
		}
	}
	return ""
}

// stamp is empty for a release, whose version says everything, and changes with the tools of anything else.
func (t Toolchain) stamp() (string, error) {
	if version.IsValid(t.Version) && !strings.Contains(t.Version, "-") {
		return "", nil
	}
	var b strings.Builder
	for _, tool := range t.programs() {
		info, err := os.Stat(tool)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", storage(err)
		}
		if err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", filepath.Base(tool), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String(), nil
}

// programs are what a build runs.
func (t Toolchain) programs() []string {
	all := []string{t.Go}
	for _, tool := range []string{"compile", "link", "asm"} {
		all = append(all, filepath.Join(t.GoRoot, t.toolDir(), tool+exeSuffix()))
	}
	return all
}

func (t Toolchain) toolDir() string {
	return filepath.Join("pkg", "tool", runtime.GOOS+"_"+runtime.GOARCH)
}

func exeSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
