//go:build amd64 || arm64

package jail

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// A remedy is one sentence for the operator: what to change on this machine so
// that a wall can stand. It is found by looking at the machine in the light of
// what the kernel answered, and it is empty where nothing is known to help.

func namespacesRemedy(err error) string        { return here().namespacesRemedy(err) }
func landlockRemedy(err error) string          { return here().landlockRemedy(err) }
func cgroupRemedy() string                     { return here().cgroupRemedy() }
func sealedRemedy(err error) string            { return here().sealedRemedy(err) }
func remedyFor(layer string, err error) string { return here().remedyFor(layer, err) }

// Linux 5.13 is the first with Landlock. What else a launch needs is older.
const (
	needMajor = 5
	needMinor = 13
)

// someNamespaces is a limit that no host reaches: a few dozen for each satellite.
const someNamespaces = "16384"

const newerKernel = "boot Linux 5.13 or later"

func (m *machine) remedyFor(layer string, err error) string {
	switch layer {
	case layerNamespaces, layerRoot, layerTree:
		return m.namespacesRemedy(err)
	case layerLandlock:
		return m.landlockRemedy(err)
	case layerCgroup:
		return m.cgroupRemedy()
	case layerSealed:
		return m.sealedRemedy(err)
	case layerFilter:
		return m.filterRemedy(err)
	case layerUser:
		return m.userRemedy(err)
	}
	switch {
	case !errors.Is(err, unix.ENOSYS):
		return ""
	case m.older(needMajor, needMinor):
		return newerKernel + ": this is " + m.release()
	}
	return "allow all that a launch does in the system call filter that was set around this process"
}

// kinds are the kinds of namespace by their names in /proc/sys/user.
var kinds = []string{"user", "mnt", "net", "ipc", "uts", "cgroup", "pid"}

