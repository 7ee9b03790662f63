//go:build amd64 || arm64

package jail

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	refused  answer = unix.SECCOMP_RET_USER_NOTIF
	killed   answer = unix.SECCOMP_RET_KILL_PROCESS
	noEntry         = unix.SECCOMP_RET_ERRNO | 2
	notOwner        = unix.SECCOMP_RET_ERRNO | 1
	noMemory        = unix.SECCOMP_RET_ERRNO | 12
	invalid         = unix.SECCOMP_RET_ERRNO | 22
	noTTY           = unix.SECCOMP_RET_ERRNO | 25
	noCall          = unix.SECCOMP_RET_ERRNO | 38
	noFamily        = unix.SECCOMP_RET_ERRNO | 97
	done            = unix.SECCOMP_RET_ERRNO // nothing is done, and it is said to be
)

// The parameters a policy is compiled with here.
var (
	owning  = filterParams{image: 64, empty: 0x400000000, tgid: 1, refuse: uint32(refused)}
	sharing = filterParams{image: 64, refuse: uint32(refused)}
)

// verdict is what a filter must say to a call.
type verdict struct {
	call string
	args [6]uint64
	want answer
}

func holdVerdicts(t *testing.T, p Profile, c filterParams, verdicts []verdict) {
	t.Helper()
	for _, v := range verdicts {
		if !slices.Contains(callsAMD64[:], v.call) && !slices.Contains(callsARM64[:], v.call) {
			t.Errorf("there is no call %q", v.call)
		}
	}
	for _, goarch := range architectures {
		code, err := filterFor(p, goarch, c)
		if err != nil {
			t.Fatal(err)
		}
		j := judgeOf(t, code)
		defer j.close()
		conv, _ := conventionOf(goarch)
		for _, v := range verdicts {
			nr, known := conv.number(v.call)
			if !known {
				continue
			}
			if got := j.sees(conv.audit, nr, v.args); got != v.want {
				t.Errorf("%s %s%x: got %#x, want %#x", goarch, v.call, v.args, uint32(got), uint32(v.want))
			}
		}
	}
}

const (
	high = 1 << 32
	top  = 1 << 63
)

