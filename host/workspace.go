package host

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/loomext/loomext/broker"
	"github.com/loomext/loomext/broker/proc"
	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/install"
)

// workroom is the directory that a session's extensions work on, nil where there is none.
type workroom struct {
	files *workspace.Workspace
	dir   *os.File // the same directory, for commands
}

// openWorkroom opens the workspace of a session.
func (h *Host) openWorkroom(dir string) (*workroom, error) {
	if dir == "" {
		return nil, nil
	}
	files, err := workspace.Open(dir, workspace.Options{Protected: h.config.Workspace.Protected})
	if err != nil {
		return nil, fmt.Errorf("host: the workspace %s: %w", dir, err)
	}
	held, err := os.Open(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host: the workspace: %w", err), files.Close())
	}
	return &workroom{files: files, dir: held}, nil
}

func (w *workroom) close() {
	if w != nil {
		_ = w.files.Close()
		_ = w.dir.Close()
	}
}

// offer adds to the terms of an extension what it may do to the workspace.
func (w *workroom) offer(t *broker.Terms, p *install.Installed, h *Host) {
	if w == nil {
		return
	}
	t.Workspace = w.files
	if table, ok := p.Manifest.Proc(); ok {
		t.Proc = proc.New(proc.Options{
			Terms:     proc.Terms{Commands: table.Commands, Write: slices.Contains(t.Granted, "fs_write")},
			Workspace: w.dir, Protected: append(workspace.Protected(), h.config.Workspace.Protected...),
			Readable: h.config.Proc.Readable, Home: h.home, Jail: h.jail,
		})
	}
}
