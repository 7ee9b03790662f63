package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomext/loomext/broker"
	"github.com/loomext/loomext/broker/proc"
	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/wire"
)

const (
	roleRead = "read"
	rolePath = "path"

	readTool = "read"
	loadTool = "load"

	readLimit = 1.3
	pathLimit = 2
	procLimit = 1

	readFile              = "src/file.txt" // of the read tool
	readSize              = 64 << 10
	readBatch, readRounds = 20, 600
	pathBatch, pathRounds = 50, 800
	procRounds            = 60
)

// readByTool is a file that a tool reads, against as many bytes that it gets from its scratch and the read of the host alone.
func readByTool(ctx context.Context, b *bed) (row, error) {
	s, err := inPinnedChild(ctx, roleRead, b.path("home"), b.path("workspace"))
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(readLimit), behind(s)), nil
}

func takeRead(ctx context.Context, args []string) (_ sample, err error) {
	if len(args) != 2 {
		return sample{}, errors.New("want a home and a workspace")
	}
	file := filepath.Join(args[1], readFile)
	if err := put(file, readSize); err != nil {
		return sample{}, err
	}
	h, err := openHostedOn(ctx, args[0], config.Default(), host.SessionOptions{Extensions: []string{callerExtension}, Workspace: args[1]})
	if err != nil {
		return sample{}, err
	}
	defer h.close()
	loads := perEffect(readBatch, h.caller(ctx, loadTool))
	reads := batches(readBatch, func() error { _, err := os.ReadFile(file); return err })
	floor := func(ctx context.Context) (time.Duration, error) {
		load, err := loads(ctx)
		if err != nil {
			return 0, err
		}
		read, err := reads(ctx)
		return load + read, err
	}
	return compare(ctx, readRounds, floor, perEffect(readBatch, h.caller(ctx, readTool)))
}

// put makes a file of so many bytes, and the directories on the way.
func put(file string, size int) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Repeat("x", size)), 0o600)
}

// deepPath is the containment of a long path against that of a short one.
func deepPath(ctx context.Context, b *bed) (row, error) {
	s, err := inPinnedChild(ctx, rolePath, b.path("paths"))
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(pathLimit), behind(s)), nil
}

func takePath(ctx context.Context, args []string) (_ sample, err error) {
	if len(args) != 1 {
		return sample{}, errors.New("want a directory")
	}
	long, short := components(40), components(4)
	for _, path := range []string{long, short} {
		if err := put(filepath.Join(args[0], path), effectSize); err != nil {
			return sample{}, err
		}
	}
	files, err := workspace.Open(args[0], workspace.Options{})
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	b, err := broker.New(broker.Options{Config: config.Default()})
	if err != nil {
		return sample{}, err
	}
	defer b.Close()
	granted := []string{"fs_read"}
	scope := b.Open(broker.Terms{Extension: callerExtension, Requested: granted, Granted: granted, Workspace: files}, "bench")
	invocation := scope.Begin(nil, nil)
	defer invocation.End()
	read := func(path string) op {
		args := wire.Map(wire.Field{Key: "path", Value: wire.String(path)})
		return batches(pathBatch, func() error {
			if r := invocation.Serve(ctx, "fs.read", args); !r.OK {
				return r.Fault
			}
			return nil
		})
	}
	return compare(ctx, pathRounds, read(short), read(long))
}

// components is a path of so many.
func components(n int) string { return strings.Repeat("d/", n-1) + "file" }

// runTrue is a command that does nothing, in the jail that proc.run gives it and in one of bubblewrap's.
func runTrue(ctx context.Context, b *bed) (row, error) {
	program, err := exec.LookPath(bubblewrap)
	if err != nil {
		return unmetRow(most(procLimit), "needs bubblewrap"), nil
	}
	dir := b.path("commands")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return row{}, err
	}
	held, err := os.Open(dir)
	if err != nil {
		return row{}, err
	}
	defer held.Close()
	runner := proc.New(proc.Options{Terms: proc.Terms{Commands: [][]string{{"true"}}}, Workspace: held, Home: b.path("home"), Protected: workspace.Protected()})
	ours := func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		result, err := runner.Run(ctx, proc.Request{Argv: []string{"true"}})
		if err == nil && result.Exit != 0 {
			err = fmt.Errorf("true ended with %d: %s", result.Exit, result.Stderr)
		}
		return time.Since(start), err
	}
	s, err := compare(ctx, procRounds, inBubble(program, dir), ours)
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(procLimit), behind(s)), nil
}

// inBubble runs true with the binds that a command has.
func inBubble(program, dir string) op {
	args := []string{"--unshare-all", "--die-with-parent", "--clearenv", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", "/usr", "/usr"}
	for _, path := range []string{"/bin", "/lib", "/lib64", "/sbin"} {
		if target, err := os.Readlink(path); err == nil {
			args = append(args, "--symlink", target, path)
		} else if _, err := os.Stat(path); err == nil {
			args = append(args, "--ro-bind", path, path)
		}
	}
	args = append(args, "--ro-bind", dir, "/workspace", "--chdir", "/workspace", "/bin/true")
	return func(ctx context.Context) (time.Duration, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		start := time.Now()
		err := quietly(cmd)
		return time.Since(start), err
	}
}
