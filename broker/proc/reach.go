package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
	path := resolved(placeOf(dir))
	refuse := func(why, fix string) error {
		return &Error{Unavailable, "commands do not run over this workspace: " + why + "; " + fix}
	}
	if path == "/" {
		return refuse("it is the root directory", "choose a project's directory")
	}
	if user, err := os.UserHomeDir(); err == nil && within(resolved(user), path) {
		return refuse("it is the user's home, or holds it", "choose a directory below it")
	}
	if home = resolved(home); home != "" && (within(home, path) || within(path, home)) {
		return refuse("loomext's own home is in it, or it in that", "choose another directory, or another home")
	}
	return nil
}

// reach resolves what commands may read beside, and makes the path.
func (r *Runner) reach(readable []string, home string) error {
	r.path = slices.Clone(systemPath)
	user, _ := os.UserHomeDir()
	user, home = resolved(user), resolved(home)
	for _, name := range readable {
		refuse := func(why string) error {
			return &Error{Unavailable, "readable in [proc] of config.toml names " + strconv.QuoteToASCII(name) + ", " + why}
		}
		path, err := filepath.EvalSymlinks(name)
		if err != nil {
			return refuse("which is not there")
		}
		switch why := config.Unreadable(path); {
		case why != "":
			return refuse("and " + why)
		case user != "" && within(user, path):
			return refuse("which is the user's home or holds it")
		case home != "" && (within(home, path) || within(path, home)):
			return refuse("which is loomext's home, in it, or around it")
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

// resolved is a path without links, as far as that can be said; empty stays empty.
func resolved(path string) string {
	if path == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Clean(path)
}

// within says that a clean path is dir or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
