//go:build amd64 || arm64

package jail

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// machine is what a system says of itself in its files. Tests give it a
// directory of their own for a root.
type machine struct {
	root    string
	user    int
	program string // of the host, for a rule that names it
}

var here = sync.OnceValue(func() *machine {
	program, _ := os.Executable()
	return &machine{root: "/", user: os.Geteuid(), program: program}
})

// maxFact bounds what is read of a file: each is a line or a page.
const maxFact = 64 << 10

// text is what a file says, without the space around it, or nothing.
func (m *machine) text(path string) string {
	f, err := os.OpenFile(filepath.Join(m.root, path), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxFact))
	return strings.TrimSpace(string(data))
}

// zero says that a file is there and holds the number 0.
func (m *machine) zero(path string) bool { return m.text(path) == "0" }

func (m *machine) has(path string) bool {
	_, err := os.Stat(filepath.Join(m.root, path))
	return err == nil
}

// release is the kernel's, as uname says it.
func (m *machine) release() string { return m.text("proc/sys/kernel/osrelease") }

// older says that the kernel comes before a version. One that names itself in
// another way does not.
func (m *machine) older(major, minor int) bool {
	first, rest, _ := strings.Cut(m.release(), ".")
	second, _, _ := strings.Cut(rest, ".")
	if end := strings.IndexFunc(second, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		second = second[:end]
	}
	have1, err1 := strconv.Atoi(first)
	have2, err2 := strconv.Atoi(second)
	return errors.Join(err1, err2) == nil && (have1 < major || have1 == major && have2 < minor)
}

// wsl is which of the Windows Subsystems for Linux this is, or 0. The first has
// no Linux kernel and spells its maker with a capital; the second has Microsoft's.
func (m *machine) wsl() int {
	switch release := m.release(); {
	case strings.Contains(release, "WSL2"), strings.Contains(release, "microsoft"):
		return 2
	case strings.Contains(release, "Microsoft"):
		return 1
	}
	return 0
}

// Containers by the names their makers give them.
const (
	docker     = "docker"
	podman     = "podman"
	kubernetes = "kubernetes"
	lxc        = "lxc"
)

// initial are the kernel's first namespaces as /proc shows them; the numbers are fixed.
var initial = map[string]string{
	"pid": "pid:[4026531836]", "uts": "uts:[4026531838]", "ipc": "ipc:[4026531839]", "cgroup": "cgroup:[4026531835]",
}

// outermost says that this process is in the first namespaces of its kernel. What looks
// like a container's files is then an image that a virtual machine was made of.
func (m *machine) outermost() bool {
	seen := false
	for kind, first := range initial {
		link, err := os.Readlink(filepath.Join(m.root, "proc/self/ns", kind))
		if err == nil && link != first {
			return false
		}
		seen = seen || err == nil
	}
	return seen
}

// container is what kind of container this is in, another word for one of a
// kind unknown here, or nothing.
func (m *machine) container() string {
	switch {
	case m.outermost():
		return ""
	case m.has("run/secrets/kubernetes.io"), m.has("var/run/secrets/kubernetes.io"):
		return kubernetes
	case m.has("run/.containerenv"):
		return podman
	case m.has(".dockerenv"):
		return docker
	case m.has("dev/lxd/sock"), m.has("dev/.lxc"):
		return lxc
	}
	word := m.text("run/systemd/container")
	for variable := range strings.SplitSeq(m.text("proc/1/environ"), "\x00") {
		if value, found := strings.CutPrefix(variable, "container="); found && word == "" {
			word = value
		}
	}
	switch {
	case m.wsl() > 0 && word == "wsl":
		return "" // systemd counts it among the containers
	case strings.HasPrefix(word, lxc):
		return lxc
	}
	return word
}

// filtered says that a system call filter stands around this process.
func (m *machine) filtered() bool {
	for line := range strings.Lines(m.text("proc/self/status")) {
		if mode, found := strings.CutPrefix(line, "Seccomp:"); found {
			return strings.TrimSpace(mode) == "2"
		}
	}
	return false
}

// chrooted says that the root directory is no mount of this process's mount
// namespace, which is how a changed root shows.
func (m *machine) chrooted() bool {
	mounts := m.text("proc/self/mountinfo")
	for line := range strings.Lines(mounts) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == "/" {
			return false
		}
	}
	return mounts != "" && len(mounts) < maxFact-1 // a longer list was not read to its end
}

// modules are the security modules in force, or nil where they are not to be seen.
func (m *machine) modules() []string {
	list := m.text("sys/kernel/security/lsm")
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// label is how a security module calls this process: an AppArmor profile with
// its mode, a SELinux context.
func (m *machine) label() string {
	for _, path := range []string{"proc/self/attr/apparmor/current", "proc/self/attr/current"} {
		if label := strings.Trim(m.text(path), "\x00\n"); label != "" {
			return label
		}
	}
	return ""
}

func (m *machine) selinux() bool { return m.text("sys/fs/selinux/enforce") == "1" }

// distribution is a value of os-release, such as ID or PRETTY_NAME.
func (m *machine) distribution(key string) string {
	text := m.text("etc/os-release")
	if text == "" {
		text = m.text("usr/lib/os-release")
	}
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, key+"="); found {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// like says that the distribution is one of a family or descends from it.
func (m *machine) like(family ...string) bool {
	for _, word := range append(strings.Fields(m.distribution("ID_LIKE")), m.distribution("ID")) {
		if slices.Contains(family, word) {
			return true
		}
	}
	return false
}

// Machine is where a host runs, as far as walls depend on it.
type Machine struct {
	Kernel       string // release
	Distribution string // its name for people, or empty
	Container    string // the kind of container, or empty
}

// ThisMachine is the one of this process.
func ThisMachine() Machine { return here().describe() }

func (m *machine) describe() Machine {
	about := Machine{Kernel: m.release(), Distribution: m.distribution("PRETTY_NAME"), Container: m.container()}
	if about.Distribution == "" {
		about.Distribution = m.distribution("ID")
	}
	return about
}
