package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/vendorize"
)

// writeSchemas writes the files that differ, each put in its place whole.
func writeSchemas(ctx context.Context, dir string, tools []schemaTool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return unwritten(dir, err)
	}
	defer root.Close()
	done := map[string]bool{}
	for i, t := range tools {
		if t.State == schemaCurrent {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !done[t.Parameters] {
			if err := replaceFile(root, t.Parameters, t.text); err != nil {
				return unwritten(t.Parameters, err)
			}
			done[t.Parameters] = true
		}
		tools[i].State = schemaWritten
	}
	return nil
}

func unwritten(name string, err error) error {
	return &install.Error{Layer: install.LayerGenerate, Err: fmt.Errorf("cannot write %s: %w; make it writable, with space to spare", name, err)}
}

// replaceFile writes a file beside another and gives it that one's name and mode. A name that is anything but a regular
// file or free is refused; so is a directory on the way that is a link.
func replaceFile(root *os.Root, name string, data []byte) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is no directory", dir)
		}
	}
	mode := newFileMode
	switch info, err := root.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := root.MkdirAll(path.Dir(name), newDirMode); err != nil {
		return err
	}
	stage, err := vendorize.NewStageFile(root, path.Dir(name), data, mode)
	if err != nil {
		return err
	}
	return errors.Join(root.Rename(stage.Name, name), stage.Remove())
}
