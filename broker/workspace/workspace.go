package workspace

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/loomext/loomext/broker/apart"
	"github.com/loomext/loomext/internal/wire"
)

// Options are what a workspace is opened with.
type Options struct {
	// Protected is added to the names that are never written: a name, which is protected wherever it stands, or a path
	// with slashes, relative to the workspace. Both cover what lies below.
	Protected []string
	// Home is loomext's own home, which no workspace may be, hold or lie in; empty where there is none. Neither may one be or hold
	// the user's.
	Home string

	portable bool // tests: as on a system without openat2
}

// Workspace is one directory and what lies beneath it. It is for use by many goroutines.
type Workspace struct {
	open      sync.RWMutex // read-locked by each call
	tree      tree         // nil after Close
	protected protection
	turns     turns
	swept     sweeps
}

// Open takes a directory: links that lead to it are followed now and never again, and one that is moved is still the
// workspace. One whose own name is protected is refused. The error is an [*Error].
func Open(dir string, o Options) (*Workspace, error) {
	w, err := open(dir, o)
	if err != nil {
		return nil, explain("open", dir, err)
	}
	return w, nil
}

func open(dir string, o Options) (*Workspace, error) {
	protected, err := protect(o.Protected)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	if name, is := protected.names.match(filepath.Base(real)); is {
		return nil, refuse(wire.CodePermissionDenied, "the directory is one that is never written, "+quoted(name)+"; open the one it is in")
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, refuse(wire.CodeWrongKind, "it is no directory; name one")
	}
	openTree := openTree
	if o.portable {
		openTree = openRooted
	}
	t, err := openTree(real)
	if err != nil {
		return nil, err
	}
	if err := judgeDir(t, o.Home); err != nil {
		_ = t.close()
		return nil, err
	}
	return &Workspace{tree: t, protected: protected}, nil
}

// judgeDir refuses a directory that is nobody's to work on, by what is held of it.
func judgeDir(t tree, home string) error {
	dir, err := t.open(top)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if fault := apart.Workspace(dir, home); fault != nil {
		return refuse(wire.CodePermissionDenied, "extensions do not work on it: "+fault.Why+"; "+fault.Fix)
	}
	return nil
}

// Close lets go of the directory, when the calls under way have ended. Calls after it are unavailable.
func (w *Workspace) Close() error {
	w.open.Lock()
	defer w.open.Unlock()
	if w.tree == nil {
		return nil
	}
	err := w.tree.close()
	w.tree = nil
	return err
}

// Dir is the directory itself, opened anew by what is held of it and not by its name: for commands that run in it. It is the
// caller's to close. The error is an [*Error].
func (w *Workspace) Dir() (*os.File, error) {
	leave, err := w.enter(context.Background())
	if err != nil {
		return nil, err
	}
	defer leave()
	dir, err := w.tree.open(top)
	if err != nil {
		return nil, explain("open", top, err)
	}
	return dir, nil
}

// enter begins a call, which ends with leave.
func (w *Workspace) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.open.RLock()
	if w.tree == nil {
		w.open.RUnlock()
		return nil, refuse(wire.CodeUnavailable, "the workspace is closed; the session is over")
	}
	return w.open.RUnlock, nil
}
