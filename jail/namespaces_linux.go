//go:build amd64 || arm64

package jail

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// namespaces are made once for a host process and joined by every launch: a user
// namespace, an empty root, a network of nothing, and System V objects, host
// name and control group view of their own. Nothing lives in them but what was
// launched. The descriptors here keep them; there is no process in them at rest.
//
// A launch adds a process namespace and a second user namespace, in which nobody
// is anybody.
type namespaces struct {
	user, mount, net, ipc, uts, cgroup int
}

const makeNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// rootOptions of the file system that satellites find: one page, one entry (its
// own root), read and search only.
const rootOptions = "size=4k,nr_inodes=1,mode=555"

// scaffold is the directory that is hidden under the new root while that is set
// up. Nothing a launch mounts lies under it, and it is there on every Linux.
const scaffold = "/proc"

// hostName is what uname says inside.
const hostName = "jail"

var shared struct {
	sync.Mutex
	ns  *namespaces
	err error // an *Error whose Place is the layer
}

// sharedNamespaces makes the namespaces on the first call, on the forking
// thread, and remembers a refusal as well, unless it may pass by itself.
func sharedNamespaces() (*namespaces, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.ns != nil || shared.err != nil {
		return shared.ns, shared.err
	}
	n, err := newNamespaces()
	if err == nil || !passing(err) {
		shared.ns, shared.err = n, err
	}
	return n, err
}

// passing is true of a refusal for want of something that comes and goes.
func passing(err error) bool {
	for _, errno := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN, unix.EINTR} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// newNamespaces has a child make the namespaces, gives them their users and opens
// them before the child ends.
func newNamespaces() (_ *namespaces, err error) {
	var own closers
	defer own.close()
	var ask, tell [2]int // to the child, from the child
	for _, p := range []*[2]int{&ask, &tell} {
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return nil, &Error{Place: "namespaces", What: "no pipe to the process that makes them", Err: err}
		}
		own.add(p[0])
		own.add(p[1])
	}
	p := emptyRoot(ask[0], tell[1])
	pid, err := p.run(makeNamespaces)
	if err != nil {
		return nil, refusedNamespaces("the kernel refused a new user namespace with the others", err)
	}
	own.closeOne(ask[0])
	own.closeOne(tell[1])
	defer func() {
		own.closeOne(ask[1]) // the child reads the end and goes
		reap(pid)
		runtime.KeepAlive(p) // it works through the table until then
	}()
	if err := mapUsers(pid, hostIDs()); err != nil {
		return nil, refusedNamespaces("the users of the new user namespace could not be set", err)
	}
	if _, err := unix.Write(ask[1], []byte{1}); err != nil {
		return nil, refusedNamespaces("the process that makes them is gone", err)
	}
	var ready [1]byte
	if n, _ := ignoringEINTR(func() (int, error) { return unix.Read(tell[0], ready[:]) }); n != 1 {
		if i := p.failed(); i >= 0 {
			return nil, refusedNamespaces(callName(arch, int(p.calls[i].number))+" was refused inside a new user namespace", p.errno(i))
		}
		return nil, refusedNamespaces("the process that makes them ended", nil)
	}
	n := &namespaces{}
	var opened closers
	for _, ns := range []struct {
		name string
		fd   *int
	}{{"user", &n.user}, {"mnt", &n.mount}, {"net", &n.net}, {"ipc", &n.ipc}, {"uts", &n.uts}, {"cgroup", &n.cgroup}} {
		*ns.fd, err = unix.Open("/proc/"+strconv.Itoa(pid)+"/ns/"+ns.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			opened.close()
			return nil, refusedNamespaces("the new "+ns.name+" namespace cannot be opened through /proc", err)
		}
		opened.add(*ns.fd)
	}
	if err := n.try(); err != nil {
		opened.close()
		return nil, err
	}
	return n, nil
}

// join adds the calls that enter the namespaces, but for the mounts.
func (n *namespaces) join(p *program) {
	for _, ns := range []struct{ fd, kind int }{
		{n.user, unix.CLONE_NEWUSER}, {n.net, unix.CLONE_NEWNET}, {n.ipc, unix.CLONE_NEWIPC}, {n.uts, unix.CLONE_NEWUTS}, {n.cgroup, unix.CLONE_NEWCGROUP},
	} {
		p.add(unix.SYS_SETNS, uintptr(ns.fd), uintptr(ns.kind))
	}
}

// try joins the namespaces once as launches will, and makes what they make. Some
// systems let namespaces be made and refuse a step on the way to their use, which
// is as if there were none.
func (n *namespaces) try() error {
	for _, satellite := range []bool{true, false} {
		p := newProgram()
		n.join(p)
		if satellite {
			p.add(unix.SYS_SETNS, uintptr(n.mount), unix.CLONE_NEWNS)
		} else {
			p.add(unix.SYS_UNSHARE, unix.CLONE_NEWNS)
			p.add(unix.SYS_MOUNT, 0, p.text("/"), 0, unix.MS_REC|unix.MS_PRIVATE, 0)
			tree := p.add(unix.SYS_OPEN_TREE, atFDCWD, p.text(os.DevNull), unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.O_CLOEXEC)
			attr := keep(p, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID})
			p.pass(tree, p.add(unix.SYS_MOUNT_SETATTR, 0, p.text(""), unix.AT_EMPTY_PATH, attr, unsafe.Sizeof(unix.MountAttr{})), 0)
		}
		if !hostIDs().own {
			become(p, idSpare)
		}
		inner := p.add(unix.SYS_CLONE, ownProcess|unix.CLONE_NEWPID|unix.CLONE_NEWUSER, 0, p.child())
		p.add(unix.SYS_EXIT_GROUP, 0)
		p.onValue(inner)
		p.add(unix.SYS_EXIT_GROUP, 0)
		pid, err := p.run(unix.CLONE_VFORK)
		if err != nil {
			return refusedNamespaces("the kernel made no process to try them", err)
		}
		reap(pid)
		if p.made > 0 {
			reap(int(p.made))
		}
		if i := p.failed(); i >= 0 {
			return refusedNamespaces(callName(arch, int(p.calls[i].number))+" was refused on the way into the new namespaces", p.errno(i))
		}
	}
	return nil
}