func TestSatelliteVerdicts(t *testing.T) {
	holdVerdicts(t, Satellite, owning, []verdict{
		{"clone", [6]uint64{0x50f00}, allow},
		{"clone", [6]uint64{0xd0f00, 1, 2, 3, 4, 5}, allow},
		{"clone", [6]uint64{0x50f00 | high}, refused},
		{"clone", [6]uint64{0x50f00 | top}, refused},
		{"clone", [6]uint64{0x50f01}, refused},
		{"clone", [6]uint64{0x10050f00}, refused}, // a user namespace
		{"clone", [6]uint64{0x40f00}, refused},    // a process
		{"clone", [6]uint64{17}, refused},
		{"clone", [6]uint64{0, 0x50f00}, refused}, // s390's order
		{"clone3", [6]uint64{}, noCall},
		{"fork", [6]uint64{}, refused},
		{"vfork", [6]uint64{}, refused},

		{"mmap", [6]uint64{0, 4096, 0, 0x22, ^uint64(0)}, allow},
		{"mmap", [6]uint64{0, 4096, 3, 0x22, 0xffffffff}, allow},
		{"mmap", [6]uint64{0xc000000000, 4096, 3, 0x32}, allow},
		{"mmap", [6]uint64{0xc000000000, 4096, 1, 0x4032}, refused}, // page tables that no limit counts
		{"mmap", [6]uint64{0, 4096, 4, 0x22}, refused},
		{"mmap", [6]uint64{0, 4096, 7, 0x22}, refused},
		{"mmap", [6]uint64{0, 4096, 3 | high, 0x22}, refused},
		{"mmap", [6]uint64{0, 4096, 3, 0x22 | high}, refused},
		{"mmap", [6]uint64{0, 4096, 3, 0x21}, refused},            // MAP_SHARED
		{"mmap", [6]uint64{0, 4096, 3, 0x23}, refused},            // MAP_SHARED_VALIDATE
		{"mmap", [6]uint64{0, 4096, 3, 0x02}, refused},            // of a file
		{"mmap", [6]uint64{0, 4096, 3, 0x122}, refused},           // MAP_GROWSDOWN
		{"mmap", [6]uint64{0, 4096, 3, 0x2022}, refused},          // MAP_LOCKED
		{"mmap", [6]uint64{0, 4096, 3, 0x8022}, refused},          // MAP_POPULATE
		{"mmap", [6]uint64{0, 4096, 3, 0x40022}, refused},         // MAP_HUGETLB
		{"mmap", [6]uint64{0, 4096, 3, 0x100022}, refused},        // MAP_FIXED_NOREPLACE
		{"mmap", [6]uint64{0, 4096, 3, 0x28}, invalid},            // MAP_DROPPABLE
		{"mmap", [6]uint64{0, 4096, 1, 0x28}, refused},            //
		{"mmap", [6]uint64{0x400000000, 4096, 3, 0x32}, noMemory}, // at the empty path
		{"mmap", [6]uint64{1, 1 << 40, 3, 0x32}, noMemory},
		{"mmap", [6]uint64{0x400000000, 4096, 7, 0x32}, refused},
		{"mmap", [6]uint64{0x400000001, 4096, 3, 0x32}, allow},
		{"mmap", [6]uint64{top, 4096, 3, 0x32}, allow},

		{"mprotect", [6]uint64{4096, 4096, 0}, refused}, // pages that no limit counts
		{"mprotect", [6]uint64{4096, 4096, 1}, refused},
		{"mprotect", [6]uint64{4096, 4096, 3}, allow},
		{"mprotect", [6]uint64{4096, 4096, 4}, refused},
		{"mprotect", [6]uint64{4096, 4096, 5}, refused},
		{"mprotect", [6]uint64{4096, 4096, 1 | high}, refused},
		{"mprotect", [6]uint64{4096, 4096, 0x01000000}, refused}, // PROT_GROWSDOWN
		{"pkey_mprotect", [6]uint64{4096, 4096, 1}, refused},
		{"mremap", [6]uint64{}, refused},
		{"brk", [6]uint64{}, refused},
		{"madvise", [6]uint64{0, 0, 4}, allow},
		{"madvise", [6]uint64{0, 0, 8}, allow},
		{"madvise", [6]uint64{0, 0, 15}, allow},
		{"madvise", [6]uint64{0, 0, 14}, invalid},
		{"madvise", [6]uint64{0, 0, 12}, invalid}, // MADV_MERGEABLE
		{"madvise", [6]uint64{0, 0, 4 | high}, invalid},
		{"process_madvise", [6]uint64{}, refused},

		{"clock_gettime", [6]uint64{0}, allow},
		{"clock_gettime", [6]uint64{11}, allow},
		{"clock_gettime", [6]uint64{12}, refused},
		{"clock_gettime", [6]uint64{0xfffffff2}, refused}, // the processor time of process 1
		{"clock_nanosleep", [6]uint64{1}, allow},
		{"clock_nanosleep", [6]uint64{^uint64(13)}, refused},

		{"futex", [6]uint64{0, 128}, allow},
		{"futex", [6]uint64{0, 129}, allow},
		{"futex", [6]uint64{0, 0}, refused},
		{"futex", [6]uint64{0, 134}, refused}, // FUTEX_LOCK_PI
		{"futex", [6]uint64{0, 128 | high}, refused},
		{"futex", [6]uint64{0, 128 | 256}, refused},

		{"fcntl", [6]uint64{3, 1}, allow},
		{"fcntl", [6]uint64{3, 4, 0x800}, allow},
		{"fcntl", [6]uint64{3, 0}, refused},    // F_DUPFD
		{"fcntl", [6]uint64{3, 8}, refused},    // F_SETOWN
		{"fcntl", [6]uint64{3, 1030}, refused}, // F_DUPFD_CLOEXEC
		{"fcntl", [6]uint64{3, 1033}, refused}, // F_ADD_SEALS
		{"fcntl", [6]uint64{3, 1 | high}, refused},

		{"arch_prctl", [6]uint64{0x1002, 4096}, allow},
		{"arch_prctl", [6]uint64{0x1001, 4096}, refused},
		{"arch_prctl", [6]uint64{0x1003, 4096}, refused},
		{"arch_prctl", [6]uint64{0x1002 | high, 4096}, refused},
		{"prctl", [6]uint64{0x53564d41, 0}, invalid},
		{"prctl", [6]uint64{1, 0}, refused},  // PR_SET_PDEATHSIG
		{"prctl", [6]uint64{4, 0}, refused},  // PR_SET_DUMPABLE
		{"prctl", [6]uint64{22, 2}, refused}, // PR_SET_SECCOMP
		{"prctl", [6]uint64{38, 1}, refused}, // PR_SET_NO_NEW_PRIVS
		{"prctl", [6]uint64{0x53564d41 | high, 0}, refused},

		{"prlimit64", [6]uint64{0, 7, 0, 4096}, allow},
		{"prlimit64", [6]uint64{0, 2, 0, 4096}, allow},
		{"prlimit64", [6]uint64{0, 7, 4096, 0}, notOwner},
		{"prlimit64", [6]uint64{0, 2, 4096, 0}, refused},
		{"prlimit64", [6]uint64{1, 7, 0, 4096}, refused},
		{"prlimit64", [6]uint64{high, 7, 0, 4096}, refused},
		{"prlimit64", [6]uint64{0, 7, high, 4096}, notOwner},
		{"setrlimit", [6]uint64{7, 4096}, refused},

		{"tgkill", [6]uint64{1, 5, 23}, allow},
		{"tgkill", [6]uint64{1, 5, 15}, allow},
		{"tgkill", [6]uint64{1, 5, 31}, allow},
		{"tgkill", [6]uint64{1, 5, 32}, refused}, // it would queue
		{"tgkill", [6]uint64{1, 5, 64}, refused},
		{"tgkill", [6]uint64{2, 5, 23}, refused},
		{"tgkill", [6]uint64{1 | high, 5, 23}, refused},
		{"tgkill", [6]uint64{^uint64(0), 5, 23}, refused},
		{"kill", [6]uint64{1, 0}, refused},
		{"tkill", [6]uint64{1, 0}, refused},
		{"rt_sigqueueinfo", [6]uint64{1, 0}, refused},
		{"rt_tgsigqueueinfo", [6]uint64{1, 0}, refused},
		{"pidfd_send_signal", [6]uint64{1, 0}, refused},

		{"execveat", [6]uint64{64, 0x400000000, 1, 2, 0x1000}, allow},
		{"execveat", [6]uint64{64, 0x400000001, 1, 2, 0x1000}, refused},
		{"execveat", [6]uint64{64, 0, 1, 2, 0x1000}, refused},
		{"execveat", [6]uint64{63, 0x400000000, 1, 2, 0x1000}, refused},
		{"execveat", [6]uint64{64 | high, 0x400000000, 1, 2, 0x1000}, refused},
		{"execveat", [6]uint64{64, 0x400000000, 1, 2, 0}, refused},
		{"execveat", [6]uint64{64, 0x400000000, 1, 2, 0x1100}, refused},
		{"execve", [6]uint64{}, refused},

		{"sched_getaffinity", [6]uint64{0, 8192, 4096}, allow},
		{"sched_getaffinity", [6]uint64{1, 8192, 4096}, refused},
		{"openat", [6]uint64{^uint64(99), 4096}, noEntry},
		{"open", [6]uint64{4096}, refused},
		{"openat2", [6]uint64{}, refused},
		{"ioctl", [6]uint64{0, 0x5401}, noTTY},
		{"ioctl", [6]uint64{0, 0x5412}, noTTY},
	})
}

