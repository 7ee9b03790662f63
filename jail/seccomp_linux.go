//go:build amd64 || arm64

package jail

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const arch = runtime.GOARCH

// A call that the filter refuses is never made. What happens besides is one of
// three things. The kernel tells the host which call it was, over a listener, and
// leaves the thread waiting for an answer that does not come: the host notes
// the name and kills. Where there can be no listener the kernel kills at once and
// nobody learns the name. In an author's trace the kernel raises SIGSYS, upon which a Go program
// prints where it was.

// listening is false once a listener was refused: another is in force around
// the host, as in a container that has its own.
var listening = sync.OnceValue(func() *atomic.Bool {
	var b atomic.Bool
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	b.Store(errno == 0)
	return &b
})

// filterCalls is the last wall: from here on the program makes the calls of its
// list and no others, and the first of them is exec.
func filterCalls(l *launch, p *program) (*Error, error) {
	refuse := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	flags := uintptr(0)
	switch {
	case l.options.Trace:
		refuse = unix.SECCOMP_RET_TRAP
	case l.listens:
		refuse = unix.SECCOMP_RET_USER_NOTIF
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	params := filterParams{image: imageAt, refuse: refuse}
	if l.ns != nil {
		params.tgid = 1
	}
	if l.image >= 0 {
		params.empty = emptyPath()
	}
	code, err := cachedFilter(l.spec.Profile, params)
	if err != nil {
		return nil, &Error{Place: layerFilter, What: "the list of calls could not be compiled", Err: err}
	}
	l.install = p.add(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, keep(p, &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}))
	return nil, nil
}

type filterKey struct {
	profile Profile
	params  filterParams
}

var filters sync.Map // of filterKey to []unix.SockFilter

func cachedFilter(profile Profile, params filterParams) ([]unix.SockFilter, error) {
	key := filterKey{profile, params}
	if code, found := filters.Load(key); found {
		return code.([]unix.SockFilter), nil
	}
	code, err := filterFor(profile, arch, params)
	if err == nil {
		filters.Store(key, code)
	}
	return code, err
}

// switchboard is how a child hands a listener to the host: a pair of sockets
// that all launches share, one after the other.
type switchboard struct {
	ours, theirs int
}

var board = sync.OnceValues(func() (*switchboard, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &switchboard{ours: pair[0], theirs: pair[1]}, nil
})

// hand adds the call by which the child that stays behind hands over the
// listener, whose number is that of the first free descriptor.
func (l *launch) hand(p *program) {
	type message struct {
		header unix.Msghdr
		vector unix.Iovec
		word   [1]byte
	}
	m := &message{}
	rights := unix.UnixRights(len(l.files))
	m.vector.Base = &m.word[0]
	m.vector.SetLen(1)
	m.header.Iov, m.header.Control = &m.vector, &rights[0]
	m.header.SetIovlen(1)
	m.header.SetControllen(len(rights))
	p.tolerate(p.add(unix.SYS_SENDMSG, listenerAt, keep(p, &m.header), 0)) // there is none where the program failed
}

// take receives the listener that was handed over, or -1.
func (b *switchboard) take() int {
	word, room := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, got, _, _, err := unix.Recvmsg(b.ours, word, room, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return -1
	}
	messages, err := unix.ParseSocketControlMessage(room[:got])
	if err != nil || len(messages) != 1 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1
	}
	return fds[0]
}

// listener watches for a refused call of one command.
type listener struct {
	file *os.File
	done chan struct{}
	call int // its number, -1 if there was none; read once done is closed
}

// listen waits for a refused call and then calls kill. It ends with the command.
func listen(fd int, kill func()) *listener {
	_ = unix.SetNonblock(fd, true)
	l := &listener{file: os.NewFile(uintptr(fd), "listener"), done: make(chan struct{}), call: -1}
	go func() {
		defer close(l.done)
		if l.call = l.await(); l.call >= 0 {
			kill()
		}
	}()
	return l
}

// notification is struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	pointer    uint64
	args       [6]uint64
}

func (l *listener) await() int {
	raw, err := l.file.SyscallConn()
	if err != nil {
		return -1
	}
	number := -1
	_ = raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := ignoringEINTR(func() (int, error) { return unix.Poll(poll, 0) })
		switch {
		case err != nil, poll[0].Revents&unix.POLLIN == 0 && n > 0:
			return true // the command is gone
		case n == 0:
			return false
		}
		var told notification // the kernel wants it zero
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&told)))
		if errno == 0 {
			number = int(told.nr)
		}
		return errno == 0
	})
	return number
}

// finish is called once the command is gone.
func (l *listener) finish() (call int) {
	if l == nil {
		return -1
	}
	_ = l.file.SetReadDeadline(pastDeadline)
	<-l.done
	_ = l.file.Close()
	return l.call
}

var errNoListener = errors.New("the filter's listener did not arrive")
