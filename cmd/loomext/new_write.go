package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/vendorize"
)

// The modes of what an author gets, less the umask, as with anything they make.
const (
	newDirMode  fs.FileMode = 0o755
	newFileMode fs.FileMode = 0o644
)

// writeNew writes a new tree as a whole: dir is not there, or it is an empty directory, or nothing is written. A directory
// that is there stays the same one, since somebody may stand in it.
func writeNew(ctx context.Context, dir string, files map[string][]byte) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return writeBeside(ctx, dir, files)
	case err != nil:
		return cannotWrite(dir, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return usagef("new: %s is a link; name the directory itself", dir)
	case !info.IsDir():
		return usagef("new: %s is there and no directory; name another", dir)
	}
	return writeInto(ctx, dir, files)
}

func cannotWrite(dir string, err error) error {
	return &install.Error{Layer: install.LayerGenerate, Err: fmt.Errorf("cannot write %s: %w; nothing is left of it", dir, err)}
}

// writeBeside writes a directory under another name and gives it its own when it is whole.
func writeBeside(ctx context.Context, dir string, files map[string][]byte) error {
	parent := filepath.Dir(absolute(dir))
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return usagef("new: %s is no directory; make it first, or name another place", parent)
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return cannotWrite(dir, err)
	}
	defer root.Close()
	stage, err := vendorize.NewStage(root, ".")
	if err != nil {
		return cannotWrite(dir, err)
	}
	defer stage.Remove()
	whole := filepath.Join(parent, stage.Name, "whole") // its mode is what the umask leaves; the stage's is not
	if err := os.Mkdir(whole, newDirMode); err != nil {
		return cannotWrite(dir, err)
	}
	if err := writeFiles(ctx, whole, files); err != nil {
		return cannotWrite(dir, err)
	}
	// A directory of that name that came up meanwhile is an error here.
	if err := os.Rename(whole, dir); err != nil {
		return cannotWrite(dir, err)
	}
	return nil
}

// writeInto fills an empty directory: from a staging directory inside it, the manifest last, since it makes a tree an
// extension.
func writeInto(ctx context.Context, dir string, files map[string][]byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return cannotWrite(dir, err)
	}
	defer root.Close()
	vendorize.Sweep(root, ".")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return cannotWrite(dir, err)
	}
	if len(entries) > 0 {
		return usagef("new: %s is not empty: it holds %q; name a directory that is new or empty", dir, entries[0].Name())
	}
	stage, err := vendorize.NewStage(root, ".")
	if err != nil {
		return cannotWrite(dir, err)
	}
	defer stage.Remove()
	if err := writeFiles(ctx, filepath.Join(dir, stage.Name), files); err != nil {
		return cannotWrite(dir, err)
	}
	var tops []string
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(tops, top) && top != manifest.FileName {
			tops = append(tops, top)
		}
	}
	slices.Sort(tops)
	var moved []string
	for _, top := range append(tops, manifest.FileName) {
		_, err := root.Lstat(top)
		if err == nil {
			err = fmt.Errorf("%s came up meanwhile", top)
		} else if errors.Is(err, fs.ErrNotExist) {
			err = root.Rename(path.Join(stage.Name, top), top)
		}
		if err != nil {
			for _, name := range moved {
				_ = root.RemoveAll(name)
			}
			return cannotWrite(dir, err)
		}
		moved = append(moved, top)
	}
	return nil
}

// writeFiles writes files below a directory that is there and nobody else's.
func writeFiles(ctx context.Context, dir string, files map[string][]byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := root.MkdirAll(path.Dir(name), newDirMode); err != nil {
			return err
		}
		if err := root.WriteFile(name, files[name], newFileMode); err != nil {
			return err
		}
	}
	return nil
}
