package workspace

import (
	"encoding/binary"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// contained is what openat2 holds for every open: what is found lies beneath the descriptor, on its mount, and was
	// reached by names and links on the disk alone.
	contained = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV
	// unlinked holds besides that no part of the path is a link.
	unlinked = contained | unix.RESOLVE_NO_SYMLINKS

	// patient opens wait for nobody, and take no terminal.
	patient = unix.O_NONBLOCK | unix.O_NOCTTY

	// maxRaces is how often a lookup begins again that the kernel gave up since something was renamed meanwhile. A
	// lookup takes microseconds; who loses so often in a row is being attacked.
	maxRaces = 128
)

// openTree holds a directory by openat2, or by os.Root where that call is missing or forbidden.
func openTree(dir string) (tree, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	t := &beneath{fd}
	probe, err := openat2(fd, top, unix.O_PATH|unix.O_DIRECTORY, unlinked)
	if err != nil {
		_ = t.close()
		// An older kernel does not know the call, and a filter of system calls may refuse it in words of its own.
		return openRooted(dir)
	}
	_ = unix.Close(probe)
	return t, nil
}

func openat2(dir int, path string, flags, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve}
	for races := 0; ; races++ {
		fd, err := unix.Openat2(dir, path, &how)
		if races < maxRaces && (err == unix.EAGAIN || err == unix.EINTR) {
			continue
		}
		return fd, err
	}
}

// openFile is openat2 for a file. A link in an unlinked path is errLink.
func openFile(dir int, path string, flags, resolve uint64) (*os.File, error) {
	fd, err := openat2(dir, path, flags, resolve)
	if err == unix.ELOOP && resolve == unlinked {
		return nil, errLink
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// beneath is a tree by openat2.
type beneath struct{ fd int }

func (t *beneath) open(path string) (*os.File, error) {
	return openHarmless(t.fd, path, unix.O_RDONLY, contained)
}

// openHarmless opens regular files and directories and nothing else: to open a device can do something to it. What has the
// path is held first without being opened, and then opened by what is held.
func openHarmless(dir int, path string, way, resolve uint64) (*os.File, error) {
	held, err := openFile(dir, path, unix.O_PATH, resolve)
	if err != nil {
		return nil, err
	}
	defer func() { _ = held.Close() }()
	info, err := held.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, regular(info)
	}
	number := -1
	if err := withDescriptor(held, func(fd int) error { number = fd; return nil }); err != nil {
		return nil, err
	}
	for {
		fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(number), int(way)|patient|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), path), nil
		case unix.EINTR:
		case unix.ENOENT: // there is no /proc
			return openFile(dir, path, way|patient, resolve)
		default:
			return nil, err
		}
	}
}

func (t *beneath) close() error { return unix.Close(t.fd) }

func (t *beneath) folder(at place) (folder, error) { return openDirectory(t.fd, at.text) }

func openDirectory(dir int, path string) (folder, error) {
	fd, err := openat2(dir, path, unix.O_PATH|unix.O_DIRECTORY, unlinked)
	if err == unix.ELOOP {
		return nil, errLink
	}
	if err != nil {
		return nil, err
	}
	return directory(fd), nil
}

// directory is a folder: a descriptor that names are looked up in.
type directory int

func (d directory) close() { _ = unix.Close(int(d)) }

func (d directory) info() (fs.FileInfo, error) { return d.stat(top) }

func (d directory) enter(name string) (folder, error) { return openDirectory(int(d), name) }

func (d directory) makeDir(name string) error { return unix.Mkdirat(int(d), name, uint32(dirPerm)) }

func (d directory) removeDir(name string) error {
	return unix.Unlinkat(int(d), name, unix.AT_REMOVEDIR)
}

func (d directory) stat(name string) (fs.FileInfo, error) {
	f, err := openFile(int(d), name, unix.O_PATH|unix.O_NOFOLLOW, unlinked)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Stat()
}

func (d directory) open(name string, way int) (*os.File, error) {
	return openHarmless(int(d), name, uint64(way), unlinked)
}

func (d directory) create(name string, perm fs.FileMode) (*os.File, error) {
	for {
		fd, err := unix.Openat(int(d), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(perm))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

func (d directory) rename(from, to string) error {
	return unix.Renameat(int(d), from, int(d), to)
}

func (d directory) remove(name string) error { return unix.Unlinkat(int(d), name, 0) }

// list reads the directory itself: os.File looks entries whose type the disk does not tell up by a path from the
// working directory.
func (t *beneath) list(path string, most int) ([]Entry, error) {
	fd, err := openat2(t.fd, path, unix.O_RDONLY|unix.O_DIRECTORY|patient, contained)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	var entries []Entry
	buffer := make([]byte, 32<<10)
	for len(entries) <= most {
		n, err := unix.Getdents(fd, buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return entries, err
		}
		entries = appendEntries(entries, fd, buffer[:n])
	}
	return entries, nil
}

// appendEntries takes what getdents64 wrote apart: inode and offset of 8 bytes each, the record's length in 2, the type
// in 1, and the name up to a NUL.
func appendEntries(entries []Entry, fd int, records []byte) []Entry {
	const lengthAt, typeAt, nameAt = 16, 18, 19
	for len(records) > nameAt {
		length := int(binary.NativeEndian.Uint16(records[lengthAt:]))
		if length <= nameAt || length > len(records) {
			break
		}
		name := records[nameAt:length]
		if end := slices.Index(name, 0); end >= 0 {
			name = name[:end]
		}
		kind := records[typeAt]
		records = records[length:]
		if text := string(name); text != "." && text != ".." {
			entries = append(entries, Entry{Name: text, IsDir: kind == unix.DT_DIR || kind == unix.DT_UNKNOWN && isDirectory(fd, text)})
		}
	}
	return entries
}

func isDirectory(fd int, name string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}
