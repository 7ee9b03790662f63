//go:build amd64 || arm64

package jail

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

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
