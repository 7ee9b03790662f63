// Command filtered puts a system call filter on itself and lives under it. The
// filter comes as bytes on descriptor 3.
//
//	filtered exec <program> [argument ...]   with its environment
//	filtered enter <what>                    by execveat from a sealed descriptor, into:
//	filtered live <what>                     what a Go program does, then one thing more
package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	parentVariable = "PARENT"

	image = 64
	// emptyAt is where the empty path of the exec lies, as the filter wants it.
	emptyAt = 16 << 30
)

func main() {
	if len(os.Args) < 3 {
		fail("arguments", unix.EINVAL)
	}
	switch os.Args[1] {
	case "exec":
		install()
		fail("exec", unix.Exec(os.Args[2], os.Args[2:], os.Environ()))
	case "enter":
		enter(os.Args[2])
	case "live":
		live()
		done(os.Args[2])
	}
}

func fail(what string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	os.Exit(3)
}

func must(what string, err error) {
	if err != nil {
		fail(what, err)
	}
}

func install() {
	raw, err := io.ReadAll(os.NewFile(3, "filter"))
	must("reading the filter", err)
	must("closing it", unix.Close(3))
	size := int(unsafe.Sizeof(unix.SockFilter{}))
	code := unsafe.Slice((*unix.SockFilter)(unsafe.Pointer(&raw[0])), len(raw)/size)
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	runtime.LockOSThread()
	must("no new privileges", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		fail("seccomp", errno)
	}
}

func enter(what string) {
	self, err := os.ReadFile("/proc/self/exe")
	must("reading this program", err)
	memory, err := unix.MemfdCreate("filtered", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	must("memory file", err)
	f := os.NewFile(uintptr(memory), "filtered")
	_, err = f.Write(self)
	must("writing it", err)
	must("its mode", f.Chmod(0o500))
	readable, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", memory), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must("opening it again", err)
	must("closing it", f.Close())
	must("its place", unix.Dup3(readable, image, unix.O_CLOEXEC))
	page, _, errno := unix.Syscall6(unix.SYS_MMAP, emptyAt, uintptr(os.Getpagesize()), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE, ^uintptr(0), 0)
	if errno != 0 || page != emptyAt {
		fail("page for the empty path", errno)
	}
	argv := pointers("filtered", "live", what)
	envv := pointers("GOMAXPROCS=2", "TZ=UTC", "GOTRACEBACK=single", fmt.Sprintf("%s=%d", parentVariable, os.Getppid()))
	must("descriptors", syscall.Setrlimit(unix.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}))
	install()
	path := uintptr(emptyAt)
	if what == "absolute path" {
		path = uintptr(unsafe.Pointer(&append([]byte("/bin/true"), 0)[0]))
	}
	_, _, errno = unix.Syscall6(unix.SYS_EXECVEAT, image, path, uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])), unix.AT_EMPTY_PATH, 0)
	fail("execveat", errno)
}

func pointers(list ...string) []*byte {
	all := make([]*byte, 0, len(list)+1)
	for _, s := range list {
		p, _ := unix.BytePtrFromString(s)
		all = append(all, p)
	}
	return append(all, nil)
}

var sink [][]byte

// live does what makes the runtime call the kernel: memory that comes and goes,
// threads that come and go, timers, preemption, randomness, a recovered fault.
func live() {
	for range 3 {
		for range 40 {
			sink = append(sink, make([]byte, 1<<20))
		}
		for _, b := range sink {
			b[len(b)-1] = 1
		}
		sink = nil
		runtime.GC()
		debug.FreeOSMemory()
	}
	debug.SetGCPercent(20)

	var threads sync.WaitGroup
	for range 4 {
		threads.Go(func() {
			runtime.LockOSThread() // and ends locked: the thread exits
			var b [32]byte
			_, err := rand.Read(b[:])
			must("randomness", err)
			time.Sleep(time.Millisecond)
		})
	}
	threads.Wait()

	stop := make(chan struct{})
	time.AfterFunc(20*time.Millisecond, func() { close(stop) })
	for spun, stopped := 0, false; !stopped; spun++ { // others run by force
		select {
		case <-stop:
			stopped = true
		default:
			for range 1 << 22 {
				spun++
			}
			_ = spun
		}
	}

	func() {
		defer func() { _ = recover() }()
		var nowhere *int
		*nowhere = 1
	}()
	if _, err := os.ReadFile("/etc/passwd"); err != unix.ENOENT && !strings.Contains(fmt.Sprint(err), "no such file") {
		fail("a file opened", err)
	}
	if _, err := time.LoadLocation("Europe/Vienna"); err == nil {
		fail("a zone was read", nil)
	}
	_, _ = os.Stderr.WriteString("lived\n")
}