func TestSatelliteVerdictsAmongOtherProcesses(t *testing.T) {
	holdVerdicts(t, Satellite, sharing, []verdict{
		{"tgkill", [6]uint64{1, 5, 23}, notOwner},
		{"tgkill", [6]uint64{99, 99, 23}, notOwner},
		{"tgkill", [6]uint64{1, 5, 23 | high}, refused},
		{"tgkill", [6]uint64{1, 5, 15}, notOwner},
		{"tgkill", [6]uint64{1, 5, 6}, notOwner},
		{"tgkill", [6]uint64{1, 5, 9}, refused},
		{"tgkill", [6]uint64{1, 5, 19}, refused},
		{"tgkill", [6]uint64{1, 5, 0}, refused},
		{"tgkill", [6]uint64{1, 5, 10}, refused},
		{"kill", [6]uint64{1, 23}, refused},
		{"execveat", [6]uint64{64, 4096, 1, 2, 0x1000}, allow}, // nothing is known of the path
		{"mmap", [6]uint64{4096, 4096, 3, 0x32}, allow},
	})
	holdVerdicts(t, Satellite, filterParams{refuse: uint32(refused)}, []verdict{
		{"execveat", [6]uint64{0, 4096, 1, 2, 0x1000}, refused},
	})
}

// TestSatelliteAllowsNoOtherCalls lists what is allowed whatever the arguments, and
// what has a rule: everything else is refused.
func TestSatelliteAllowsNoOtherCalls(t *testing.T) {
	always := strings.Fields(`clock_gettime clock_nanosleep close epoll_create1 epoll_ctl epoll_pwait eventfd2 exit exit_group fstat
		getpid getrandom gettid munmap nanosleep pread64 read restart_syscall rt_sigaction rt_sigprocmask rt_sigreturn
		sched_yield shutdown sigaltstack write writev`)
	byArguments := strings.Fields(`arch_prctl clock_gettime clock_nanosleep clone clone3 execveat fcntl futex ioctl madvise mmap mprotect openat prctl prlimit64 sched_getaffinity tgkill`)
	for _, c := range []filterParams{owning, sharing} {
		for _, goarch := range architectures {
			conv, _ := conventionOf(goarch)
			code, err := filterFor(Satellite, goarch, c)
			if err != nil {
				t.Fatal(err)
			}
			j := judgeOf(t, code)
			for nr := range uint32(1024) {
				name := callName(goarch, int(nr))
				if slices.Contains(byArguments, name) {
					continue
				}
				want := refused
				if slices.Contains(always, name) {
					want = allow
				}
				for _, args := range [][6]uint64{{}, {^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}} {
					if got := j.sees(conv.audit, nr, args); got != want {
						t.Errorf("%s %s: got %#x, want %#x", goarch, name, got, want)
					}
				}
			}
			j.close()
		}
	}
}

