//go:build amd64 || arm64

package jail

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A control group bounds what a command uses as a whole, page tables and kernel
// memory included, where the per-process limits bound one kind each. It needs
// the second version of the hierarchy and a directory in it that the host may
// make groups in: root has one, an ordinary user where the system delegates one.

const (
	// groupPrefix begins the name of a group; the host's process identifier follows.
	groupPrefix = "loomext-"
	// groupSlack is what a group may use beyond the data limit: the program's own
	// text, page tables, stacks in the kernel and what lies in its socket.
	groupSlack = 64 << 20
	// groupPause and groupPatience: a group can be removed a moment after its last
	// process was reaped.
	groupPause    = 2 * time.Millisecond
	groupPatience = 200
)

// groupHome is the directory that launches make their groups in.
type groupHome struct {
	dir string
	err error
}

var groups = sync.OnceValue(func() groupHome { return findGroupHome("/proc/self/cgroup", "/proc/self/mountinfo") })

// findGroupHome looks upward from the host's own group for one that hands its
// controllers on and that the host may write to. A group that has processes of
// its own hands nothing on, so that is mostly its parent.
func findGroupHome(self, mounts string) groupHome {
	refused := func(what string, err error) groupHome {
		return groupHome{err: &Error{Place: layerCgroup, What: what, Fix: cgroupRemedy(), Err: err}}
	}
	mount, root, err := unifiedMount(mounts)
	if err != nil {
		return refused("no control groups of the second version are mounted", err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		return refused("the host's own control group cannot be read", err)
	}
	var own string
	for line := range strings.Lines(string(text)) {
		if path, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			own = path
		}
	}
	under, err := filepath.Rel(root, filepath.Clean("/"+own))
	if err != nil || strings.HasPrefix(under, "..") {
		under = "."
	}
	var last error
	for dir := filepath.Join(mount, under); ; dir = filepath.Dir(dir) {
		if last = handsOn(dir); last == nil {
			sweepGroups(dir)
			return groupHome{dir: dir}
		}
		if dir == mount || len(dir) < len(mount) {
			break
		}
	}
	return refused("no group of this host hands on its memory and process limits", last)
}

// unifiedMount is where the hierarchy is mounted and which of its groups is there.
func unifiedMount(mountinfo string) (point, root string, err error) {
	text, err := os.ReadFile(mountinfo)
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return fields[4], fields[3], nil
		}
	}
	return "", "", unix.ENODEV
}

// handsOn is nil where groups with the limits can be made in dir.
func handsOn(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	controllers := strings.Fields(string(text))
	for _, want := range []string{"memory", "pids"} {
		found := false
		for _, c := range controllers {
			found = found || c == want
		}
		if !found {
			return fmt.Errorf("%s hands on no %s controller", dir, want)
		}
	}
	return unix.Access(dir, unix.W_OK|unix.X_OK)
}

// sweepGroups removes what hosts left that were killed. A group with processes
// cannot be removed, so nothing that lives is touched.
func sweepGroups(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		rest, found := strings.CutPrefix(e.Name(), groupPrefix)
		pid, _, _ := strings.Cut(rest, "-")
		if n, err := strconv.Atoi(pid); found && err == nil && unix.Kill(n, 0) == unix.ESRCH {
			_ = unix.Rmdir(filepath.Join(dir, e.Name()))
		}
	}
}

// group is one command's.
type group struct {
	dir   string
	procs int // open for writing: who writes "0" to it is in
}

func (h groupHome) make(s *Spec) (*group, error) {
	var seed [8]byte
	_, _ = rand.Read(seed[:])
	dir := filepath.Join(h.dir, fmt.Sprintf("%s%d-%x", groupPrefix, os.Getpid(), seed))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, &Error{Place: layerCgroup, What: "no group could be made in " + h.dir, Fix: cgroupRemedy(), Err: err}
	}
	g := &group{dir: dir, procs: -1}
	err := errors.Join(g.set("memory.max", s.Limits.groupBytes()), g.set("pids.max", max(int64(s.Limits.Processes), 0)),
		g.perhaps("memory.swap.max", 0), g.perhaps("memory.oom.group", 1))
	if err == nil {
		g.procs, err = unix.Open(filepath.Join(dir, "cgroup.procs"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		g.remove()
		return nil, &Error{Place: layerCgroup, What: "the limits of " + dir + " could not be set", Fix: cgroupRemedy(), Err: err}
	}
	return g, nil
}

func (l Limits) groupBytes() int64 {
	if l.DataBytes <= 0 {
		return 0
	}
	return l.DataBytes + groupSlack
}

// set writes a limit; zero is no limit.
func (g *group) set(name string, value int64) error {
	if value == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(g.dir, name), strconv.AppendInt(nil, value, 10), 0o600)
}

// perhaps sets what a kernel without swap or of an earlier version lacks.
func (g *group) perhaps(name string, value int64) error {
	err := os.WriteFile(filepath.Join(g.dir, name), strconv.AppendInt(nil, value, 10), 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// overran says that the kernel killed in the group for its memory.
func (g *group) overran() bool {
	text, err := os.ReadFile(filepath.Join(g.dir, "memory.events"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if n, found := strings.CutPrefix(line, "oom_kill "); found {
			return strings.TrimSpace(n) != "0"
		}
	}
	return false
}

// closeProcs gives up the descriptor once the launch is over.
func (g *group) closeProcs() {
	if g.procs >= 0 {
		_ = unix.Close(g.procs)
		g.procs = -1
	}
}

// remove kills what is left in the group and takes it away.
func (g *group) remove() {
	g.closeProcs()
	_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0o600)
	for range groupPatience {
		if err := unix.Rmdir(g.dir); err != unix.EBUSY {
			return
		}
		time.Sleep(groupPause)
	}
}
