package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/loomext/loomext/broker/apart"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
)

// judgeWorkspace refuses a directory in which a command would see what is nobody's to work on.
func judgeWorkspace(dir *os.File, home string) error {
	info, err := dir.Stat()
	if err != nil || !info.IsDir() {
		return &Error{Unavailable, "the workspace is no directory that is open"}
	}
	if fault := apart.Workspace(dir, home); fault != nil {
		return &Error{Unavailable, "commands do not run over this workspace: " + fault.Why + "; " + fault.Fix}
	}
	return nil
}

// reach resolves what commands may read beside, and makes the path.
func (r *Runner) reach(readable []string, home string) error {
	r.path = slices.Clone(systemPath)
	for _, name := range readable {
		refuse := func(why string) error {
			return &Error{Unavailable, "readable in [proc] of config.toml names " + strconv.QuoteToASCII(name) + ", " + why}
		}
		path, err := filepath.EvalSymlinks(name)
		if err != nil {
			return refuse("which is not there")
		}
		if why := config.Unreadable(path); why != "" {
			return refuse("and " + why)
		}
		if why := apart.Readable(path, r.workspace, home); why != "" {
			return refuse(why)
		}
		if slices.Contains(r.readable, path) {
			continue
		}
		r.readable = append(r.readable, path)
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if bin, err := os.Stat(path + "/bin"); err == nil && bin.IsDir() {
			path += "/bin"
		}
		r.path = append(r.path, path)
	}
	return nil
}

// environment is all that a command has of it. There is nothing of the host's in it but what the terms name.
func (r *Runner) environment() error {
	r.env = []string{"PATH=" + strings.Join(r.path, ":"), "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "PWD=" + jail.WorkspaceDir}
	for _, name := range r.terms.Env {
		if why := manifest.NotForCommands(name); why != "" {
			return &Error{Unavailable, "the variable " + strconv.QuoteToASCII(name) + " is not for commands: " + why}
		}
		if value, set := os.LookupEnv(name); set && strings.IndexByte(value, 0) < 0 {
			r.env = append(r.env, name+"="+value)
		}
	}
	return nil
}
