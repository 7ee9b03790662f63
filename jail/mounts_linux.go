//go:build amd64 || arm64

package jail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mounts are the paths of a build's root, the outer ones first.
func (l *launch) mounts() []*mount {
	var list []*mount
	add := func(path string, attributes uint64) {
		info, err := os.Stat(path)
		list = append(list, &mount{path: path, attributes: attributes, file: err == nil && !info.IsDir()})
	}
	for _, path := range l.spec.ReadOnly {
		add(path, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	}
	for _, path := range l.spec.Writable {
		attributes := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
		if l.spec.Profile != Test {
			attributes |= unix.MOUNT_ATTR_NOEXEC
		}
		add(path, attributes)
	}
	// Read-only as a file: it can be written to, and keeps its mode and times.
	for _, device := range l.devices() {
		add(device, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	}
	slices.SortStableFunc(list, func(a, b *mount) int { return strings.Compare(a.path, b.path) })
	return list
}

// maxGiven and maxGivenDepth bound what a launch walks, which every other launch of
// this process waits for: a build's tree has a tenth of each.
const (
	maxGiven      = 100_000
	maxGivenDepth = 64
)

var errTooMuch = errors.New("more files, or deeper ones, than a program is given")

// give hands what the program may write to the user it was made, where the host
// is root. What is in it is the caller's, fresh or left by
// an earlier program of the same kind, and no link is followed.
func (l *launch) give() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, dir := range l.spec.Writable {
		root, err := os.OpenRoot(dir)
		if err == nil {
			entries := 0
			err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
				if entries++; entries > maxGiven || strings.Count(path, "/") > maxGivenDepth {
					return errTooMuch
				}
				return errors.Join(err, root.Lchown(path, l.uid, l.uid))
			})
			err = errors.Join(err, root.Close())
		}
		if err != nil {
			return &Error{Place: layerUser, What: quoted(dir) + " could not be given to the user the program runs as", Err: err}
		}
	}
	return nil
}

// devices are those that a program finds.
func (l *launch) devices() []string {
	if l.spec.Profile == Proc {
		return procDevices
	}
	return []string{os.DevNull}
}

// rootFilesystem makes the root of a build: what it may read, read-only, what it
// may write, and the null device, all under their own paths. A satellite has
// joined a root with nothing in it.
func rootFilesystem(l *launch, p *program) (*Error, error) {
	switch {
	case l.spec.Profile == Proc:
		return nil, l.rootOfCommand(p)
	case l.ns == nil:
		return skip("there is no mount namespace for it"), nil
	case l.spec.Profile == Satellite:
		return nil, nil
	}
	p.add(unix.SYS_MOUNT, p.text("jail"), p.text(scaffold), p.text("tmpfs"), unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, p.text("mode=755,size=1m"))
	made := map[string]bool{scaffold: true}
	l.placeTrees(p, made)
	l.makeWay(p, made, scaffold+l.spec.Dir, false)
	pivot(p)
	p.restrict("/", unix.MOUNT_ATTR_RDONLY, 0)
	return nil, nil
}

// placeTrees puts what was opened under the new root.
func (l *launch) placeTrees(p *program, made map[string]bool) {
	for _, m := range l.trees {
		at := scaffold + m.path
		l.makeWay(p, made, at, m.file)
		move := p.place(at)
		p.pass(m.open, move, 0)
		p.restrict(at, m.attributes, unix.AT_RECURSIVE)
	}
}

// place adds the move of a tree, the descriptor of which is yet to be passed.
func (p *program) place(at string) (move int) {
	return p.add(unix.SYS_MOVE_MOUNT, 0, p.text(""), atFDCWD, p.text(at), unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// restrict adds attributes to a mount.
func (p *program) restrict(at string, attributes uint64, flags uintptr) {
	attr := keep(p, &unix.MountAttr{Attr_set: attributes})
	p.add(unix.SYS_MOUNT_SETATTR, atFDCWD, p.text(at), flags, attr, unsafe.Sizeof(unix.MountAttr{}))
}

// makeWay adds the directories that lead to a place, and the place itself.
func (l *launch) makeWay(p *program, made map[string]bool, at string, file bool) {
	if made[at] {
		return
	}
	for _, under := range l.trees { // inside a mount it exists already
		if strings.HasPrefix(at, scaffold+under.path+"/") && made[scaffold+under.path] {
			return
		}
	}
	l.makeWay(p, made, filepath.Dir(at), false)
	made[at] = true
	if file {
		p.tolerate(p.add(unix.SYS_MKNODAT, atFDCWD, p.text(at), unix.S_IFREG|0o644, 0))
		return
	}
	p.tolerate(p.add(unix.SYS_MKDIRAT, atFDCWD, p.text(at), 0o755))
}
