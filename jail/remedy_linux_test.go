package jail

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fixture is what a machine has: its files by path.
type fixture map[string]string

func (f fixture) machine(t *testing.T, user int) *machine {
	t.Helper()
	m := &machine{root: t.TempDir(), user: user, program: "/usr/bin/loomext"}
	for path, text := range f {
		path = filepath.Join(m.root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// and is the same with more fixture.
func (f fixture) and(more fixture) fixture {
	all := fixture{}
	for path, text := range f {
		all[path] = text
	}
	for path, text := range more {
		all[path] = text
	}
	return all
}

const (
	clonePath    = "proc/sys/kernel/unprivileged_userns_clone"
	apparmorPath = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	releasePath  = "proc/sys/kernel/osrelease"
	mountsPath   = "proc/self/mountinfo"
	statusPath   = "proc/self/status"
	maxUserPath  = "proc/sys/user/max_user_namespaces"
	maxNetPath   = "proc/sys/user/max_net_namespaces"
	lsmPath      = "sys/kernel/security/lsm"
	unifiedPath  = "sys/fs/cgroup/cgroup.controllers"
	systemdPath  = "run/systemd/system/x"
)

var (
	usual = fixture{
		releasePath: "6.12.9\n", mountsPath: "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", maxUserPath: "96365\n",
		statusPath: "Name:\tloomext\nSeccomp:\t0\nSeccomp_filters:\t0\n",
	}
	filteredStatus = fixture{statusPath: "Name:\tloomext\nSeccomp:\t2\nSeccomp_filters:\t1\n"}
	inDocker       = usual.and(filteredStatus).and(fixture{".dockerenv": "", "proc/self/attr/current": "docker-default (enforce)\n"})
	inPodman       = usual.and(filteredStatus).and(fixture{"run/.containerenv": "engine=\"podman-5.2.1\"\n", "proc/self/attr/current": "system_u:system_r:container_t:s0:c1,c2\x00", "sys/fs/selinux/enforce": "1"})
)

func TestRemedyForNamespaces(t *testing.T) {
	const user = 1000
	for _, tt := range []struct {
		name   string
		files  fixture
		user   int
		err    error
		want   []string
		forbid string
	}{
		{"Debian 10, linux-hardened", usual.and(fixture{clonePath: "0\n"}), user, unix.EPERM,
			[]string{"sudo sysctl -w kernel.unprivileged_userns_clone=1", "/etc/sysctl.d"}, ""},
		{"the same as root, where it is no hindrance", usual.and(fixture{clonePath: "0\n"}), 0, unix.EPERM,
			[]string{"docs/jail.md"}, "userns_clone"},
		{"Debian 12, where it is allowed", usual.and(fixture{clonePath: "1\n"}), user, unix.EPERM, []string{"docs/jail.md"}, "userns_clone"},
		{"Ubuntu 24.04, where mounting is refused later", usual.and(fixture{clonePath: "1\n", apparmorPath: "1\n"}), user, unix.EACCES,
			[]string{"AppArmor profile", "/usr/bin/loomext", "userns", "apparmor_restrict_unprivileged_userns=0"}, ""},
		{"Ubuntu 24.04 as root", usual.and(fixture{apparmorPath: "1\n"}), 0, unix.EPERM, nil, "AppArmor"},
		{"Ubuntu 22.04", usual.and(fixture{apparmorPath: "0\n"}), user, unix.EPERM, nil, "AppArmor"},
		{"RHEL 9 hardened after its guide", usual.and(fixture{maxUserPath: "0\n"}), user, unix.ENOSPC,
			[]string{"sudo sysctl -w user.max_user_namespaces=16384"}, ""},
		{"the same for root, and of another kind as well", usual.and(fixture{maxUserPath: "0\n", maxNetPath: "0\n"}), 0, unix.ENOSPC,
			[]string{"user.max_user_namespaces=16384 user.max_net_namespaces=16384"}, ""},
		{"a limit that is used up", usual, user, unix.ENOSPC, []string{"user.max_*_namespaces", "used up"}, ""},
		{"Docker's own profile", inDocker, 0, unix.EPERM,
			[]string{"docker run", "seccomp=unconfined", "apparmor=unconfined", "docs/jail.md"}, "label"},
		{"Docker on hardened Debian", inDocker.and(fixture{clonePath: "0\n"}), 0, unix.EPERM,
			[]string{"kernel.unprivileged_userns_clone=1", "on the machine that runs the container"}, "sudo"},
		{"Docker on Ubuntu 24.04, as a user", inDocker.and(fixture{apparmorPath: "1\n"}), user, unix.EPERM,
			[]string{"docker run", "apparmor_restrict_unprivileged_userns=0 on the machine"}, ""},
		{"rootless Podman on Fedora", inPodman, 0, unix.EACCES, []string{"podman run", "label=disable"}, "apparmor"},
		{"Kubernetes", usual.and(filteredStatus).and(fixture{"run/secrets/kubernetes.io/serviceaccount/token": ""}), 0, unix.EPERM,
			[]string{"securityContext", "seccompProfile", "Unconfined"}, "docker"},
		{"LXD", usual.and(fixture{"dev/lxd/sock": ""}), user, unix.EACCES, []string{"security.nesting true"}, ""},
		{"LXC by its environment", usual.and(fixture{"proc/1/environ": "a=b\x00container=lxc-libvirt\x00"}), user, unix.EPERM, []string{"security.nesting"}, ""},
		{"systemd-nspawn", usual.and(fixture{"run/systemd/container": "systemd-nspawn\n"}), user, unix.EPERM, []string{"(systemd-nspawn)"}, "docker"},
		{"a chroot", usual.and(fixture{mountsPath: "23 1 0:21 / /proc rw - proc proc rw\n"}), 0, unix.EPERM, []string{"chroot"}, ""},
		{"WSL 1", usual.and(fixture{releasePath: "4.4.0-19041-Microsoft\n"}), user, unix.EINVAL, []string{"wsl --set-version"}, ""},
		{"WSL 2 with systemd is no container", usual.and(fixture{releasePath: "6.6.87.2-microsoft-standard-WSL2\n", "run/systemd/container": "wsl\n", maxUserPath: "0"}), user, unix.ENOSPC,
			[]string{"sudo sysctl -w user.max_user_namespaces"}, "container"},
		{"a kernel without", usual, user, unix.EINVAL, []string{"CONFIG_USER_NS"}, ""},
		{"an old kernel", usual.and(fixture{releasePath: "5.4.0-42-generic\n"}), user, unix.ENOSYS, []string{"5.13", "5.4.0-42-generic"}, ""},
		{"a systemd unit that restricts them", usual.and(filteredStatus), user, unix.EPERM, []string{"RestrictNamespaces=", "setns"}, ""},
		{"SELinux", usual.and(fixture{"sys/fs/selinux/enforce": "1", "proc/self/attr/current": "user_u:user_r:user_t:s0\x00"}), user, unix.EACCES,
			[]string{"user_u:user_r:user_t:s0", "ausearch"}, ""},
		{"nothing known", fixture{}, user, unix.EPERM, []string{"docs/jail.md"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.files.machine(t, tt.user)
			for _, layer := range []string{layerNamespaces, layerRoot, layerTree} {
				checkRemedy(t, m.remedyFor(layer, tt.err), tt.want, tt.forbid)
			}
		})
	}
}

// checkRemedy holds a remedy to what makes it one: the words it must have, one sentence
// on one line that begins like an order.
func checkRemedy(t *testing.T, got string, want []string, forbid string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(got, part) {
			t.Errorf("%q does not say %q", got, part)
		}
	}
	if forbid != "" && strings.Contains(got, forbid) {
		t.Errorf("%q says %q", got, forbid)
	}
	if got == "" || strings.ContainsAny(got, ";\n\x00") || strings.HasSuffix(got, ".") || got[0] < 'a' || got[0] > 'z' {
		t.Errorf("no remedy: %q", got)
	}
}

func TestRemedyForLandlock(t *testing.T) {
	const user = 1000
	ubuntu := usual.and(fixture{"etc/os-release": "PRETTY_NAME=\"Ubuntu 24.04 LTS\"\nID=ubuntu\nID_LIKE=debian\n", lsmPath: "lockdown,capability,yama,apparmor\n"})
	alma := usual.and(fixture{"usr/lib/os-release": "ID=\"almalinux\"\nID_LIKE=\"rhel centos fedora\"\n", lsmPath: "lockdown,capability,yama,selinux,bpf"})
	wsl := usual.and(fixture{releasePath: "6.6.87.2-microsoft-standard-WSL2\n"})
	for _, tt := range []struct {
		name  string
		files fixture
		err   error
		want  string
	}{
		{"Ubuntu booted without", ubuntu, unix.EOPNOTSUPP, "lsm=landlock,lockdown,yama,apparmor to GRUB_CMDLINE_LINUX"},
		{"a RHEL-like booted without", alma, unix.EOPNOTSUPP, "grubby --update-kernel=ALL --args=lsm=landlock,lockdown,yama,selinux,bpf"},
		{"another booted without, its list not to be seen", usual, unix.EOPNOTSUPP, "lsm=landlock,… to the kernel's command line"},
		{"WSL 2 with a command line of its own", wsl, unix.EOPNOTSUPP, ".wslconfig"},
		{"WSL 2 of before", wsl, unix.ENOSYS, "wsl --update"},
		{"WSL 1", usual.and(fixture{releasePath: "4.4.0-19041-Microsoft"}), unix.ENOSYS, "wsl --set-version"},
		{"an old kernel", usual.and(fixture{releasePath: "5.10.0-28-amd64"}), unix.ENOSYS, "5.13 or later: this is 5.10.0-28-amd64"},
		{"a kernel without", usual, unix.ENOSYS, "CONFIG_SECURITY_LANDLOCK"},
		{"a container engine of before", inDocker, unix.ENOSYS, "landlock_restrict_self"},
		{"a container on a machine booted without", inDocker, unix.EOPNOTSUPP, "the machine that runs the container"},
		{"the sixteenth sandbox", usual, unix.E2BIG, "fewer sandboxes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkRemedy(t, tt.files.machine(t, user).remedyFor(layerLandlock, tt.err), []string{tt.want}, "")
		})
	}
}

func TestRemedyForControlGroups(t *testing.T) {
	unified := usual.and(fixture{unifiedPath: "memory pids\n"})
	for _, tt := range []struct {
		name  string
		files fixture
		user  int
		want  string
	}{
		{"an ssh login under systemd", unified.and(fixture{systemdPath: ""}), 1000, "systemd-run --user --scope"},
		{"root under systemd", unified.and(fixture{systemdPath: ""}), 0, "systemd-run --scope"},
		{"no systemd", unified, 1000, "hands on memory and pids"},
		{"version 1 under systemd", usual.and(fixture{systemdPath: ""}), 0, "systemd.unified_cgroup_hierarchy=1"},
		{"version 1", usual.and(fixture{"sys/fs/cgroup/memory/tasks": ""}), 0, "cgroup_no_v1=memory,pids"},
		{"none", usual, 0, "mount control groups of version 2"},
		{"WSL 2", usual.and(fixture{releasePath: "5.15.153.1-microsoft-standard-WSL2"}), 1000, "cgroup_no_v1=all"},
		{"Docker", inDocker, 0, "docker run --memory"},
		{"Kubernetes", usual.and(fixture{"run/secrets/kubernetes.io/x": ""}), 0, "bound the container"},
		{"WSL 1", usual.and(fixture{releasePath: "4.4.0-19041-Microsoft"}), 1000, "wsl --set-version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkRemedy(t, tt.files.machine(t, tt.user).remedyFor(layerCgroup, nil), []string{tt.want}, "")
		})
	}
}

