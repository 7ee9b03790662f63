package apart

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// view is the mounts as they are now, by their numbers.
type view map[uint64]mount

// mount shows a directory of a file system at a point.
type mount struct {
	parent uint64
	shows  spot
	point  string
}

// look reads the mounts. Where they cannot be read there are none.
func look() view {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	v := view{}
	for line := range strings.Lines(string(text)) {
		// The number, that of the parent, the device, the directory, and the point.
		field := strings.Fields(line)
		if len(field) < 5 {
			continue
		}
		id, err := strconv.ParseUint(field[0], 10, 64)
		if err != nil {
			continue
		}
		parent, _ := strconv.ParseUint(field[1], 10, 64)
		v[id] = mount{parent, spot{field[2], unescaped.Replace(field[3])}, unescaped.Replace(field[4])}
	}
	return v
}

// unescaped is a path as the kernel's list of mounts does not write it.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")

func pathOf(f *os.File) string {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(number(f)))
	if err != nil {
		return f.Name()
	}
	return path
}

// number is a file's descriptor, without making it blocking as Fd would.
func number(f *os.File) int {
	fd := -1
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(n uintptr) { fd = int(n) })
	}
	return fd
}

// spots are where a path is on its disk, and then where each disk is mounted on the way up. f is the file at the path where it is open.
func (v view) spots(f *os.File, path string) []spot {
	var st unix.Statx_t
	var err error
	if f != nil {
		err = unix.Statx(number(f), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
	} else {
		err = unix.Statx(unix.AT_FDCWD, path, unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
	}
	if err != nil || st.Mask&unix.STATX_MNT_ID == 0 {
		return nil
	}
	var spots []spot
	m, is := v[st.Mnt_id]
	for range v {
		rest, below := cut(path, m.point)
		if !is || !below {
			break
		}
		spots = append(spots, m.shows.below(rest))
		path = m.point
		m, is = v[m.parent]
	}
	return spots
}

func (s spot) below(rest string) spot {
	if s.path == "/" && rest != "" {
		return spot{s.device, rest}
	}
	return spot{s.device, s.path + rest}
}

// mountedIn says that a mount below a directory shows a place.
func (v view) mountedIn(at, what place) bool {
	return v.below(at, func(shown spot) bool { return len(what.spots) > 0 && what.spots[0].in(shown) })
}

// partMountedIn says that a mount below a directory shows a part of a place.
func (v view) partMountedIn(at, what place) bool {
	return v.below(at, func(shown spot) bool { return what.is != nil && len(what.spots) > 0 && shown.in(what.spots[0]) })
}

func (v view) below(at place, is func(spot) bool) bool {
	for _, m := range v {
		if m.point != at.path && within(m.point, at.path) && is(m.shows) {
			return true
		}
	}
	return false
}
