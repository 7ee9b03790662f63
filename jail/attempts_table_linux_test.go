//go:build amd64 || arm64

package jail

import (
	"runtime"
	"strconv"
	"strings"
)

// attempt is one attempt of the probe in testdata/attempts, and what is expected
// to hold it.
type attempt struct {
	name string
	// filter is the call for which the filter ends the process; or "=" and the
	// error with which it answers; or either, with "|" between them, by the level;
	// or otherInterface; or empty where the filter has nothing against it.
	filter string
	// holds are the layers each of which holds it without any other. Two with
	// "and" between them do so together.
	holds []string
	// bounded has the Exit name the layer where the filter does not come first.
	bounded bool
	// privileged needs root: to an ordinary user the kernel refuses it anyway.
	privileged bool
	// ordinary gives root nothing.
	ordinary bool
	// lacks is why there may be no control on a machine.
	lacks string
	// slow takes a second each time, and is made only where it tells most.
	slow bool
	// outside is what holds it although it is no layer.
	outside string
}

// otherInterface is a call in the numbers of another architecture: the process
// ends and nobody learns which it was.
const otherInterface = "other interface"

const and = " and "

func walls(layers ...string) []string { return layers }

// vforkCall is the call by which a child on its parent's stack is made.
var vforkCall = map[string]string{"amd64": "vfork", "arm64": "clone"}[runtime.GOARCH]

// Landlock learned some things late. These stand for it from the version on that
// can hold the attempt.
const (
	landlockTruncate = layerLandlock + " ABI 3"
	landlockTCP      = layerLandlock + " ABI 4"
	landlockScope    = layerLandlock + " ABI 6"
)

// claims are the layers and pairs of layers that hold it, the filter included,
// where this is the version of Landlock.
func (a attempt) claims(abi int) [][]string {
	var all [][]string
	if a.filter != "" {
		all = append(all, []string{layerFilter})
	}
	for _, c := range a.holds {
		if layer, from, late := strings.Cut(c, " ABI "); late {
			if n, err := strconv.Atoi(from); err != nil || n > abi {
				continue
			}
			c = layer
		}
		all = append(all, strings.Split(c, and))
	}
	return all
}