func TestRemedyForTheOtherLayers(t *testing.T) {
	for _, tt := range []struct {
		layer string
		files fixture
		err   error
		want  string
	}{
		{layerSealed, usual.and(fixture{"proc/sys/vm/memfd_noexec": "2\n"}), unix.EACCES, "vm.memfd_noexec=1"},
		{layerSealed, usual, unix.ENOENT, "mount /proc"},
		{layerSealed, usual, unix.EFBIG, "ulimit -f"},
		{layerSealed, usual, unix.EMFILE, "ulimit -n"},
		{layerSealed, usual, unix.ENOMEM, "memory"},
		{layerSealed, inDocker, unix.EPERM, "memfd_create"},
		{layerFilter, usual, unix.EINVAL, "CONFIG_SECCOMP_FILTER"},
		{layerFilter, inDocker, unix.EPERM, "allow seccomp"},
		{layerFilter, usual, unix.ENOMEM, "fewer sandboxes"},
		{layerFilter, usual.and(fixture{releasePath: "4.4.0-19041-Microsoft"}), unix.EINVAL, "wsl --set-version"},
		{layerUser, inDocker, unix.EPERM, "CAP_SETUID"},
		{layerUser, usual, unix.EINVAL, "user numbers"},
		{layerUser, usual, unix.EAGAIN, "ulimit -u"},
		{layerDescriptors, usual.and(fixture{releasePath: "5.4.0"}), unix.ENOSYS, "5.13 or later: this is 5.4.0"},
		{layerDescriptors, inDocker, unix.ENOSYS, "the system call filter"},
	} {
		checkRemedy(t, tt.files.machine(t, 1000).remedyFor(tt.layer, tt.err), []string{tt.want}, "")
	}
	if got := usual.machine(t, 0).remedyFor(layerDeath, unix.EPERM); got != "" {
		t.Errorf("a remedy for what has none: %q", got)
	}
}

