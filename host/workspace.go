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
	"github.com/loomext/loomext/record"
)

// workroom is the directory that a session's extensions work on, nil where there is none.
type workroom struct {
	files *workspace.Workspace
	dir   *os.File // the same directory, for commands

	protected []string // that neither writes
}

// ErrRecordInWorkspace is the error of an opening whose record lies in the workspace: an extension that may read files
// would read there what all of them were asked and answered.
var ErrRecordInWorkspace = errors.New("the record lies in the workspace, where extensions could read it; name a file outside")

// openWorkroom opens the workspace of a session.
func (h *Host) openWorkroom(dir string, r *record.Writer) (*workroom, error) {
	if dir == "" {
		return nil, nil
	}
	protected := slices.Clone(h.config.Workspace.Protected)
	files, err := workspace.Open(dir, workspace.Options{Protected: protected, Home: h.home})
	if err != nil {
		return nil, fmt.Errorf("host: the workspace %s: %w", dir, err)
	}
	held, err := files.Dir()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host: the workspace %s: %w", dir, err), files.Close())
	}
	work := &workroom{files: files, dir: held, protected: append(workspace.Protected(), protected...)}
	info, err := held.Stat()
	if err == nil && r != nil && record.LiesIn(r.Path(), info) {
		err = ErrRecordInWorkspace
	}
	if err != nil {
		work.close()
		return nil, fmt.Errorf("host: %s: %w", dir, err)
	}
	return work, nil
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