func TestToolchainVerdicts(t *testing.T) {
	both := []verdict{
		{"clone", [6]uint64{0x50f00}, allow},
		{"clone", [6]uint64{0x3d0f00}, allow}, // a thread of libc's
		{"clone", [6]uint64{0x5111}, allow},   // a child of os/exec's
		{"clone", [6]uint64{0x1200011}, allow},
		{"clone", [6]uint64{0x10000011}, notOwner},
		{"clone", [6]uint64{0x10000011 | high}, notOwner},
		{"clone", [6]uint64{0x20011}, notOwner},
		{"clone", [6]uint64{0x02000011}, notOwner},
		{"clone", [6]uint64{0x04000011}, notOwner},
		{"clone", [6]uint64{0x08000011}, notOwner},
		{"clone", [6]uint64{0x20000011}, notOwner},
		{"clone", [6]uint64{0x40000011}, notOwner},
		{"clone", [6]uint64{0x8011}, notOwner}, // CLONE_PARENT
		{"clone3", [6]uint64{}, noCall},
		{"unshare", [6]uint64{0x10000000}, notOwner},
		{"setns", [6]uint64{3}, notOwner},

		{"socket", [6]uint64{1, 1}, noFamily},
		{"socket", [6]uint64{2, 1}, noFamily},
		{"socket", [6]uint64{16, 3}, noFamily},
		{"socket", [6]uint64{38, 5}, noFamily}, // AF_ALG
		{"socket", [6]uint64{40, 1}, noFamily}, // AF_VSOCK
		{"socketpair", [6]uint64{2, 1}, noFamily},
		{"socketpair", [6]uint64{1 | high, 1}, noFamily},
		{"socketpair", [6]uint64{1, 2}, noFamily}, // a datagram
		{"socketpair", [6]uint64{1, 5}, noFamily},
		{"socketpair", [6]uint64{1, 1 | high}, noFamily},

		{"openat", [6]uint64{0, 4096, 0, 0}, allow},
		{"openat", [6]uint64{0, 4096, 0, ^uint64(0)}, allow}, // no file is made, the mode is anything
		{"openat", [6]uint64{0, 4096, 0x241, 0o755}, allow},
		{"openat", [6]uint64{0, 4096, 0x241, 0o4755}, notOwner},
		{"openat", [6]uint64{0, 4096, 0x241, 0o2755}, notOwner},
		{"openat", [6]uint64{0, 4096, 0x241 | high, 0o4755 | high}, notOwner},
		{"openat", [6]uint64{0, 4096, 0x410001, 0o4755}, notOwner}, // O_TMPFILE of amd64
		{"openat", [6]uint64{0, 4096, 0x404001, 0o4755}, notOwner}, // and of arm64
		{"open", [6]uint64{4096, 0x241, 0o644}, allow},
		{"open", [6]uint64{4096, 0x241, 0o4755}, notOwner},
		{"creat", [6]uint64{4096, 0o755}, allow},
		{"creat", [6]uint64{4096, 0o4755}, notOwner},
		{"openat2", [6]uint64{}, noCall}, // its flags are out of sight
		{"fchmodat", [6]uint64{0, 4096, 0o755}, allow},
		{"fchmodat", [6]uint64{0, 4096, 0o4755}, notOwner},
		{"fchmodat2", [6]uint64{0, 4096, 0o2755}, notOwner},
		{"fchmod", [6]uint64{3, 0o755}, allow},
		{"fchmod", [6]uint64{3, 0o4755}, notOwner},
		{"chmod", [6]uint64{4096, 0o6755}, notOwner},
		{"mknodat", [6]uint64{0, 4096, 0o010644}, allow}, // a pipe
		{"mknodat", [6]uint64{0, 4096, 0o100644}, allow},
		{"mknodat", [6]uint64{0, 4096, 0o020644}, notOwner},
		{"mknodat", [6]uint64{0, 4096, 0o060644}, notOwner},
		{"mknodat", [6]uint64{0, 4096, 0o104644}, notOwner},
		{"mknod", [6]uint64{4096, 0o060644}, notOwner},
		{"mknod", [6]uint64{4096, 0o140644}, allow},

		{"ioctl", [6]uint64{0, 0x5401}, allow},
		{"ioctl", [6]uint64{0, 0x5413}, allow},
		{"ioctl", [6]uint64{0, 0x5412}, refused}, // TIOCSTI
		{"ioctl", [6]uint64{0, 0x5412 | high}, refused},
		{"ioctl", [6]uint64{0, 0x541c | top}, refused}, // TIOCLINUX
		{"ioctl", [6]uint64{0, 0x5401 | high}, noTTY},
		{"ioctl", [6]uint64{0, 0x8901}, noTTY}, // FIOSETOWN
		{"fcntl", [6]uint64{3, 1030}, allow},
		{"fcntl", [6]uint64{3, 8}, invalid},  // F_SETOWN
		{"fcntl", [6]uint64{3, 10}, invalid}, // F_SETSIG
		{"fcntl", [6]uint64{3, 15}, invalid}, // F_SETOWN_EX
		{"fcntl", [6]uint64{3, 8 | high}, invalid},

		{"prctl", [6]uint64{15}, allow},
		{"prctl", [6]uint64{1}, invalid},
		{"prctl", [6]uint64{4}, invalid},
		{"prctl", [6]uint64{22, 2}, refused},
		{"prctl", [6]uint64{22 | high, 2}, refused},
		{"prctl", [6]uint64{0x53564d41}, invalid},
		{"personality", [6]uint64{0xffffffff}, allow},
		{"personality", [6]uint64{^uint64(0)}, allow},
		{"personality", [6]uint64{0x40000}, refused},
		{"personality", [6]uint64{0}, refused},
		{"arch_prctl", [6]uint64{0x1002, 4096}, allow},
		{"arch_prctl", [6]uint64{0x3001, 4096}, invalid},

		{"futex", [6]uint64{0, 0}, allow},
		{"futex", [6]uint64{0, 128 | 9 | 256}, allow},
		{"futex", [6]uint64{0, 128 | 6}, noCall},
		{"futex", [6]uint64{0, 13}, noCall},
		{"futex", [6]uint64{0, high}, noCall},
		{"prlimit64", [6]uint64{0, 7, 4096, 0}, allow},
		{"prlimit64", [6]uint64{1, 7, 0, 4096}, notOwner},

		{"memfd_create", [6]uint64{}, noCall},
		{"landlock_create_ruleset", [6]uint64{}, noCall},
		{"fchownat", [6]uint64{}, notOwner},
		{"execve", [6]uint64{}, allow},
		{"mmap", [6]uint64{0, 4096, 5, 2, 3}, allow},
	}
	for _, name := range strings.Fields(`mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
		swapon swapoff quotactl quotactl_fd acct open_by_handle_at fanotify_init ptrace process_vm_readv process_vm_writev process_madvise
		pidfd_getfd kcmp bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register seccomp add_key request_key keyctl
		reboot kexec_load kexec_file_load init_module finit_module delete_module sethostname setdomainname
		setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset iopl ioperm modify_ldt`) {
		both = append(both, verdict{name, [6]uint64{}, refused})
	}
	for _, p := range []Profile{Build, Test} {
		holdVerdicts(t, p, owning, both)
		holdVerdicts(t, p, owning, []verdict{
			{"kill", [6]uint64{^uint64(0), 9}, allow},
			{"tgkill", [6]uint64{7, 7, 9}, allow},
			{"pidfd_send_signal", [6]uint64{5, 9}, allow},
			{"setsid", [6]uint64{}, allow},
		})
		holdVerdicts(t, p, sharing, []verdict{
			{"kill", [6]uint64{7, 9}, notOwner},
			{"tkill", [6]uint64{7, 9}, notOwner},
			{"tgkill", [6]uint64{7, 7, 9}, notOwner},
			{"tgkill", [6]uint64{7, 7, 23}, allow},
			{"pidfd_send_signal", [6]uint64{5, 9}, notOwner},
			{"setsid", [6]uint64{}, notOwner},
			{"setpgid", [6]uint64{}, notOwner},
		})
	}
	// To a command the same is closed, and none of it ends it.
	for i := range both {
		if both[i].want == refused {
			both[i].want = notOwner
		}
	}
	holdVerdicts(t, Proc, owning, slices.DeleteFunc(both, func(v verdict) bool { return slices.Contains(generalCalls, v.call) }))
	holdVerdicts(t, Proc, owning, []verdict{
		{"kill", [6]uint64{^uint64(0), 9}, allow},
		{"setsid", [6]uint64{}, allow},
		{"socketpair", [6]uint64{1, 1}, allow},
		{"socketpair", [6]uint64{1, 2}, noFamily},
		{"socket", [6]uint64{1, 1}, noFamily},
		{"socket", [6]uint64{2, 1}, noFamily},
		{"connect", [6]uint64{}, notOwner},
		{"bind", [6]uint64{}, notOwner},
		{"lgetxattr", [6]uint64{}, allow},
		{"setxattr", [6]uint64{}, noCall},
		{"clone", [6]uint64{0x10000011}, notOwner}, // a user namespace
		{"clone3", [6]uint64{}, noCall},
		{"unshare", [6]uint64{0x10000000}, notOwner},
		{"memfd_create", [6]uint64{}, noCall},
		{"setresuid", [6]uint64{noChange, sameUser, noChange}, done},
		{"setresuid", [6]uint64{^uint64(0), sameUser, ^uint64(0)}, done},
		{"setresuid", [6]uint64{noChange, 0, noChange}, notOwner},
		{"setresgid", [6]uint64{sameUser, sameUser, sameUser}, done},
		{"setresgid", [6]uint64{sameUser, sameUser, 1}, notOwner},
		{"setuid", [6]uint64{sameUser}, done},
		{"setuid", [6]uint64{noChange}, notOwner},
		{"setgid", [6]uint64{1000}, notOwner},
		{"ioctl", [6]uint64{0, 0x5412}, notOwner}, // TIOCSTI
	})
	holdVerdicts(t, Build, owning, []verdict{
		{"socketpair", [6]uint64{1, 1}, noFamily},
		{"sendmsg", [6]uint64{}, noCall},
	})
	holdVerdicts(t, Test, owning, []verdict{
		{"socketpair", [6]uint64{1, 1}, allow},
		{"socketpair", [6]uint64{1, 0x80801}, allow},
		{"sendmsg", [6]uint64{}, allow},
		{"connect", [6]uint64{}, notOwner},
		{"bind", [6]uint64{}, notOwner},
	})
}

