package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/loomext/loomext/broker"
	"github.com/loomext/loomext/broker/proc"
	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/record"
)

// workroom is the directory that a session's extensions work on, nil where there is none.
type workroom struct {
	files *workspace.Workspace
	dir   *os.File // the same directory, for commands

	protected []string // that neither writes
}

// openWorkroom opens the workspace of a session. Where the session's record lies in it, no
// extension writes that.
func (h *Host) openWorkroom(dir string, r *record.Writer) (*workroom, error) {
	if dir == "" {
		return nil, nil
	}
	protected := slices.Clone(h.config.Workspace.Protected)
	if own := below(dir, h.home); own != "" {
		protected = append(protected, own)
	}
	if r != nil {
		if own := below(dir, r.Path()); own != "" {
			protected = append(protected, own, own+record.BlobsSuffix)
		}
	}
	files, err := workspace.Open(dir, workspace.Options{Protected: protected})
	if err != nil {
		return nil, fmt.Errorf("host: the workspace %s: %w", dir, err)
	}
	held, err := os.Open(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host: the workspace: %w", err), files.Close())
	}
	return &workroom{files: files, dir: held, protected: append(workspace.Protected(), protected...)}, nil
}

// below is the path of a place from a directory that it lies in, with slashes, or empty where it lies elsewhere. Links on
// the way to either are followed.
func below(dir, place string) string {
	from, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	to, err := filepath.EvalSymlinks(place)
	if err != nil {
		return "" // it is not there
	}
	if from, err = filepath.Abs(from); err != nil {
		return ""
	}
	if to, err = filepath.Abs(to); err != nil {
		return ""
	}
	path, err := filepath.Rel(from, to)
	if err != nil || path == "." || !filepath.IsLocal(path) {
		return ""
	}
	return filepath.ToSlash(path)
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
			Terms:     proc.Terms{Commands: table.Commands, Env: table.Env, Write: slices.Contains(t.Granted, "fs_write")},
			Workspace: w.dir, Protected: w.protected,
			Readable: h.config.Proc.Readable, Home: h.home, Jail: h.jail,
		})
	}
}
