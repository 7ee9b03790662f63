//go:build amd64 || arm64

package jail

import (
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// What a command finds beside the system's programs and its workspace.
var (
	procDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/urandom"}
	procLinks   = map[string]string{
		"/dev/random": "urandom", "/dev/shm": "/tmp",
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
	}
	// Inside, every user there is has the number that stands for those without one, and
	// so has the owner of the workspace.
	procFiles = map[string]string{
		"/etc/passwd": "nobody:x:65534:65534:nobody:/tmp:/bin/sh\n",
		"/etc/group":  "nogroup:x:65534:\n",
	}
)

// tmpOptions bound a command's own /tmp, which is memory: room for the objects of
// a compiler, and for as many files as a large build makes.
const tmpOptions = "mode=1777,size=512m,nr_inodes=65536"

// joinForCommand enters the namespaces and opens what the command will see. Then it clones
// the process that goes on: a file system for /proc is mounted from inside its process
// namespace, and with the host's in sight.
func (l *launch) joinForCommand(p *program) error {
	yield(p)
	if l.tree < 0 {
		fd, err := descriptor(l.spec.Workspace.Dir)
		if err != nil {
			return closedWorkspace(err)
		}
		p.add(unix.SYS_FCHDIR, fd) // the working directory follows into a copy of the mounts, a descriptor does not
	}
	l.ns.join(p)
	p.add(unix.SYS_UNSHARE, unix.CLONE_NEWNS)
	p.add(unix.SYS_MOUNT, 0, p.text("/"), 0, unix.MS_REC|unix.MS_PRIVATE, 0)
	if l.tree < 0 {
		open := p.add(unix.SYS_OPEN_TREE, atFDCWD, p.text(""), openWorkspace)
		l.workspace = &mount{path: WorkspaceDir, open: open}
	}
	for _, m := range l.mounts() {
		m.open = p.add(unix.SYS_OPEN_TREE, atFDCWD, p.text(m.path), unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.O_CLOEXEC)
		l.trees = append(l.trees, m)
	}
	l.inner = p.add(unix.SYS_CLONE, ownProcess|unix.CLONE_NEWPID, 0, p.child())
	return nil
}

// What a command is to the kernel where memory or processors are short.
const (
	firstToGo    = "1000" // of oom_score_adj: it is killed before the host and whatever else there is
	commandsNice = 10     // half-way to the end: it runs where the host does not need the processor
)

// yield has the command, and all that it starts, come after the host, with whose score and priority it would otherwise begin.
// Where the host's /proc cannot be written, or its priority is lower already, they stay.
func yield(p *program) {
	open := p.add(unix.SYS_OPENAT, atFDCWD, p.text("/proc/self/oom_score_adj"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	write := p.add(unix.SYS_WRITE, 0, p.text(firstToGo), uintptr(len(firstToGo)))
	p.pass(open, write, 0)
	p.tolerate(write)
	end := p.add(unix.SYS_CLOSE, 0)
	p.pass(open, end, 0)
	p.jumps = append(p.jumps, jump{open, end + 1, true})
	p.tolerate(p.add(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, commandsNice))
}

const openWorkspace = unix.OPEN_TREE_CLONE | unix.AT_RECURSIVE | unix.AT_EMPTY_PATH | unix.O_CLOEXEC

func closedWorkspace(err error) error {
	return &Error{Place: layerRoot, What: "the workspace is closed", Fix: "keep it open until Start returns", Err: err}
}

// rootOfCommand makes the root of a command.
func (l *launch) rootOfCommand(p *program) error {
	if l.ns == nil {
		return &Error{Place: layerNamespaces, What: "a command is not run without them"}
	}
	p.add(unix.SYS_MOUNT, p.text("jail"), p.text(scaffold), p.text("tmpfs"), unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, p.text("mode=755,size=1m"))
	made := map[string]bool{scaffold: true}
	for _, dir := range []string{"/proc", "/tmp", "/dev", "/etc", WorkspaceDir} {
		l.makeWay(p, made, scaffold+dir, false)
	}
	// Where parts of the host's are covered, as in a container, the kernel lets nobody have another.
	l.procfs = p.add(unix.SYS_MOUNT, p.text("proc"), p.text(scaffold+"/proc"), p.text("proc"),
		unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, p.text("subset=pid"))
	p.tolerate(l.procfs)
	p.add(unix.SYS_MOUNT, p.text("tmp"), p.text(scaffold+"/tmp"), p.text("tmpfs"), unix.MS_NOSUID|unix.MS_NODEV, p.text(tmpOptions))
	l.placeTrees(p, made)
	for at, target := range procLinks {
		p.add(unix.SYS_SYMLINKAT, p.text(target), atFDCWD, p.text(scaffold+at))
	}
	for at, target := range systemLinks() {
		p.add(unix.SYS_SYMLINKAT, p.text(target), atFDCWD, p.text(scaffold+at))
	}
	for at, text := range procFiles {
		p.write(scaffold+at, text)
	}
	l.placeWorkspace(p)
	pivot(p)
	p.restrict("/", unix.MOUNT_ATTR_RDONLY, 0)
	return nil
}

// write adds the calls that make a file.
func (p *program) write(path, text string) {
	open := p.add(unix.SYS_OPENAT, atFDCWD, p.text(path), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	write := p.add(unix.SYS_WRITE, 0, p.text(text), uintptr(len(text)))
	p.pass(open, write, 0)
	p.pass(open, p.add(unix.SYS_CLOSE, 0), 0) // a mount with a file that is written does not become read-only
}

// placeWorkspace mounts the workspace, and what is guarded in it upon itself.
func (l *launch) placeWorkspace(p *program) {
	at := scaffold + WorkspaceDir
	attributes := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	if !l.spec.Workspace.Writable {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	move := p.place(at)
	if l.tree >= 0 {
		p.calls[move].args[0] = uintptr(l.tree)
	} else {
		p.pass(l.workspace.open, move, 0)
	}
	p.restrict(at, attributes, unix.AT_RECURSIVE)
	if !l.spec.Workspace.Writable {
		return
	}
	pinned := map[string]bool{".": true}
	for _, path := range l.spec.Workspace.Guarded {
		l.pin(p, pinned, filepath.Dir(path))
		l.uponItself(p, path)
		p.restrict(at+"/"+path, unix.MOUNT_ATTR_RDONLY, unix.AT_RECURSIVE)
		l.guards[len(l.guards)-1].last++
	}
}

// pin keeps the directories that lead to a guarded path where they are: what is mounted
// on cannot be renamed, and so nothing else be put in its place.
func (l *launch) pin(p *program, pinned map[string]bool, dir string) {
	if pinned[dir] {
		return
	}
	l.pin(p, pinned, filepath.Dir(dir))
	pinned[dir] = true
	l.uponItself(p, dir)
}

func (l *launch) uponItself(p *program, path string) {
	at := scaffold + WorkspaceDir + "/" + path
	open := p.add(unix.SYS_OPEN_TREE, atFDCWD, p.text(at), unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW|unix.O_CLOEXEC)
	move := p.place(at)
	p.pass(open, move, 0)
	l.guards = append(l.guards, guard{path, open, move})
}

// guard is what of the workspace is mounted upon itself, with the calls that do it.
type guard struct {
	path        string
	first, last int
}

// noteProcfs adds to the report that the command has no /proc.
func (l *launch) noteProcfs(p *program) {
	if l.procfs < 0 || p.errno(l.procfs) == 0 {
		return
	}
	for i := range l.layers {
		if l.layers[i].Name == layerRoot {
			l.layers[i].Reason = "without /proc: " + errnoName(p.errno(l.procfs))
		}
	}
}

// allowWorkspace adds the rule for a workspace, by what is open: the kernel keeps rules by the
// directory itself, wherever it is mounted.
func (l *landlock) allowWorkspace(ruleset int, w *Workspace) error {
	rights := uint64(readAccess)
	if w.Writable {
		rights |= writeAccess | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO
	}
	fd, err := descriptor(w.Dir)
	if err != nil {
		return closedWorkspace(err)
	}
	if err := l.allowOpen(ruleset, int(fd), rights); err != nil {
		return &Error{Place: layerLandlock, What: "the workspace cannot be allowed", Err: err}
	}
	return nil
}

// allowInside adds the rules for what a command's root has of its own, which is made in the
// child and can be named only there.
func allowInside(p *program) {
	for path, rights := range map[string]uint64{
		"/":     unix.LANDLOCK_ACCESS_FS_READ_DIR,
		"/etc":  unix.LANDLOCK_ACCESS_FS_READ_FILE,
		"/proc": readAccess,
		"/tmp":  readAccess | writeAccess | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO,
	} {
		rule := &[2]uintptr{uintptr(rights & landlocked().handled.Handled_access_fs)} // struct landlock_path_beneath_attr: rights, then a descriptor
		open := p.add(unix.SYS_OPENAT, atFDCWD, p.text(path), unix.O_PATH|unix.O_CLOEXEC, 0)
		p.add(unix.SYS_LANDLOCK_ADD_RULE, rulesetAt, unix.LANDLOCK_RULE_PATH_BENEATH, keep(p, rule), 0)
		p.calls[open].into = &rule[1]
	}
}

// tenant is a user that commands over the workspaces of one owner run as where the host is
// root, one command at a time, and the user namespace that says who that is: on
// the mount of the workspace the kernel takes the two for one.
type tenant struct {
	owner           owner
	outside, inside int
	users           int // the namespace
}

type owner struct{ uid, gid int }

// maxTenants is how many wait for the next command; each holds a descriptor.
const maxTenants = 8

// lendWorkspace opens the workspace as the host may and the child may not, where the host is
// root, and lends what is its owner's to the user that the command is made.
func (l *launch) lendWorkspace() error {
	if hostIDs().own {
		return nil // the child opens it: it has the host's user
	}
	dir, err := descriptor(l.spec.Workspace.Dir)
	if err != nil {
		return closedWorkspace(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(dir), &st); err != nil {
		return closedWorkspace(err)
	}
	tree, err := unix.OpenTree(int(dir), "", openWorkspace)
	if err != nil {
		return l.notLent(err)
	}
	l.tree = tree
	of := owner{int(st.Uid), int(st.Gid)}
	t, err := houseTenant(of)
	if err != nil {
		return err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(t.users)}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		t.leave()
		return l.notLent(err)
	}
	l.tenant = t
	return nil
}

// notLent lets a command read what everybody may, and refuses one that is to write.
func (l *launch) notLent(err error) error {
	if !l.spec.Workspace.Writable {
		return nil
	}
	return &Error{Place: layerUser, What: "the workspace's file system cannot lend it to the user that the command runs as", Err: err,
		Fix: "start the host as the user who owns the workspace"}
}

// houseTenant is a tenant of an owner that nothing alive is.
func houseTenant(of owner) (*tenant, error) {
	i := hostIDs()
	i.mu.Lock()
	if free := i.tenants[of]; len(free) > 0 {
		t := free[len(free)-1]
		i.tenants[of] = free[:len(free)-1]
		i.waiting--
		i.mu.Unlock()
		return t, nil
	}
	i.mu.Unlock()
	outside, inside, ok := i.take()
	if !ok {
		return nil, &Error{Place: layerUser, What: "all " + strconv.Itoa(idBlock-2) + " users of this host are in use", Fix: "end some satellites"}
	}
	users, err := newUsers(strconv.Itoa(of.uid)+" "+strconv.Itoa(outside)+" 1", strconv.Itoa(of.gid)+" "+strconv.Itoa(outside)+" 1")
	if err != nil {
		i.give(outside)
		return nil, err
	}
	return &tenant{owner: of, outside: outside, inside: inside, users: users}, nil
}

// leave is called once nothing runs as the tenant.
func (t *tenant) leave() {
	i := hostIDs()
	i.mu.Lock()
	if i.waiting < maxTenants {
		if i.tenants == nil {
			i.tenants = map[owner][]*tenant{}
		}
		i.tenants[t.owner] = append(i.tenants[t.owner], t)
		i.waiting++
		i.mu.Unlock()
		return
	}
	i.mu.Unlock()
	_ = unix.Close(t.users)
	i.give(t.outside)
}