// refusedNamespaces adds what may be done about it on this machine.
func refusedNamespaces(what string, err error) error {
	return &Error{Place: layerNamespaces, What: what, Fix: namespacesRemedy(err), Err: err}
}

// emptyRoot is what the child does: wait for its users, make the root, say so,
// and stay until it has been looked at.
func emptyRoot(ask, tell int) *program {
	p := newProgram()
	low, high := uintptr(min(ask, tell)), uintptr(max(ask, tell))
	if low > 0 {
		p.add(unix.SYS_CLOSE_RANGE, 0, low-1, 0)
	}
	if high > low+1 {
		p.add(unix.SYS_CLOSE_RANGE, low+1, high-1, 0)
	}
	p.add(unix.SYS_CLOSE_RANGE, high+1, 1<<31-1, 0)
	word := keep(p, &[8]byte{})
	wait := p.add(unix.SYS_READ, uintptr(ask), word, 1)
	p.die() // it read the end: the host is gone
	p.onValue(wait)
	p.tolerate(p.add(unix.SYS_SETHOSTNAME, p.text(hostName), uintptr(len(hostName)))) // it protects nothing
	p.add(unix.SYS_MOUNT, 0, p.text("/"), 0, unix.MS_REC|unix.MS_PRIVATE, 0)
	p.add(unix.SYS_MOUNT, p.text("jail"), p.text(scaffold), p.text("tmpfs"),
		unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, p.text(rootOptions))
	pivot(p)
	p.add(unix.SYS_WRITE, uintptr(tell), word, 1)
	p.add(unix.SYS_READ, uintptr(ask), word, 1)
	p.add(unix.SYS_EXIT_GROUP, 0)
	return p
}

// pivot makes what is mounted on the scaffold the root and lets go of the old one.
func pivot(p *program) {
	dot := p.text(".")
	p.add(unix.SYS_CHDIR, p.text(scaffold))
	p.add(unix.SYS_PIVOT_ROOT, dot, dot)
	p.add(unix.SYS_UMOUNT2, dot, unix.MNT_DETACH)
	p.add(unix.SYS_CHDIR, p.text("/"))
}

// mapUsers says who is who in the namespace of the child: the block of unused
// numbers where the host is root, else the host's own user as user 1.
func mapUsers(pid int, i *ids) error {
	dir := "/proc/" + strconv.Itoa(pid) + "/"
	users, groups := "0 "+strconv.Itoa(i.base)+" "+strconv.Itoa(idBlock), ""
	if groups = users; i.own {
		users, groups = "1 "+strconv.Itoa(os.Geteuid())+" 1", "1 "+strconv.Itoa(os.Getegid())+" 1"
		if err := writeProc(dir+"setgroups", "deny"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return errors.Join(writeProc(dir+"uid_map", users), writeProc(dir+"gid_map", groups))
}

// newUsers is a user namespace that maps users and groups so, with nothing in it. It is
// made on the forking thread.
func newUsers(users, groups string) (fd int, err error) {
	var own closers
	defer own.close()
	var ask [2]int
	if err := unix.Pipe2(ask[:], unix.O_CLOEXEC); err != nil {
		return -1, &Error{Place: layerUser, What: "no pipe to the process that makes a user namespace", Err: err}
	}
	own.add(ask[0])
	own.add(ask[1])
	p := newProgram()
	if ask[0] > 0 {
		p.add(unix.SYS_CLOSE_RANGE, 0, uintptr(ask[0]-1), 0)
	}
	p.add(unix.SYS_CLOSE_RANGE, uintptr(ask[0]+1), 1<<31-1, 0)
	p.add(unix.SYS_READ, uintptr(ask[0]), keep(p, &[8]byte{}), 1) // until it is closed
	p.add(unix.SYS_EXIT_GROUP, 0)
	pid, err := p.run(unix.CLONE_NEWUSER)
	if err != nil {
		return -1, &Error{Place: layerUser, What: "the kernel refused a user namespace", Fix: namespacesRemedy(err), Err: err}
	}
	defer func() {
		own.closeOne(ask[1])
		reap(pid)
		p.done()
	}()
	dir := "/proc/" + strconv.Itoa(pid)
	if err := errors.Join(writeProc(dir+"/uid_map", users), writeProc(dir+"/gid_map", groups)); err != nil {
		return -1, &Error{Place: layerUser, What: "the users of a user namespace could not be set", Err: err}
	}
	fd, err = unix.Open(dir+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &Error{Place: layerUser, What: "a new user namespace cannot be opened through /proc", Err: err}
	}
	return fd, nil
}

func writeProc(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func reap(pid int) (status unix.WaitStatus) {
	_, _ = ignoringEINTR(func() (int, error) { return unix.Wait4(pid, &status, unix.WALL, nil) })
	return status
}

func ignoringEINTR[T any](f func() (T, error)) (T, error) {
	for {
		if v, err := f(); err != unix.EINTR {
			return v, err
		}
	}
}
