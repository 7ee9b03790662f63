//go:build amd64 || arm64

package jail

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// access is one kind of access Landlock can hold.
type access struct {
	bit  uint64
	name string
}

// The rights of the three kinds, as later kernels learned them. Which of them
// this kernel holds is found by asking for each.
var (
	fileAccess = []access{
		{unix.LANDLOCK_ACCESS_FS_EXECUTE, "execute"},
		{unix.LANDLOCK_ACCESS_FS_WRITE_FILE, "write"},
		{unix.LANDLOCK_ACCESS_FS_READ_FILE, "read"},
		{unix.LANDLOCK_ACCESS_FS_READ_DIR, "list"},
		{unix.LANDLOCK_ACCESS_FS_REMOVE_DIR, "remove directory"},
		{unix.LANDLOCK_ACCESS_FS_REMOVE_FILE, "remove file"},
		{unix.LANDLOCK_ACCESS_FS_MAKE_CHAR, "make character device"},
		{unix.LANDLOCK_ACCESS_FS_MAKE_DIR, "make directory"},
		{unix.LANDLOCK_ACCESS_FS_MAKE_REG, "make file"},
		{unix.LANDLOCK_ACCESS_FS_MAKE_SOCK, "make socket"},
		{unix.LANDLOCK_ACCESS_FS_MAKE_FIFO, "make fifo"},
		{unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK, "make block device"},
		{unix.LANDLOCK_ACCESS_FS_MAKE_SYM, "make link"},
		{unix.LANDLOCK_ACCESS_FS_REFER, "move between directories"},
		{unix.LANDLOCK_ACCESS_FS_TRUNCATE, "truncate"},
		{unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, "control devices"},
		{unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, "connect to unix sockets by path"},
	}
	netAccess = []access{
		{unix.LANDLOCK_ACCESS_NET_BIND_TCP, "bind TCP"},
		{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, "connect TCP"},
		{unix.LANDLOCK_ACCESS_NET_BIND_UDP, "bind UDP"},
		{unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP, "connect or send UDP"},
	}
	scopes = []access{
		{unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, "abstract unix sockets"},
		{unix.LANDLOCK_SCOPE_SIGNAL, "signals"},
	}
)

const (
	// what a program may do in a directory it may only read
	readAccess = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// and in one it may write: everything but execute and make what is no file, directory or link
	writeAccess = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// what the kernel takes in a rule about a file that is no directory
	fileOnlyAccess = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlock is what this kernel's Landlock can hold.
type landlock struct {
	abi     int
	handled unix.LandlockRulesetAttr
	lacks   []string // what it cannot
	err     error    // there is none
	// nothing is a set of no rules, which every satellite is held to.
	nothing int
}

var knownLandlock struct {
	sync.Mutex
	*landlock
}

// landlocked asks the kernel once, and again where the answer was for want of
// something that comes and goes.
func landlocked() *landlock {
	knownLandlock.Lock()
	defer knownLandlock.Unlock()
	if knownLandlock.landlock != nil {
		return knownLandlock.landlock
	}
	l := askLandlock()
	if l.err == nil || !passing(l.err) {
		knownLandlock.landlock = l
	}
	return l
}

func askLandlock() *landlock {
	l := &landlock{nothing: -1}
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		l.err = &Error{Place: layerLandlock, What: "the kernel offers none", Fix: landlockRemedy(errno), Err: errno}
		return l
	}
	l.abi = int(abi)
	ask := func(kind []access, field func(*unix.LandlockRulesetAttr) *uint64) {
		for _, a := range kind {
			var one unix.LandlockRulesetAttr
			*field(&one) = a.bit
			fd, err := createRuleset(&one)
			if err == unix.EINVAL {
				l.lacks = append(l.lacks, a.name)
				continue
			}
			if err != nil {
				l.err = &Error{Place: layerLandlock, What: "the kernel made no rule set", Fix: landlockRemedy(err), Err: err}
				return
			}
			_ = unix.Close(fd)
			*field(&l.handled) |= a.bit
		}
	}
	ask(fileAccess, func(a *unix.LandlockRulesetAttr) *uint64 { return &a.Handled_access_fs })
	ask(netAccess, func(a *unix.LandlockRulesetAttr) *uint64 { return &a.Handled_access_net })
	ask(scopes, func(a *unix.LandlockRulesetAttr) *uint64 { return &a.Scoped })
	if l.err != nil {
		return l
	}
	var err error
	if l.nothing, err = createRuleset(&l.handled); err != nil {
		l.err = &Error{Place: layerLandlock, What: "the kernel made no rule set", Fix: landlockRemedy(err), Err: err}
	}
	return l
}

// createRuleset hands over as much of the attributes as is set: an older kernel
// takes a longer structure only where the rest is zero, which is what it is.
func createRuleset(attr *unix.LandlockRulesetAttr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// ruleset makes the set for a command: no rule for a satellite, and for the
// others one for each path they may reach. The caller closes it unless it is the
// shared one.
func (l *landlock) ruleset(s *Spec) (fd int, shared bool, err error) {
	if s.Profile == Satellite {
		return l.nothing, true, nil
	}
	if fd, err = createRuleset(&l.handled); err != nil {
		return -1, false, &Error{Place: layerLandlock, What: "the kernel made no rule set", Err: err}
	}
	allow := func(path string, rights uint64) {
		if e := l.allow(fd, path, rights); e != nil {
			err = errors.Join(err, &Error{Place: layerLandlock, What: quoted(path) + " cannot be allowed", Fix: "check the path", Err: e})
		}
	}
	for _, path := range s.ReadOnly {
		allow(path, readAccess)
	}
	if s.Profile == Proc {
		err = errors.Join(err, l.allowWorkspace(fd, s.Workspace))
		for _, device := range procDevices {
			allow(device, unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_WRITE_FILE)
		}
	}
	for _, path := range s.Writable {
		rights := uint64(writeAccess)
		if s.Profile == Test {
			rights |= unix.LANDLOCK_ACCESS_FS_EXECUTE
		}
		allow(path, rights)
	}
	allow(os.DevNull, unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_WRITE_FILE)
	if err != nil {
		_ = unix.Close(fd)
		return -1, false, err
	}
	return fd, false, nil
}

func (l *landlock) allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return l.allowOpen(ruleset, fd, rights)
}

// allowOpen is allow for what is open.
func (l *landlock) allowOpen(ruleset, fd int, rights uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileOnlyAccess
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights & l.handled.Handled_access_fs, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// detail says for the report what this kernel's version holds and what not.
func (l *landlock) detail() string {
	text := "ABI " + strconv.Itoa(l.abi)
	if len(l.lacks) > 0 {
		text += "; this kernel's cannot hold: " + strings.Join(l.lacks, ", ")
	}
	return text
}
