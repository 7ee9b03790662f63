package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loomext/loomext/source"
)

// A watch looks at a source again and again. A tree that can be installed has at most a few
// thousand names, of which a look costs a stat each; in return it works on every file system,
// runs into no limit of the kernel's, and misses nothing that an editor does with renames.
const (
	// watchEvery is the time between two looks. An edit is noticed after one and taken up after
	// another that finds everything still.
	watchEvery = 40 * time.Millisecond
	// watchSettle is how long a tree that never stands still is waited for.
	watchSettle = 2 * time.Second
	// watchNamed is how many changed files are named.
	watchNamed = 3
)

// watch is what a source looked like.
type watch struct {
	dir       string
	documents []string // files beside the source
	seen      map[string]stamp
}

// stamp changes with a file.
type stamp struct {
	size int64
	time int64
	mode fs.FileMode
}

// look takes the first look. A directory that cannot be read is an error.
func (w *watch) look() error {
	info, err := os.Stat(w.dir)
	switch {
	case err != nil:
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return err
	case !info.IsDir():
		return errors.New("is not a directory")
	}
	w.seen = w.survey()
	return nil
}

// run sends the names that changed, once they have settled, until ctx ends. What is sent is
// waited for, so that no change is lost while a round ends.
func (w *watch) run(ctx context.Context, edits chan<- []string) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := w.survey()
		names := changed(w.seen, now)
		if len(names) == 0 {
			continue
		}
		for end := time.Now().Add(watchSettle); time.Now().Before(end); {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			later := w.survey()
			if len(changed(now, later)) == 0 {
				break
			}
			now = later
		}
		names = changed(w.seen, now)
		w.seen = now
		if len(names) == 0 {
			continue // it was changed back
		}
		select {
		case <-ctx.Done():
			return
		case edits <- shortened(names):
		}
	}
}

// survey stats what can change an install, and some files beside it. What is not there, or
// cannot be read, is left out: the round says so.
func (w *watch) survey() map[string]stamp {
	found := map[string]stamp{}
	note := func(name string, info fs.FileInfo) {
		found[name] = stamp{info.Size(), info.ModTime().UnixNano(), info.Mode()}
	}
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if path != w.dir && unwatched(name) {
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil || len(found) > source.MaxNames {
			return nil
		}
		// A directory's own time changes with every temporary file beside the source.
		if !d.IsDir() {
			if info, err := d.Info(); err == nil {
				rel, _ := filepath.Rel(w.dir, path)
				note(rel, info)
			}
		}
		return nil
	})
	for _, path := range w.documents {
		if info, err := os.Stat(path); err == nil {
			note(path, info)
		}
	}
	return found
}

// watches reports whether a change of a path, which need not be there, can be one of a directory that is watched.
func watches(dir, path string) bool {
	if dir == "" || path == "" {
		return false
	}
	from, to := realPath(dir), realPath(path)
	name, err := filepath.Rel(from, to)
	if err != nil || !filepath.IsLocal(name) {
		return false
	}
	return name == "." || !slices.ContainsFunc(strings.Split(name, string(filepath.Separator)), unwatched)
}

// realPath is a path without links, as far as there is something.
func realPath(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(whole); err == nil {
		return real
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(whole)); err == nil {
		return filepath.Join(real, filepath.Base(whole))
	}
	return whole
}

// unwatched are the names that no install keeps.
func unwatched(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "~") ||
		slices.Contains([]string{"vendor", "testdata", "docs", "go.sum"}, name)
}

// changed are the names that differ, sorted.
func changed(before, after map[string]stamp) []string {
	var names []string
	for name, now := range after {
		if was, ok := before[name]; !ok || was != now {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func shortened(names []string) []string {
	if len(names) <= watchNamed {
		return names
	}
	return append(slices.Clone(names[:watchNamed]), fmt.Sprintf("and %d more", len(names)-watchNamed))
}
