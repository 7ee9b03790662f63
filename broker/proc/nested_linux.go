package proc

import (
	"bytes"
	"context"
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Below the top of the workspace there may be more of what is protected: a submodule or a worktree has a .git of its own, which
// Git obeys in the project around it as well. What is there when a command starts is held; to stand in for what is not there would
// take a directory for each that there is.

const (
	// maxNested is how many paths are held for what is found below the top, the directories that lead there included. Each costs a launch
	// some 20 µs.
	maxNested = 96
	// maxGuarded is how many paths the jail holds for one command.
	maxGuarded = 128
	// maxLooked is how many names are looked at for it: the files of a large project. They take some 50 ms.
	maxLooked = 100_000
	// maxNestedDepth is how deep is looked.
	maxNestedDepth = 12
	// lookedBytes is how much of a directory is read at once: some hundred names.
	lookedBytes = 32 << 10
	// unlooked is where nothing is looked for: what package managers put there they remove again, and Git works on none of it.
	unlooked = "node_modules"
)

// findNested adds what has a protected name below the top, the nearest first and of those as near the repositories.
func (g *guard) findNested(ctx context.Context, root int, names []string) {
	s := &search{root: root, names: names, left: maxLooked, buffer: make([]byte, lookedBytes)}
	var found []string
	dirs := []string{"."}
	for depth := 0; depth < maxNestedDepth && len(dirs) > 0; depth++ {
		var here, below []string
		for _, dir := range dirs {
			if ctx.Err() != nil || s.left <= 0 {
				break
			}
			s.look(dir, func(name string, is bool) {
				if !is {
					below = append(below, path.Join(dir, name))
				} else if dir != "." {
					here = append(here, path.Join(dir, name))
				}
			})
		}
		slices.SortFunc(here, func(a, b string) int {
			if ra, rb := path.Base(a) == ".git", path.Base(b) == ".git"; ra != rb {
				if ra {
					return -1
				}
				return 1
			}
			return strings.Compare(a, b)
		})
		found, dirs = append(found, here...), below
	}
	room, led := min(maxNested, maxGuarded-len(g.paths)), map[string]bool{".": true}
	for _, at := range found {
		ways := waysTo(at, led)
		if slices.Contains(g.paths, at) || 1+len(ways) > room {
			continue
		}
		for _, way := range ways {
			led[way] = true
		}
		room -= 1 + len(ways)
		g.note(at)
	}
}

// waysTo are the directories that lead to a path and are not known.
func waysTo(at string, known map[string]bool) []string {
	var ways []string
	for dir := path.Dir(at); !known[dir]; dir = path.Dir(dir) {
		ways = append(ways, dir)
	}
	return ways
}

// search goes through a workspace.
type search struct {
	root   int
	names  []string
	left   int // of maxLooked
	buffer []byte
}

// look tells of each name in a directory that is protected, and of each directory that is not.
func (s *search) look(dir string, tell func(name string, protected bool)) {
	fd, err := unix.Openat(s.root, dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return // nobody may look there, or it is gone
	}
	defer func() { _ = unix.Close(fd) }()
	for s.left > 0 {
		n, err := unix.Getdents(fd, s.buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		s.read(fd, s.buffer[:n], tell)
	}
}

// read goes through what getdents64 wrote: inode and offset of 8 bytes each, the record's length in 2, the type in 1, and the
// name up to a NUL. No text is made of a name that is of no interest.
func (s *search) read(fd int, records []byte, tell func(name string, protected bool)) {
	const lengthAt, typeAt, nameAt = 16, 18, 19
	for len(records) > nameAt {
		length := int(binary.NativeEndian.Uint16(records[lengthAt:]))
		if length <= nameAt || length > len(records) {
			return
		}
		kind, name := records[typeAt], records[nameAt:length]
		records = records[length:]
		s.left--
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		protected := slices.ContainsFunc(s.names, func(p string) bool { return p == string(name) })
		if !protected && kind != unix.DT_DIR && kind != unix.DT_UNKNOWN {
			continue
		}
		if kind == unix.DT_UNKNOWN { // which the disk does not tell
			kind = kindOf(fd, string(name))
		}
		switch text := string(name); {
		case protected && (kind == unix.DT_DIR || kind == unix.DT_REG):
			tell(text, true)
		case !protected && kind == unix.DT_DIR && text != "." && text != ".." && text != unlooked:
			tell(text, false)
		}
	}
}

func kindOf(dir int, name string) byte {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT) != nil {
		return unix.DT_UNKNOWN
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return unix.DT_DIR
	case unix.S_IFREG:
		return unix.DT_REG
	}
	return unix.DT_UNKNOWN
}