func TestErrnoName(t *testing.T) {
	for err, want := range map[error]string{
		unix.EPERM: "EPERM", unix.EOPNOTSUPP: "EOPNOTSUPP", unix.ENOSYS: "ENOSYS", nil: "", os.ErrClosed: "",
		&Error{Place: "x", Err: &os.PathError{Op: "open", Err: unix.EACCES}}: "EACCES",
	} {
		if got := errnoName(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}

// The files of a container do not make one of a virtual machine that has its image.
func TestImageOfAContainerIsNoContainer(t *testing.T) {
	m := inDocker.machine(t, 0)
	if got := m.container(); got != docker {
		t.Errorf("a container is %q", got)
	}
	dir := filepath.Join(m.root, "proc/self/ns")
	link := func(kind, target string) {
		path := filepath.Join(dir, kind)
		_ = os.Remove(path)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for kind, first := range initial {
		link(kind, first)
	}
	if got := m.container(); got != "" {
		t.Errorf("a virtual machine is %q", got)
	}
	link("uts", "uts:[4026532199]") // docker run --pid=host --ipc=host --cgroupns=host
	if got := m.container(); got != docker {
		t.Errorf("a container with the host's processes is %q", got)
	}
}

// A machine's files may hold anything.
func TestMachineReadsOddFiles(t *testing.T) {
	odd := fixture{
		releasePath: strings.Repeat("9", 100) + ".x", mountsPath: "\n\n - \n1 2\n", statusPath: "Seccomp:", lsmPath: ",,",
		"etc/os-release": "PRETTY_NAME=\nID=\"\nID_LIKE", "proc/1/environ": "\x00container=\x00", maxUserPath: "-1",
	}
	m := odd.machine(t, 1000)
	for _, layer := range []string{layerNamespaces, layerLandlock, layerCgroup, layerSealed, layerFilter, layerUser} {
		for _, errno := range []error{nil, unix.EPERM, unix.EINVAL, unix.EOPNOTSUPP, unix.ENOSPC} {
			if got := m.remedyFor(layer, errno); strings.ContainsAny(got, "\n\x00") {
				t.Errorf("%s: %q", layer, got)
			}
		}
	}
	if about := m.describe(); about.Container != "" {
		t.Errorf("%+v", about)
	}
	if err := unix.Mkfifo(filepath.Join(m.root, "etc/os-release-pipe"), 0o600); err == nil {
		if err := os.Rename(filepath.Join(m.root, "etc/os-release-pipe"), filepath.Join(m.root, "etc/os-release")); err != nil {
			t.Fatal(err)
		}
		_ = m.distribution("ID") // must not wait for a writer
	}
	if ThisMachine().Kernel == "" {
		t.Error("this machine has no kernel")
	}
}
