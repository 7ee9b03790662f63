package proc

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A protected path that is there is mounted read-only upon itself in the jail of a command that may write. One that is
// not there could be made by the command, so for as long as such a command runs an empty directory stands in its place,
// which no command can remove, for it is mounted upon as well. Commands of several hosts
// may run over one workspace: each holds a shared lock on the directory, and who can have it alone takes it away.

// placeholderMode is what tells such a directory from one that somebody made: sticky, and nobody may write there. Everybody may
// look, so that what walks the workspace finds nothing to complain of.
const placeholderMode = unix.S_ISVTX | 0o555

// isPlaceholder is the judgment of one that another host may have made. What a umask takes away says nothing.
func isPlaceholder(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&(unix.S_ISVTX|0o222) == unix.S_ISVTX
}

// standing are the placeholders that this process holds, with how many commands need each. Where a file system keeps no modes they
// are known by this alone.
var standing = struct {
	mu    sync.Mutex
	needs map[inode]int
}{needs: map[inode]int{}}

// inode is what a directory is, whatever its name and its mode.
type inode struct{ device, number uint64 }

func inodeOf(st *unix.Stat_t) inode { return inode{uint64(st.Dev), st.Ino} }

func isStanding(st *unix.Stat_t) bool {
	standing.mu.Lock()
	defer standing.mu.Unlock()
	return isPlaceholder(st) || standing.needs[inodeOf(st)] > 0
}

func stands(at inode, more int) {
	standing.mu.Lock()
	defer standing.mu.Unlock()
	if standing.needs[at] += more; standing.needs[at] <= 0 {
		delete(standing.needs, at)
	}
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
	is      inode
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
	g.findNested(ctx, root, slices.DeleteFunc(slices.Clone(r.protected), func(path string) bool { return strings.Contains(path, "/") }))
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
		if err == unix.ENOENT || err == nil && isStanding(&st) { // of another command, or of a host that was killed
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
		made := err == nil
		var p *placeholder
		if p, err = takePart(parent, name, made); err == nil && p == nil {
			_ = unix.Close(parent)
			return nil
		}
		if p != nil {
			g.held = append(g.held, *p)
			return nil
		}
		if made {
			_ = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR) // only where it is empty
		}
		if err != unix.ENOENT && err != unix.EWOULDBLOCK { // else it was taken away just now, or is about to be
			break
		}
	}
	_ = unix.Close(parent)
	if err == nil {
		err = unix.EBUSY
	}
	return err
}

// takePart locks a placeholder that is there. It gives nil for what is none. An error takes nothing away.
func takePart(parent int, name string, made bool) (*placeholder, error) {
	at, err := unix.Openat(parent, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(at) }()
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || !made && !isStanding(&st) {
		return nil, nil
	}
	if st.Mode&0o7777 != placeholderMode { // the umask took some of it, or the file system keeps none
		_ = unix.Chmod("/proc/self/fd/"+strconv.Itoa(at), placeholderMode)
	}
	fd, err := unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p := &placeholder{parent, fd, name, inodeOf(&st)}
	if err = unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB); err == nil && !p.same() {
		err = unix.ENOENT
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	stands(p.is, 1)
	return p, nil
}

// same says that the name still leads to the placeholder that is open.
func (p *placeholder) same() bool {
	var there unix.Stat_t
	return unix.Fstatat(p.dir, p.name, &there, unix.AT_SYMLINK_NOFOLLOW) == nil && inodeOf(&there) == p.is
}

// release takes the placeholders away that nobody else holds.
func (g *guard) release() {
	for _, p := range g.held {
		if unix.Flock(p.fd, unix.LOCK_EX|unix.LOCK_NB) == nil && p.same() {
			_ = unix.Unlinkat(p.dir, p.name, unix.AT_REMOVEDIR) // only where it is empty
		}
		stands(p.is, -1) // while it is open, so that no other has its number
		_ = unix.Close(p.fd)
		_ = unix.Close(p.dir)
	}
	g.held = nil
}