var attemptTable = []attempt{
	// Files.
	{name: "passwd", filter: "=ENOENT", holds: walls(layerRoot, layerLandlock)},
	{name: "passwd-openat2", filter: "openat2", holds: walls(layerRoot, layerLandlock)},
	{name: "passwd-through-descriptor", filter: "=ENOENT", holds: walls(layerDescriptors)},
	{name: "passwd-stat", filter: "newfstatat", holds: walls(layerRoot)},
	{name: "passwd-statx", filter: "statx", holds: walls(layerRoot)},
	{name: "passwd-access", filter: "faccessat", holds: walls(layerRoot)},
	{name: "directory", filter: "=ENOENT", holds: walls(layerRoot, layerLandlock)},
	{name: "chdir", filter: "chdir", holds: walls(layerRoot)},
	{name: "readlink", filter: "readlinkat", holds: walls(layerRoot)},
	{name: "proc-environ", filter: "=ENOENT", holds: walls(layerRoot, layerLandlock)},
	{name: "proc-host", filter: "=ENOENT", holds: walls(layerRoot, layerLandlock)},
	{name: "proc-first", filter: "=ENOENT", holds: walls(layerRoot, layerLandlock)},
	{name: "proc-memory", filter: "=ENOENT", holds: walls(layerRoot, layerLandlock), lacks: "a kernel that forbids it"},
	{name: "device-null", filter: "=ENOENT", holds: walls(layerRoot, layerLandlock)},
	{name: "device-raw", filter: "=ENOENT", holds: walls(layerRoot, layerUser, layerLandlock), privileged: true, lacks: "no such device"},
	{name: "device-made", filter: "mknodat", holds: walls(layerRoot, layerUser, layerCapabilities, layerLandlock), privileged: true},
	{name: "file-created", filter: "=ENOENT", holds: walls(layerRoot, layerLandlock)},
	{name: "file-made-unnamed", filter: "=ENOENT", holds: walls(layerRoot, layerLandlock)},
	{name: "directory-made", filter: "mkdirat", holds: walls(layerRoot, layerLandlock)},
	{name: "symlink", filter: "symlinkat", holds: walls(layerRoot, layerLandlock)},
	{name: "hard-link", filter: "linkat", holds: walls(layerRoot, layerLandlock)},
	{name: "rename", filter: "renameat2", holds: walls(layerRoot, layerLandlock)},
	{name: "unlink", filter: "unlinkat", holds: walls(layerRoot, layerLandlock)},
	{name: "chmod", filter: "fchmodat", holds: walls(layerRoot, layerUser)},
	{name: "truncate", filter: "truncate", holds: walls(layerRoot, landlockTruncate)},
	{name: "set-attribute", filter: "setxattr", holds: walls(layerRoot), lacks: "a file system without attributes"},
	{name: "large-file", filter: "=ENOENT", holds: walls(layerRoot, layerLandlock, BoundFileSize)},
	{name: "handle", filter: "name_to_handle_at", lacks: "a file system without handles"},
	{name: "open-by-handle", filter: "open_by_handle_at", holds: walls(layerUser, layerCapabilities, layerLandlock), privileged: true, lacks: "a file system without handles"},
	{name: "watch", filter: "inotify_init1", holds: walls(layerRoot)},
	{name: "watch-all", filter: "fanotify_init", lacks: "a kernel without fanotify"},
	{name: "write-binary", filter: "renameat2", holds: walls(layerRoot, layerLandlock, layerSealed)},
	{name: "chroot", filter: "chroot", holds: walls(layerUser, layerCapabilities), privileged: true},

	// Sockets.
	{name: "tcp", filter: "socket", holds: walls(layerNamespaces, landlockTCP)},
	{name: "mptcp", filter: "socket", holds: walls(layerNamespaces), lacks: "a kernel without MPTCP"},
	{name: "tcp-fast-open", filter: "socket", holds: walls(layerNamespaces), lacks: "TCP Fast Open switched off"},
	{name: "tcp-listen", filter: "socket", holds: walls(layerNamespaces, landlockTCP)},
	{name: "udp", filter: "socket", holds: walls(layerNamespaces)},
	{name: "raw-socket", filter: "socket", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "packet", filter: "socket", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "netlink", filter: "socket", holds: walls(layerNamespaces)},
	{name: "vsock", filter: "socket", lacks: "a kernel without vsock"},
	{name: "kernel-crypto", filter: "socket", lacks: "a kernel without AF_ALG"},
	{name: "bluetooth", filter: "socket", lacks: "a kernel without Bluetooth"},
	{name: "xdp", filter: "socket", holds: walls(layerUser, layerCapabilities), privileged: true, lacks: "a kernel without XDP"},
	{name: "other-sockets", filter: "socket", lacks: "a kernel without other families"},
	{name: "unix-abstract", filter: "socket", holds: walls(layerNamespaces, landlockScope)},
	{name: "unix-path", filter: "socket", holds: walls(layerRoot)},
	{name: "unix-datagram", filter: "socket", holds: walls(layerRoot)},
	{name: "unix-listen", filter: "socket", holds: walls(layerRoot, layerLandlock)},
	{name: "socketpair", filter: "socketpair"},
	{name: "pipe", filter: "pipe2"},

	// The channel and what data goes over.
	{name: "descriptor-sent", filter: "sendmsg"},
	{name: "descriptor-received", filter: "recvmsg"},
	{name: "peer-credentials", filter: "getsockopt", holds: walls(layerTree)},
	{name: "send-buffer", filter: "setsockopt"},
	{name: "splice", filter: "splice"},
	{name: "tee", filter: "tee"},
	{name: "vmsplice", filter: "vmsplice"},
	{name: "sendfile", filter: "sendfile"},
	{name: "copy-file-range", filter: "copy_file_range"},

	// What is handed over at the start.
	{name: "inherited-descriptors", holds: walls(layerDescriptors)},
	{name: "environment", holds: walls(layerEnvironment)},
	{name: "arguments", holds: walls(layerEnvironment)},
	{name: "owner-of-channel", filter: "fcntl", holds: walls(layerTree)},
	{name: "pipe-size", filter: "fcntl"},
	{name: "write-image", filter: "ftruncate", holds: walls(layerDescriptors)},
	{name: "standard-mode", filter: "fchmod", holds: walls(layerUser), privileged: true},
	{name: "terminal-input", filter: "=ENOTTY", holds: walls(layerUser, layerCapabilities), privileged: true, lacks: "a kernel without TIOCSTI"},
	{name: "console-selection", filter: "=ENOTTY", holds: walls(layerUser, layerCapabilities), privileged: true, lacks: "no console"},
	{name: "device-control", filter: "=ENOTTY"},

	// Processes.
	{name: "ptrace", filter: "ptrace", holds: walls(layerTree, layerUser, layerLandlock)},
	{name: "ptrace-me", filter: "ptrace"},
	{name: "read-memory", filter: "process_vm_readv", holds: walls(layerTree, layerUser, layerLandlock)},
	{name: "write-memory", filter: "process_vm_writev", holds: walls(layerTree, layerUser, layerLandlock)},
	{name: "pidfd", filter: "pidfd_open", holds: walls(layerTree)},
	{name: "pidfd-descriptor", filter: "pidfd_getfd", holds: walls(layerTree, layerUser, layerLandlock)},
	{name: "pidfd-signal", filter: "pidfd_send_signal", holds: walls(layerTree, layerUser, landlockScope)},
	{name: "kill", filter: "kill", holds: walls(layerTree, layerUser, landlockScope)},
	{name: "kill-all", filter: "kill", holds: walls(layerTree)},
	{name: "tkill", filter: "tkill", holds: walls(layerTree, layerUser, landlockScope)},
	{name: "tgkill", filter: "tgkill|=EPERM", holds: walls(layerTree, layerUser, landlockScope)},
	{name: "queue-signal", filter: "rt_sigqueueinfo", holds: walls(layerTree, layerUser, landlockScope)},
	{name: "queue-thread-signal", filter: "rt_tgsigqueueinfo", holds: walls(layerTree, layerUser, landlockScope)},
	{name: "priority-of-host", filter: "setpriority", holds: walls(layerTree, layerUser, layerCapabilities)},
	{name: "pin-host", filter: "sched_setaffinity", holds: walls(layerTree, layerUser, layerCapabilities)},
	{name: "limit-of-host", filter: "prlimit64", holds: walls(layerTree, layerUser)},
	{name: "processors-of-host", filter: "sched_getaffinity", holds: walls(layerTree)},
	{name: "clock-of-host", filter: "clock_gettime", holds: walls(layerTree)},
	{name: "wait-on-clock-of-host", filter: "clock_nanosleep", holds: walls(layerTree)},
	{name: "robust-list-of-host", filter: "get_robust_list", holds: walls(layerTree, layerUser, layerLandlock)},
	{name: "compare-host", filter: "kcmp", holds: walls(layerTree, layerUser, layerLandlock), lacks: "a kernel without kcmp"},
	{name: "advise-host", filter: "process_madvise", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "migrate-host", filter: "migrate_pages", holds: walls(layerTree, layerUser, layerLandlock), lacks: "a kernel without NUMA"},
	{name: "fork", filter: "clone"},
	{name: "vfork", filter: vforkCall},
	{name: "clone3", filter: "=ENOSYS"},
	{name: "clone-namespaces", filter: "clone", holds: walls(layerTree)},
	{name: "unshare", filter: "unshare", holds: walls(layerTree)},
	{name: "thread-unusual", filter: "clone"},
	{name: "subreaper", filter: "prctl"},

	// Programs.
	{name: "exec", filter: "execve", holds: walls(layerRoot, layerLandlock)},
	{name: "exec-shell", filter: "execve", holds: walls(layerRoot, layerLandlock)},
	{name: "exec-set-user", filter: "execve", holds: walls(layerNamespaces, layerLandlock, layerPrivileges), ordinary: true, lacks: "nobody else to become"},
	{name: "execveat", filter: "execveat", holds: walls(layerRoot, layerLandlock)},
	{name: "exec-again", filter: "execveat", holds: walls(layerDescriptors)},
	{name: "exec-descriptor", filter: "dup3", holds: walls(layerDescriptors)},
	{name: "exec-memory", filter: "memfd_create", holds: walls(BoundFileSize)},

	// Memory.
	{name: "map-executable", filter: "mmap"},
	{name: "map-descriptor", filter: "mmap"},
	{name: "map-zero", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "map-locked", filter: "mmap", holds: walls(layerLocked + and + layerUser)},
	{name: "protect-executable", filter: "mprotect"},
	{name: "protect-text", filter: "mprotect"},
	{name: "protect-with-key", filter: "pkey_mprotect"},
	{name: "remap", filter: "mremap"},
	{name: "remap-pages", filter: "mmap"},
	{name: "personality", filter: "personality"},
	{name: "lock-memory", filter: "mlock", holds: walls(layerLocked + and + layerUser)},
	{name: "lock-all", filter: "mlockall", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "secret-memory", filter: "memfd_secret", lacks: "a kernel without secret memory"},
	{name: "memory-file", filter: "memfd_create"},
	{name: "user-faults", filter: "userfaultfd", lacks: "a kernel without userfaultfd"},
	{name: "memory-policy", filter: "set_mempolicy", lacks: "a kernel without NUMA"},

	// Bombs and floods.
	{name: "heap-bomb", holds: walls(BoundMemory), bounded: true},
	{name: "map-bomb", holds: walls(BoundMemory)},
	{name: "shared-bomb", filter: "mmap"},
	{name: "growing-bomb", filter: "mmap"},
	{name: "huge-bomb", filter: "mmap", lacks: "no huge pages are reserved"},
	{name: "break-bomb", filter: "brk", holds: walls(BoundMemory)},
	{name: "file-bomb", filter: "memfd_create", holds: walls(BoundFileSize)},
	{name: "hidden-bomb", filter: "mprotect"},
	{name: "table-bomb", filter: "mmap", holds: walls(layerAddress)},
	{name: "sparse-bomb", filter: "mmap"},
	{name: "spread-bomb", holds: walls(BoundMemory)},
	{name: "guard-bomb", filter: "=EINVAL", holds: walls(layerAddress), lacks: "a kernel before 6.13"},
	{name: "area-bomb", holds: walls(BoundMemory)},
	{name: "thread-bomb", holds: walls(layerProcesses+and+layerUser, layerCgroup), lacks: "few threads allowed"},
	{name: "runtime-thread-bomb", holds: walls(layerProcesses+and+layerUser, BoundMemory, layerCgroup), bounded: true, lacks: "few threads allowed"},
	{name: "process-bomb", filter: "clone", holds: walls(layerProcesses+and+layerUser, layerCgroup)},
	{name: "descriptor-bomb", holds: walls(layerDescriptorLimit)},
	{name: "signal-bomb", filter: "tgkill"},
	{name: "stderr-flood", holds: walls(layerOutput)},
	{name: "frame-flood", outside: "the socket is full, for nobody reads it"},
	{name: "processor-spin", holds: walls(BoundCPU), bounded: true, slow: true},

	// Privileges.
	{name: "set-user", filter: "setuid", holds: walls(layerUser), privileged: true},
	{name: "set-group", filter: "setgid", holds: walls(layerUser), privileged: true},
	{name: "set-groups", filter: "setgroups", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "capabilities", filter: "capset", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "ambient-capability", filter: "prctl", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "secure-bits", filter: "prctl", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "raise-limit", filter: "prlimit64"},
	{name: "death-signal", filter: "prctl"},
	{name: "dumpable", filter: "prctl"},
	{name: "tracer", filter: "prctl"},
	{name: "new-privileges", filter: "prctl", holds: walls(layerPrivileges)},
	{name: "filter", filter: "seccomp"},
	{name: "filter-by-prctl", filter: "prctl"},
	{name: "listener", filter: "seccomp"},
	{name: "ruleset", filter: "landlock_create_ruleset", lacks: "a kernel without Landlock"},
	{name: "core", filter: "prlimit64", holds: walls(layerCore)},

	// Mounts.
	{name: "mount", filter: "mount", holds: walls(layerUser, layerCapabilities, layerLandlock), privileged: true},
	{name: "unmount", filter: "umount2", holds: walls(layerUser, layerCapabilities, layerLandlock), privileged: true},
	{name: "pivot-root", filter: "pivot_root", holds: walls(layerUser, layerCapabilities, layerLandlock), privileged: true},
	{name: "open-tree", filter: "open_tree", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "new-filesystem", filter: "fsopen", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "pick-filesystem", filter: "fspick", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "move-mount", filter: "move_mount", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "mount-attributes", filter: "mount_setattr", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "list-mounts", filter: "listmount", lacks: "a kernel before 6.8"},
	{name: "enter-namespace", filter: "setns", holds: walls(layerRoot, layerUser, layerLandlock), privileged: true},

	// The kernel.
	{name: "io-uring", filter: "io_uring_setup", holds: walls(layerLocked + and + layerUser), lacks: "io_uring switched off"},
	{name: "bpf", filter: "bpf", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "performance-events", filter: "perf_event_open", lacks: "performance events switched off"},
	{name: "add-key", filter: "add_key", lacks: "a kernel without keys"},
	{name: "request-key", filter: "request_key", lacks: "a kernel without keys"},
	{name: "keyring", filter: "keyctl", lacks: "a kernel without keys"},
	{name: "kernel-log", filter: "syslog", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "machine", filter: "sysinfo"},
	{name: "name", filter: "uname", holds: walls(layerNamespaces)},
	{name: "set-name", filter: "sethostname", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "set-clock", filter: "settimeofday", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "adjust-clock", filter: "adjtimex", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "reboot", filter: "reboot", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "module", filter: "init_module", lacks: "a kernel without modules"},
	{name: "kernel-image", filter: "kexec_load", lacks: "a kernel without kexec"},
	{name: "quota", filter: "quotactl", lacks: "a kernel without quotas"},
	{name: "accounting", filter: "acct", holds: walls(layerUser, layerCapabilities), privileged: true, lacks: "a kernel without accounting"},
	{name: "swap", filter: "swapon", holds: walls(layerUser, layerCapabilities), privileged: true, lacks: "a kernel without swap"},
	{name: "realtime", filter: "sched_setscheduler", holds: walls(layerUser, layerCapabilities), privileged: true, lacks: "no realtime budget"},
	{name: "processors", filter: "sched_setaffinity"},
	{name: "priority", filter: "setpriority", holds: walls(layerUser, layerCapabilities), privileged: true},
	{name: "timer", filter: "timer_create"},

	// Objects that outlive a process.
	{name: "shared-memory", filter: "shmget"},
	{name: "shared-memory-of-host", filter: "shmat", holds: walls(layerNamespaces)},
	{name: "message-queue", filter: "msgget"},
	{name: "semaphores", filter: "semget"},
	{name: "posix-queue", filter: "mq_open", holds: walls(layerLandlock, layerQueues), lacks: "a kernel without message queues"},

	// Only on amd64.
	{name: "passwd-open", filter: "open", holds: walls(layerRoot, layerLandlock)},
	{name: "fork-old", filter: "fork"},
	{name: "x32", filter: otherInterface, lacks: "a kernel without x32"},
	{name: "int-0x80", filter: otherInterface, lacks: "a kernel without 32-bit programs"},
	{name: "int-0x80-open", filter: otherInterface, holds: walls(layerRoot, layerLandlock), lacks: "a kernel without 32-bit programs"},
	{name: "segments", filter: "modify_ldt", lacks: "a kernel without modify_ldt"},
	{name: "port-access", filter: "ioperm", lacks: "a kernel without port access"},
	{name: "segment-base", filter: "arch_prctl"},
	{name: "obsolete", filter: "uselib", lacks: "a kernel without them"},
}