// done ends the program in a way of its own.
func done(what string) {
	switch what {
	case "fine":
		os.Exit(0)
	case "panic":
		panic("of its own making")
	case "wait":
		_, _ = os.Stderr.WriteString("waiting\n")
		time.Sleep(time.Minute)
	case "int 0x80":
		int80()
	}
	parent, err := strconv.Atoi(os.Getenv(parentVariable))
	must("parent", err)
	page := uintptr(os.Getpagesize())
	own, err := unix.Mmap(-1, 0, int(page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	must("a page", err)
	ours := uintptr(unsafe.Pointer(&own[0]))
	const anonymous = unix.MAP_PRIVATE | unix.MAP_ANON
	attempt, known := map[string][7]uintptr{
		"socket":              {unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM},
		"fork":                {unix.SYS_CLONE, uintptr(unix.SIGCHLD)},
		"namespace":           {unix.SYS_CLONE, 0x50f00 | unix.CLONE_NEWUSER},
		"another descriptor":  {unix.SYS_DUP3, 2, 9},
		"locked priority":     {unix.SYS_FUTEX, ours, 6},
		"executable":          {unix.SYS_MMAP, 0, page, unix.PROT_READ | unix.PROT_EXEC, anonymous, ^uintptr(0)},
		"executable again":    {unix.SYS_MPROTECT, ours, page, unix.PROT_READ | unix.PROT_EXEC},
		"shared memory":       {unix.SYS_MMAP, 0, page, unix.PROT_READ, unix.MAP_SHARED | unix.MAP_ANON, ^uintptr(0)},
		"memory of a file":    {unix.SYS_MMAP, 0, page, unix.PROT_READ, unix.MAP_PRIVATE, 0},
		"growing memory":      {unix.SYS_MMAP, 0, page, unix.PROT_READ, anonymous | unix.MAP_GROWSDOWN, ^uintptr(0)},
		"path memory":         {unix.SYS_MMAP, emptyAt, page, unix.PROT_READ | unix.PROT_WRITE, anonymous | unix.MAP_FIXED, ^uintptr(0)},
		"path memory before":  {unix.SYS_MMAP, emptyAt - page, 2 * page, unix.PROT_READ | unix.PROT_WRITE, anonymous | unix.MAP_FIXED, ^uintptr(0)},
		"kill":                {unix.SYS_KILL, uintptr(parent), uintptr(unix.SIGKILL)},
		"tgkill":              {unix.SYS_TGKILL, uintptr(parent), uintptr(parent), uintptr(unix.SIGKILL)},
		"limits of another":   {unix.SYS_PRLIMIT64, uintptr(parent), unix.RLIMIT_NOFILE, 0, ours},
		"own limits":          {unix.SYS_PRLIMIT64, 0, unix.RLIMIT_DATA, ours},
		"descriptor limit":    {unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, ours},
		"death signal":        {unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG},
		"filter":              {unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER},
		"execve":              {unix.SYS_EXECVE, ours},
		"exec again":          {unix.SYS_EXECVEAT, image, ours, 0, 0, unix.AT_EMPTY_PATH},
		"exec again, there":   {unix.SYS_EXECVEAT, image, emptyAt, 0, 0, unix.AT_EMPTY_PATH},
		"x32":                 {0x40000000 | unix.SYS_GETPID},
		"a number of no call": {1000},
	}[what]
	if !known {
		fail(what, unix.EINVAL)
	}
	_, _, errno := unix.RawSyscall6(attempt[0], attempt[1], attempt[2], attempt[3], attempt[4], attempt[5], attempt[6])
	fail("still here", errno)
}
