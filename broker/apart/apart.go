// Package apart keeps the user's home and loomext's own apart from what extensions work on.
//
// A directory is known by what it is and not by its name: links, other spellings, and mounts that show the same directory
// elsewhere lead to one judgement. It is asked when a session opens its workspace and when commands are to run over one.
//
// It does not judge what lies beside: a workspace below the user's home is the usual one.
//
// Invariants:
//
//   - Only what is there can be told: a home that is not there yet is judged by the directory that it would be made in.
//   - Where the kernel does not tell of mounts, a directory is compared with those above a home, by device and inode.
package apart

import (
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// Fault is why a directory is no workspace, and what to do.
type Fault struct{ Why, Fix string }

// Workspace judges a directory that is open. own is loomext's home, empty where there is none. It gives nil for one that may be worked on.
func Workspace(dir *os.File, own string) *Fault {
	v := look()
	at, err := v.open(dir)
	if err != nil {
		return &Fault{"it cannot be examined", "choose another directory"}
	}
	if filepath.Dir(at.path) == at.path {
		return &Fault{"it is the root directory", "choose a project's directory"}
	}
	user := v.at(UserHome())
	if user.in(at) || v.mountedIn(at, user) {
		return &Fault{"it is the user's home, or holds it", "choose a directory below it"}
	}
	home := v.at(own)
	if home.in(at) || at.in(home) || v.mountedIn(at, home) || v.partMountedIn(at, home) {
		return &Fault{"loomext's own home is in it, or it in that", "choose another directory, or another home"}
	}
	return nil
}

// Readable judges what commands may read beside their workspace.
func Readable(path string, workspace *os.File, own string) (why string) {
	v := look()
	at := v.at(path)
	home, user := v.at(own), v.at(UserHome())
	work, err := v.open(workspace)
	switch {
	case err != nil:
		return "beside which there is no workspace that can be examined"
	case user.in(at):
		return "which is the user's home or holds it"
	case home.in(at) || at.in(home):
		return "which is loomext's home, in it, or around it"
	case at.in(work) || work.in(at):
		return "which lies in the workspace or around it"
	}
	return ""
}

// UserHome is the user's home: the one that the environment names, and where it names none that of the account. It is empty
// where neither tells.
func UserHome() string {
	if home, err := os.UserHomeDir(); err == nil {
		return home
	}
	account, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return ""
	}
	return account.HomeDir
}

// place is a directory or a file, or one that is not there.
type place struct {
	path  string
	is    fs.FileInfo   // nil where it is not there
	above []fs.FileInfo // the directories that it lies in
	spots []spot        // where it is on its disk, then where that is mounted, and so on; none where the kernel does not tell
}

// spot is a directory of a file system.
type spot struct{ device, path string }

// at is the place of a path. That of an empty one lies nowhere.
func (v view) at(path string) place {
	if path == "" {
		return place{}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return place{}
	}
	p := place{path: path}
	for there := path; ; there = filepath.Dir(there) {
		real, err := filepath.EvalSymlinks(there)
		if err == nil {
			if there == path {
				p.path = real
				p.is, _ = os.Stat(real)
			} else {
				p.above = append(p.above, stat(real)...)
			}
			p.above = append(p.above, ancestors(real)...)
			p.spots = v.spots(nil, real)
			return p
		}
		if filepath.Dir(there) == there {
			return p
		}
	}
}

// open is the place of what is open.
func (v view) open(f *os.File) (place, error) {
	info, err := f.Stat()
	if err != nil {
		return place{}, err
	}
	path := pathOf(f)
	return place{path: path, is: info, above: ancestors(path), spots: v.spots(f, path)}, nil
}

func stat(path string) []fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return []fs.FileInfo{info}
}

// ancestors are the directories above a path without links.
func ancestors(path string) []fs.FileInfo {
	var all []fs.FileInfo
	for up := filepath.Dir(path); up != path; path, up = up, filepath.Dir(up) {
		all = append(all, stat(up)...)
	}
	return all
}

// in says that a place is another one or lies in it.
func (p place) in(q place) bool {
	if q.is == nil {
		return false
	}
	if p.is != nil && os.SameFile(p.is, q.is) {
		return true
	}
	for _, dir := range p.above {
		if os.SameFile(dir, q.is) {
			return true
		}
	}
	for _, s := range p.spots {
		if len(q.spots) > 0 && s.in(q.spots[0]) {
			return true
		}
	}
	return false
}

func (s spot) in(t spot) bool { return s.device == t.device && within(s.path, t.path) }

// within says that a clean path is dir or below it.
func within(path, dir string) bool {
	rest, is := cut(path, dir)
	return is && (rest == "" || rest[0] == '/')
}

// cut is what follows a directory in a path: empty, or beginning with a slash.
func cut(path, dir string) (string, bool) {
	switch {
	case dir == "/":
		if path == "/" {
			return "", true
		}
		return path, path != "" && path[0] == '/'
	case path == dir:
		return "", true
	case len(path) > len(dir) && path[:len(dir)] == dir && path[len(dir)] == '/':
		return path[len(dir):], true
	}
	return "", false
}