// TestFiltersSayWhatTheirPoliciesSay goes through every number and, at every rule,
// through every bit.
func TestFiltersSayWhatTheirPoliciesSay(t *testing.T) {
	for _, goarch := range architectures {
		conv, _ := conventionOf(goarch)
		for name, p := range map[string]policy{
			"satellite":         satellitePolicy(goarch, owning),
			"satellite, shared": satellitePolicy(goarch, sharing),
			"build":             toolchainPolicy(Build, goarch, owning),
			"test":              toolchainPolicy(Test, goarch, sharing),
			"command":           toolchainPolicy(Proc, goarch, owning),
		} {
			code, err := p.compile()
			if err != nil {
				t.Fatalf("%s %s: %v", goarch, name, err)
			}
			t.Logf("%s %s: %d rules, %d instructions", goarch, name, len(p.rules), len(code))
			j := judgeOf(t, code)
			check := func(arch, nr uint32, args [6]uint64) {
				t.Helper()
				if got, want := j.sees(arch, nr, args), p.decide(conv, arch, nr, args); got != want {
					t.Errorf("%s %s %s%x: got %#x, want %#x", goarch, name, callName(goarch, int(nr)), args, got, want)
				}
			}
			for nr := range uint32(1024) {
				check(conv.audit, nr, [6]uint64{})
				check(unix.AUDIT_ARCH_I386, nr, [6]uint64{})
			}
			for _, r := range p.rules {
				nr, _ := conv.number(r.call)
				for _, args := range near(r, [6]uint64{}) {
					check(conv.audit, nr, args)
				}
			}
			j.close()
		}
	}
}

