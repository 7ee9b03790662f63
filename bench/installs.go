package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vet"
)

const (
	// installRounds and unchangedRounds keep the processes of a run, of a half and of a tenth of a second each, within a minute.
	installRounds   = 12
	unchangedRounds = 30

	installLimit   = 2.0
	unchangedLimit = 80 * time.Millisecond
)

// The one file of the forecast extension that changes, and what is changed in it.
const (
	changingFile = "forecast/forecast.go"
	changingText = "edition 0"
)

// edition changes the constant in a copy of the file, to a value that was not there before.
type edition struct{ n int }

func (e *edition) write(root string, original []byte) error {
	e.n++
	text := bytes.Replace(original, []byte(changingText), fmt.Appendf(nil, "edition %d", e.n), 1)
	return os.WriteFile(filepath.Join(root, changingFile), text, 0o644)
}

// changedInstall is an install of a changed source against the bare build inside it.
func changedInstall(ctx context.Context, b *bed) (row, error) {
	floor, err := newBareBuild(ctx, b)
	if err != nil {
		return row{}, err
	}
	original, err := os.ReadFile(filepath.Join(b.source, changingFile))
	if err != nil {
		return row{}, err
	}
	defer os.WriteFile(filepath.Join(b.source, changingFile), original, 0o644) // nothing depends on it
	if n := bytes.Count(original, []byte(changingText)); n != 1 {
		return row{}, fmt.Errorf("%s has %q %d times; the benchmark changes one", changingFile, changingText, n)
	}
	var next edition
	s, err := compare(ctx, installRounds,
		func(ctx context.Context) (time.Duration, error) {
			if err := next.write(floor.root, original); err != nil {
				return 0, err
			}
			return timed(floor.command(ctx))
		},
		func(ctx context.Context) (time.Duration, error) {
			if err := next.write(b.source, original); err != nil {
				return 0, err
			}
			return timed(b.command(ctx, "install", b.source, "--yes"))
		})
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(installLimit), behind(s)), nil
}

func timed(cmd *exec.Cmd) (time.Duration, error) {
	start := time.Now()
	err := quietly(cmd)
	return time.Since(start), err
}

// bareBuild is go build of a build root as an install makes it, and nothing around it.
type bareBuild struct {
	bed  *bed
	root string
	out  string
	env  []string
}

// newBareBuild writes the root, fills the Go build cache of the floor, and holds what it built against what was installed:
// the floor does the same work, or it is none.
func newBareBuild(ctx context.Context, b *bed) (*bareBuild, error) {
	tree, err := source.Open(ctx, b.source)
	if err != nil {
		return nil, err
	}
	text, _ := tree.File("extension.toml")
	m, err := manifest.Decode(text, tree)
	if err != nil {
		return nil, err
	}
	pkg, err := vet.Syntax(ctx, tree, m)
	if err != nil {
		return nil, err
	}
	root, err := pkg.Root(m.Config())
	if err != nil {
		return nil, err
	}
	f := &bareBuild{bed: b, root: b.path("root"), out: b.path("satellite")}
	if err := root.WriteTo(f.root); err != nil {
		return nil, err
	}
	f.env = append(append(f.env, b.forecast.BuildEnv...),
		"PATH="+filepath.Join(b.toolchain.GoRoot, "bin"), "GOROOT="+b.toolchain.GoRoot, "GOCACHE="+b.path("gocache"),
		"GOMODCACHE=/nonexistent", "GOPATH=/nonexistent", "TMPDIR="+b.path("tmp"))
	if err := quietly(f.command(ctx)); err != nil {
		return nil, err
	}
	digest, err := digestOf(f.out)
	if err != nil {
		return nil, err
	}
	if digest != b.forecast.ArtifactDigest {
		return nil, fmt.Errorf("the bare build made %s and the install %s; they must do the same work", digest, b.forecast.ArtifactDigest)
	}
	return f, nil
}

func (f *bareBuild) command(ctx context.Context) *exec.Cmd {
	args := append(append([]string{"build"}, f.bed.forecast.BuildFlags...), "-o", f.out, "./loom_satellite")
	cmd := exec.CommandContext(ctx, f.bed.toolchain.Go, args...)
	cmd.Dir, cmd.Env = f.root, f.env
	return cmd
}

// unchangedInstall is an install of what is installed.
func unchangedInstall(ctx context.Context, b *bed) (row, error) {
	if _, err := b.install(ctx, b.source); err != nil {
		return row{}, err
	}
	again := func(ctx context.Context) *exec.Cmd { return b.command(ctx, "install", b.source, "--yes") }
	s, err := compare(ctx, unchangedRounds,
		func(ctx context.Context) (time.Duration, error) { return timed(b.command(ctx, "version")) },
		func(ctx context.Context) (time.Duration, error) { return timed(again(ctx)) })
	if err != nil {
		return row{}, err
	}
	r := row{
		measured: duration(s.Ours),
		limit:    signMost + " " + duration(unchangedLimit),
		verdict:  most(float64(unchangedLimit)).judge(float64(s.Ours)),
		note:     "loomext version: " + duration(s.Floor) + runs(s),
	}
	r.judge(s)
	started, err := children(again(ctx))
	if err != nil {
		r.note += "; what it starts was not seen: " + err.Error()
		r.verdict = verdictVoid
		return r, nil
	}
	r.note += "; starts " + listed(started)
	for _, argv := range started {
		if !isQuestion(argv) {
			r.verdict = verdictOver
		}
	}
	return r, nil
}

// isQuestion reports whether a process is the go command asked what it is, which builds nothing.
func isQuestion(argv []string) bool {
	return len(argv) > 1 && filepath.Base(argv[0]) == "go" && (argv[1] == "version" || argv[1] == "env")
}

// listed is command lines in a sentence, by the names of the programs.
func listed(all [][]string) string {
	if len(all) == 0 {
		return "no process"
	}
	lines := make([]string, len(all))
	for i, argv := range all {
		argv = append([]string{filepath.Base(argv[0])}, argv[1:]...)
		lines[i] = "`" + strings.Join(argv, " ") + "`"
	}
	return strings.Join(lines, ", ")
}
