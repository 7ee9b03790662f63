package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/record"
)

// used is what an invocation had and left.
type used struct {
	level     jail.Level // of the satellite's jail; empty where none was started
	artifacts []callArtifact
}

// callArtifact is what --json says of an artifact that was emitted.
type callArtifact struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	ContentType string `json:"content_type"`
	Size        int    `json:"size"` // bytes
	Path        string `json:"path"` // of the file that holds it
}

// sessionFlags are the flags of every command that opens a session.
type sessionFlags struct{ workspace, record string }

// addSession adds them.
func (c *cli) addSession(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.session.workspace, "workspace", "", "the directory whose files it may work on, as far as that was granted (default: none)")
	flags.StringVar(&c.session.record, "record", "", "append every invocation and effect to this file; see loomext audit and replay")
	must(cmd.MarkFlagDirname("workspace"))
}

// checkSession refuses values that name nothing, and a workspace that can be none, before anything starts.
func (c *cli) checkSession(cmd *cobra.Command) error {
	if err := refuseEmpty(cmd, "workspace", "record"); err != nil {
		return err
	}
	flags := cmd.Flags()
	if flags.Lookup("record").Value.String() == "-" {
		return usagef("--record - : a record is a file, with its bodies beside it; name one")
	}
	dir := flags.Lookup("workspace").Value.String()
	if dir == "" {
		return nil
	}
	store, err := c.store()
	if err != nil {
		return err
	}
	if err := checkWorkspace(dir, store.Home()); err != nil {
		return err
	}
	return checkPlaceOfRecord(flags.Lookup("record").Value.String(), dir)
}

// checkPlaceOfRecord refuses a record among the files of the session, before one is made there.
func checkPlaceOfRecord(path, workspace string) error {
	if path == "" || workspace == "" {
		return nil
	}
	if dir, err := os.Stat(workspace); err == nil && record.LiesIn(path, dir) { // else the session says so
		return recordInWorkspace()
	}
	return nil
}

// checkWorkspace refuses what is no directory that a session can work on, be it for holding one of the homes.
func checkWorkspace(dir, home string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return usagef("--workspace %q: it is no directory; name one", dir)
	}
	var held *os.File
	if err == nil {
		held, err = os.Open(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return usagef("--workspace %q: it is not there; name a directory", dir)
	case errors.Is(err, fs.ErrPermission):
		return usagef("--workspace %q: it cannot be read: permission denied; name a directory that you may read", dir)
	case err != nil:
		return usagef("--workspace %q: it cannot be read: %s; name another directory", dir, escape.Line(reason(err)))
	}
	_ = held.Close()
	files, err := workspace.Open(dir, workspace.Options{Home: home}) // which has more to say of a directory
	if err != nil {
		return workspaceFault(dir, err)
	}
	return files.Close()
}

func recordInWorkspace() error {
	return usagef("--record lies in the workspace, where extensions could read it; name a file outside")
}

// workspaceFault is the error of a session's workspace as one of the command line.
func workspaceFault(dir string, err error) error {
	if errors.Is(err, host.ErrRecordInWorkspace) {
		return recordInWorkspace()
	}
	if refused, ok := errors.AsType[*workspace.Error](err); ok {
		return usagef("--workspace %q: %s", dir, refused.Msg)
	}
	return err
}

// reason is the system's error without the path that is told before it.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// refuseEmpty refuses flags that are given and empty: what a script left out is no wish.
func refuseEmpty(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return usagef("--%s is empty; give it a value, or leave the flag out", name)
		}
	}
	return nil
}

// openRecord opens the record that the flags name, or gives nil. What could not be written is
// told when it is closed.
func (c *cli) openRecord() (w *record.Writer, end func(), err error) {
	if c.session.record == "" {
		return nil, func() {}, nil
	}
	if w, err = record.Open(c.session.record); err != nil {
		return nil, nil, recordFault(err)
	}
	return w, func() {
		if err := w.Close(); err != nil {
			c.tell(escape.Line(err.Error()))
		}
	}, nil
}

// openSession opens a session with what the flags say. Closing it closes its record.
func (c *cli) openSession(ctx context.Context, h *host.Host, o host.SessionOptions) (s *host.Session, closeAll func(), err error) {
	var end func()
	if o.Record, end, err = c.openRecord(); err != nil {
		return nil, nil, err
	}
	o.Workspace = c.session.workspace
	if s, err = h.Open(ctx, o); err != nil {
		end()
		return nil, nil, workspaceFault(c.session.workspace, err)
	}
	return s, func() { s.Close(); end() }, nil
}

// inSession opens a session on one extension that is loaded, for one invocation, and shows what
// that reports. Nothing of the session is left afterwards but its logs and artifacts.
func (c *cli) inSession(ctx context.Context, installed *install.Installed, invoke func(*host.Session, func(host.Report)) error) (u used, err error) {
	u.artifacts = []callArtifact{}
	store, err := c.store()
	if err != nil {
		return u, err
	}
	reports := c.newReports()
	c.reports = reports
	defer reports.end() // after the satellite's own end
	h, err := host.New(host.Options{Home: store.Home(), Jail: c.jail, Logger: slog.New(warnings{c: c})})
	if err != nil {
		return u, err
	}
	defer h.Close()
	s, closeSession, err := c.openSession(ctx, h, host.SessionOptions{Loaded: []*install.Installed{installed}})
	if err != nil {
		return u, err
	}
	defer closeSession()
	report := func(r host.Report) {
		var path string
		if r.ID != "" {
			path, _ = h.Artifacts().Path(r.ID) // it was put there just now
			u.artifacts = append(u.artifacts, callArtifact{ID: r.ID, Name: r.Name, ContentType: r.ContentType, Size: len(r.Data), Path: path})
		}
		reports.show(r, path)
	}
	err = invoke(s, report)
	if status := s.Status()[0]; status.Jail.Level != "" {
		u.level = status.Jail.Level
		c.noteJail(status.Jail)
	}
	return u, err
}

// warnings is a slog.Handler that tells the operator what went wrong beside the invocation, a line
// each: a log that could not be written, an artifact that could not be kept.
type warnings struct {
	c     *cli
	attrs []slog.Attr
}

func (warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	line := "host: " + r.Message
	add := func(a slog.Attr) bool {
		line += fmt.Sprintf("; %s: %s", a.Key, escape.Line(a.Value.String()))
		return true
	}
	for _, a := range w.attrs {
		add(a)
	}
	r.Attrs(add)
	w.c.tell(line)
	return nil
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.c, slices.Concat(w.attrs, attrs)}
}

func (w warnings) WithGroup(string) slog.Handler { return w }