// TestForeignWaysIntoTheKernelKill whatever else is asked for.
func TestForeignWaysIntoTheKernelKill(t *testing.T) {
	for _, p := range []Profile{Satellite, Build, Test, Proc} {
		for _, goarch := range architectures {
			code, err := filterFor(p, goarch, owning)
			if err != nil {
				t.Fatal(err)
			}
			j := judgeOf(t, code)
			conv, _ := conventionOf(goarch)
			for _, arch := range []uint32{0, unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_AARCH64, conv.audit | 1<<28} {
				if arch == conv.audit {
					continue
				}
				for _, nr := range []uint32{0, 1, 20, 172, ^uint32(0)} {
					if got := j.sees(arch, nr, [6]uint64{}); got != killed {
						t.Errorf("profile %d %s: call %d of %#x gets %#x", p, goarch, nr, arch, got)
					}
				}
			}
			for _, nr := range []uint32{0x40000000, 0x40000001, 0x40000000 | 520, 0x7fffffff, 0xc0000000, ^uint32(0)} {
				if got := j.sees(conv.audit, nr, [6]uint64{}); (goarch == "amd64") != (got == killed) || got == allow {
					t.Errorf("profile %d %s: call %#x gets %#x", p, goarch, nr, got)
				}
			}
			j.close()
		}
	}
}

