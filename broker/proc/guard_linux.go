package proc

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A protected path that is there is mounted read-only upon itself in the jail of a command that may write. One that is
// not there could be made by the command, so for as long as such a command runs an empty directory stands in its place,
// which no command can remove, for it is mounted upon as well. Commands of several hosts
// may run over one workspace: each holds a shared lock on the directory, and who can have it alone takes it away.

// placeholderMode is what tells such a directory from one that somebody made: sticky, and nobody may write there. Everybody may
// look, so that what walks the workspace finds nothing to complain of.
const placeholderMode = unix.S_ISVTX | 0o555

// isPlaceholder is the judgment. What a umask takes away says nothing.
func isPlaceholder(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&(unix.S_ISVTX|0o222) == unix.S_ISVTX
}

// placeholderTries bounds the attempts to get hold of a directory that others take away.
const placeholderTries = 100

// guard is what is protected while one command runs.
type guard struct {
	paths []string // that are there, by slash path
	held  []placeholder
}

type placeholder struct {
	dir, fd int // its parent, and itself, locked
	name    string
}

// guard looks for what is protected and puts a placeholder where there is nothing.
func (r *Runner) guard(ctx context.Context) (*guard, error) {
	g := &guard{}
	root, err := number(r.workspace)
	if err != nil {
		return nil, &Error{Unavailable, "the workspace is closed"}
	}
	for _, path := range r.protected {
		if ctx.Err() != nil {
			break // the caller says why
		}
		if err := g.add(root, path); err != nil {
			g.release()
			return nil, err
		}
	}
	return g, nil
}

// add guards one path, or the first part of it that is not there.
func (g *guard) add(root int, path string) error {
	cannot := func(at, why string) error {
		return &Error{Unavailable, "commands cannot write in this workspace: " + strconv.QuoteToASCII(at) + " is protected and " + why}
	}
	dir, err := unix.FcntlInt(uintptr(root), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return cannot(path, "could not be examined")
	}
	defer func() { _ = unix.Close(dir) }()
	parts := strings.Split(filepath.ToSlash(filepath.Clean(path)), "/")
	for i, name := range parts {
		at := strings.Join(parts[:i+1], "/")
		fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		var st unix.Stat_t
		if err == nil {
			err = unix.Fstat(fd, &st)
		}
		if err == unix.ENOENT || err == nil && isPlaceholder(&st) { // of another command, or of a host that was killed
			if fd >= 0 {
				_ = unix.Close(fd)
			}
			err := g.hold(dir, name)
			if err == unix.EROFS { // nobody makes anything there
				return nil
			}
			if err != nil {
				return cannot(at, "no directory could be put in its place: "+err.Error())
			}
			g.note(at)
			return nil
		}
		if err != nil {
			return cannot(at, "could not be examined: "+err.Error())
		}
		_ = unix.Close(dir)
		dir = fd
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			return cannot(at, "is a link, which cannot be guarded; put there what it leads to")
		case unix.S_IFDIR:
		default:
			g.note(at) // a file, and nothing can be below it
			return nil
		}
	}
	g.note(strings.Join(parts, "/"))
	return nil
}

func (g *guard) note(path string) {
	for _, have := range g.paths {
		if have == path {
			return
		}
	}
	g.paths = append(g.paths, path)
}

// hold makes a placeholder, or takes part in one that is there, and keeps others from taking it away. What somebody else has
// made meanwhile is let be.
func (g *guard) hold(dir int, name string) error {
	parent, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for range placeholderTries {
		if err = unix.Mkdirat(parent, name, placeholderMode); err != nil && err != unix.EEXIST {
			break
		}
		var there unix.Stat_t
		if err = unix.Fstatat(parent, name, &there, unix.AT_SYMLINK_NOFOLLOW); err == nil && !isPlaceholder(&there) {
			_ = unix.Close(parent)
			return nil
		}
		fd := -1
		if err == nil {
			fd, err = unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		}
		if err == unix.ENOENT {
			continue // it was taken away just now
		}
		if err != nil {
			break
		}
		if err = unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB); err == nil && same(parent, name, fd) {
			g.held = append(g.held, placeholder{parent, fd, name})
			return nil
		}
		_ = unix.Close(fd)
	}
	_ = unix.Close(parent)
	if err == nil {
		err = unix.EBUSY
	}
	return err
}

// same says that a name still leads to the placeholder that is open.
func same(dir int, name string, fd int) bool {
	var there, here unix.Stat_t
	return unix.Fstatat(dir, name, &there, unix.AT_SYMLINK_NOFOLLOW) == nil && unix.Fstat(fd, &here) == nil &&
		there.Ino == here.Ino && there.Dev == here.Dev && isPlaceholder(&here)
}

// release takes the placeholders away that nobody else holds.
func (g *guard) release() {
	for _, p := range g.held {
		if unix.Flock(p.fd, unix.LOCK_EX|unix.LOCK_NB) == nil && same(p.dir, p.name, p.fd) {
			_ = unix.Unlinkat(p.dir, p.name, unix.AT_REMOVEDIR) // only where it is empty
		}
		_ = unix.Close(p.fd)
		_ = unix.Close(p.dir)
	}
	g.held = nil
}