func (m *machine) namespacesRemedy(err error) string {
	var barred []string
	for _, kind := range kinds {
		if m.zero("proc/sys/user/max_" + kind + "_namespaces") {
			barred = append(barred, "user.max_"+kind+"_namespaces="+someNamespaces)
		}
	}
	restricted := m.text("proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1"
	switch {
	case m.wsl() == 1:
		return windowsRemedy
	case len(barred) > 0:
		return m.setting("sysctl -w " + strings.Join(barred, " "))
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		return "raise the user.max_*_namespaces limits with sysctl: they are used up, or namespaces are nested too deep"
	case m.zero("proc/sys/kernel/unprivileged_userns_clone") && (m.user != 0 || m.container() != ""):
		return m.setting("sysctl -w kernel.unprivileged_userns_clone=1")
	case m.chrooted():
		return "start the host outside of a changed root directory (chroot), or in a container instead: the kernel gives a chroot no user namespace"
	case m.container() != "":
		return m.containerRemedy(restricted)
	case restricted && m.user != 0:
		return "give " + m.program + " an AppArmor profile with the rule userns (docs/jail.md has one), or let every program make user namespaces: " +
			m.setting("sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		if m.older(needMajor, needMinor) {
			return newerKernel + ": this is " + m.release()
		}
		if m.filtered() {
			return m.filterAround()
		}
		return "boot a kernel that is built with all kinds of namespaces (CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS, CONFIG_IPC_NS, CONFIG_UTS_NS)"
	case m.selinux() && errors.Is(err, unix.EACCES):
		return "allow the SELinux context " + m.label() + " to create user namespaces and to mount a tmpfs (ausearch -m avc shows what was denied)"
	case m.filtered():
		return m.filterAround()
	}
	return "allow unprivileged user namespaces on this machine (docs/jail.md lists what can forbid them)"
}

const windowsRemedy = "turn the distribution into one of WSL 2, which has a Linux kernel: wsl --set-version <name> 2"

// setting is a command that changes the kernel for now, and where to keep it.
func (m *machine) setting(command string) string {
	if m.container() != "" {
		return command + " on the machine that runs the container"
	}
	return "sudo " + command + " (a file in /etc/sysctl.d keeps it)"
}

func (m *machine) filterAround() string {
	return "allow clone, unshare, setns, mount and pivot_root in the system call filter that was set around this process " +
		"(in a systemd unit: RestrictNamespaces= and SystemCallFilter=)"
}

func (m *machine) containerRemedy(restricted bool) string {
	also := ""
	if restricted && m.user != 0 {
		also = ", and " + m.setting("sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
	}
	switch kind := m.container(); kind {
	case docker, podman:
		options := "--security-opt seccomp=unconfined"
		if m.selinux() || strings.Contains(m.label(), "container_t") {
			options += " --security-opt label=disable"
		} else {
			options += " --security-opt apparmor=unconfined"
		}
		return "start the container with " + kind + " run " + options + ", or with the narrower profile of docs/jail.md" + also
	case kubernetes:
		return "set seccompProfile and appArmorProfile to type: Unconfined in the container's securityContext, or use the narrower profile of docs/jail.md" + also
	case lxc:
		return "let the container nest others: lxc config set <container> security.nesting true, and restart it" + also
	default:
		return "let the container (" + kind + ") make user namespaces and mount in them" + also
	}
}

func (m *machine) landlockRemedy(err error) string {
	switch {
	case m.wsl() == 1:
		return windowsRemedy
	case errors.Is(err, unix.E2BIG):
		return "start the host inside of fewer sandboxes: it is held by as many Landlock rule sets as there can be"
	case errors.Is(err, unix.EOPNOTSUPP):
		return m.bootWithLandlock()
	case m.older(needMajor, needMinor):
		return newerKernel + ": this is " + m.release()
	case m.container() != "" || m.filtered():
		return "allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self in the system call filter around this process, as a current container engine does"
	case m.wsl() == 2:
		return "update the kernel of WSL: wsl --update"
	}
	return "boot a kernel that is built with CONFIG_SECURITY_LANDLOCK"
}

// bootWithLandlock is for a kernel that has Landlock and was started without it.
func (m *machine) bootWithLandlock() string {
	option := "lsm=landlock,…"
	if modules := m.modules(); modules != nil {
		list := []string{"landlock"}
		for _, name := range modules {
			if name != "capability" && name != "landlock" { // the first is always there and not to be named
				list = append(list, name)
			}
		}
		option = "lsm=" + strings.Join(list, ",")
	}
	switch {
	case m.container() != "":
		return "boot the machine that runs the container with " + option
	case m.wsl() == 2:
		return "put " + option + " into kernelCommandLine= of .wslconfig, or take its lsm= away, and run wsl --shutdown"
	case m.like("debian", "ubuntu"):
		return "add " + option + " to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub and reboot"
	case m.like("fedora", "rhel", "centos"):
		return "run grubby --update-kernel=ALL --args=" + option + " and reboot"
	}
	return "add " + option + " to the kernel's command line and reboot"
}

func (m *machine) cgroupRemedy() string {
	switch kind := m.container(); {
	case m.wsl() == 1:
		return windowsRemedy
	case kind == docker, kind == podman:
		return "bound the container as a whole instead: " + kind + " run --memory and --pids-limit"
	case kind != "":
		return "bound the container as a whole instead"
	case !m.has("sys/fs/cgroup/cgroup.controllers"):
		if m.wsl() == 2 {
			return "have only control groups of version 2: kernelCommandLine=cgroup_no_v1=all in .wslconfig, and systemd=true in /etc/wsl.conf"
		}
		if m.has("run/systemd/system") {
			return "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line"
		}
		if m.has("sys/fs/cgroup/memory") {
			return "boot with cgroup_no_v1=memory,pids, which leaves these controllers to control groups of version 2, and mount those at /sys/fs/cgroup"
		}
		return "mount control groups of version 2 at /sys/fs/cgroup"
	case m.has("run/systemd/system") && m.user != 0:
		return "start the host in a group of its user's own: systemd-run --user --scope <command>"
	case m.has("run/systemd/system"):
		return "start the host in a unit of systemd's: systemd-run --scope <command>"
	}
	return "start the host in a control group whose parent it may write to and which hands on memory and pids (docs/jail.md)"
}

func (m *machine) sealedRemedy(err error) string {
	switch {
	case m.text("proc/sys/vm/memfd_noexec") == "2":
		return m.setting("sysctl -w vm.memfd_noexec=1")
	case errors.Is(err, unix.ENOENT):
		return "mount /proc"
	case errors.Is(err, unix.EFBIG):
		return "raise the host's limit on the size of a file (ulimit -f unlimited)"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return "raise the limit on open files (ulimit -n)"
	case errors.Is(err, unix.ENOMEM), errors.Is(err, unix.ENOSPC):
		return "free some memory"
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		if m.filtered() || m.container() != "" {
			return "allow memfd_create in the system call filter around this process"
		}
	}
	return ""
}

func (m *machine) filterRemedy(err error) string {
	switch {
	case m.wsl() == 1:
		return windowsRemedy
	case errors.Is(err, unix.ENOMEM):
		return "start the host inside of fewer sandboxes: too many system call filters stand around it"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOSYS) && m.filtered():
		return "allow seccomp in the system call filter around this process"
	}
	return "boot a kernel that is built with CONFIG_SECCOMP_FILTER"
}

func (m *machine) userRemedy(err error) string {
	switch {
	case errors.Is(err, unix.EPERM):
		return "leave the host CAP_SETUID and CAP_SETGID, or run it as an ordinary user"
	case errors.Is(err, unix.EINVAL):
		return "map more user numbers where the host runs, or run it as an ordinary user"
	case errors.Is(err, unix.EAGAIN):
		return "raise the limit on processes (ulimit -u)"
	}
	return ""
}

// errnoName is what the kernel answered by its name in the manuals, or nothing.
func errnoName(err error) string {
	var errno unix.Errno
	switch {
	case !errors.As(err, &errno):
		return ""
	case errno == unix.EOPNOTSUPP: // one number, two names
		return "EOPNOTSUPP"
	}
	return unix.ErrnoName(errno)
}