func TestFilterForRefuses(t *testing.T) {
	for _, c := range []struct {
		profile Profile
		goarch  string
	}{{Plain, "amd64"}, {Satellite, "riscv64"}, {Build, ""}, {99, "arm64"}} {
		if code, err := filterFor(c.profile, c.goarch, owning); err == nil {
			t.Errorf("profile %d for %q has a filter of %d instructions", c.profile, c.goarch, len(code))
		}
	}
	for what, p := range map[string]func(*policy){
		"no such call": func(p *policy) { p.add(allow, "arch_prctl") },
		"no name":      func(p *policy) { p.add(allow, "") },
		"two rules":    func(p *policy) { p.add(allow, "read", "read") },
		"argument":     func(p *policy) { p.rule("read", allow, on(allow, is(6, 0))) },
		"no mask":      func(p *policy) { p.rule("read", allow, on(allow, bits(0, 0, 0))) },
		"no value":     func(p *policy) { p.rule("read", allow, on(allow, is(0))) },
		"never":        func(p *policy) { p.rule("read", allow, on(allow, bits(0, 2, 3))) },
		"less than 0":  func(p *policy) { p.rule("read", allow, on(allow, below(0, 0))) },
	} {
		made := policy{goarch: "arm64"}
		p(&made)
		if code, err := made.compile(); err == nil {
			t.Errorf("%s: compiled to %s", what, fmt.Sprint(code))
		}
	}
}
