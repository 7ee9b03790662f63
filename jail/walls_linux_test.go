//go:build amd64 || arm64

package jail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/loomext/loomext/internal/livetest"
	"golang.org/x/sys/unix"
)

// These tests look at a running satellite from outside, through /proc: what the
// kernel says of it is what stands.

// asleep starts a satellite that waits, and returns once it does.
func asleep(t *testing.T, o Options) *Command {
	t.Helper()
	spec := satelliteSpec(t, "sleep")
	out := newPrinted()
	spec.Stdout = out
	c, err := Start(t.Context(), spec, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Kill(); <-c.Done() })
	out.line(t)
	return c
}

// about is a file of a process in /proc.
func about(t *testing.T, pid int, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// status is one line of a process's status.
func status(t *testing.T, pid int, name string) string {
	t.Helper()
	for line := range strings.Lines(about(t, pid, "status")) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s", name)
	return ""
}

func needNamespaces(t *testing.T) {
	t.Helper()
	if l, _ := Inspect().Layer(layerNamespaces); l.State != Enforced {
		t.Skipf("skipped layer: %s: %s %s", layerNamespaces, l.Reason, l.Errno)
	}
}

func TestSatelliteIsInNamespacesOfItsOwn(t *testing.T) {
	needNamespaces(t)
	a, b := asleep(t, Options{}), asleep(t, Options{})
	for _, name := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		link := func(pid string) string {
			target, err := os.Readlink("/proc/" + pid + "/ns/" + name)
			if err != nil {
				t.Fatal(err)
			}
			return target
		}
		own, first, second := link("self"), link(strconv.Itoa(a.PID())), link(strconv.Itoa(b.PID()))
		if first == own {
			t.Errorf("the satellite is in the host's %s namespace", name)
		}
		if apart := name == "user" || name == "pid"; apart == (first == second) {
			t.Errorf("%s: %s and %s", name, first, second)
		}
	}
	if got := status(t, a.PID(), "NSpid"); !strings.HasSuffix(got, "\t1") {
		t.Errorf("it is not the first process of its namespace: %q", got)
	}
}

func TestSatelliteHasAnEmptyRoot(t *testing.T) {
	needNamespaces(t)
	c := asleep(t, Options{})
	mounts := strings.Split(strings.TrimSpace(about(t, c.PID(), "mountinfo")), "\n")
	if len(mounts) != 1 || !strings.Contains(mounts[0], " / / ro,nosuid,nodev,noexec") {
		t.Errorf("mounts:\n%s", strings.Join(mounts, "\n"))
	}
	if os.Geteuid() == 0 {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/root/", c.PID()))
		if err != nil || len(entries) != 0 {
			t.Errorf("%v, %v", entries, err)
		}
	}
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", c.PID())); err != nil || exe != "/memfd:satellite (deleted)" {
		t.Errorf("it runs %q, %v", exe, err)
	}
}

func TestSatelliteHasNoPrivileges(t *testing.T) {
	c := asleep(t, Options{})
	for name, want := range map[string]string{
		"NoNewPrivs": "1", "Seccomp": "2", "CapInh": none64, "CapPrm": none64, "CapEff": none64, "CapAmb": none64,
	} {
		if got := status(t, c.PID(), name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, signals := range []string{"SigBlk", "SigIgn"} {
		if got := status(t, c.PID(), signals); got != none64 {
			t.Errorf("%s is %s: something of the host's is inherited", signals, got)
		}
	}
}

const none64 = "0000000000000000"

func TestRootGivesEverySatelliteAUserOfItsOwn(t *testing.T) {
	if os.Geteuid() != 0 || hostIDs().own {
		t.Skip("skipped layer: unprivileged user: the host is not root")
	}
	for _, o := range []Options{{}, {BestEffort: true, without: []string{layerNamespaces}}} {
		a, b := asleep(t, o), asleep(t, o)
		for _, field := range []string{"Uid", "Gid"} {
			first, second := status(t, a.PID(), field), status(t, b.PID(), field)
			n, _ := strconv.Atoi(strings.Fields(first)[0])
			if n < idFirst || first == second {
				t.Errorf("%s: %q and %q", field, first, second)
			}
		}
		if groups := status(t, a.PID(), "Groups"); groups != "" {
			t.Errorf("groups of the host: %s", groups)
		}
	}
}

func TestHostStaysReadableToItsUser(t *testing.T) {
	// os/exec with another user's credential takes the mark, as a launch would.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	asleep(t, Options{})
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 1 {
		t.Errorf("dumpable is %d, %v: /proc/self is closed to the host", n, err)
	}
}

func TestSatelliteHoldsOnlyItsDescriptors(t *testing.T) {
	c := asleep(t, Options{})
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", c.PID(), e.Name()))
		n, _ := strconv.Atoi(e.Name())
		if n > 2 && !strings.Contains(target, "[event") || n == 0 && target != "/dev/null" {
			t.Errorf("descriptor %d is %s", n, target)
		}
	}
}

func TestDefaultDemandsNamespacesAndLandlock(t *testing.T) {
	for _, layer := range []string{layerNamespaces, layerLandlock} {
		_, err := Start(t.Context(), satelliteSpec(t, "exit", "0"), Options{without: []string{layer}})
		var fault *Error
		if !errors.As(err, &fault) || fault.Place != layer {
			t.Errorf("without %s: %v", layer, err)
		}
	}
	spec := satelliteSpec(t, "exit", "0")
	c, err := Start(t.Context(), spec, Options{BestEffort: true, without: []string{layerNamespaces, layerLandlock}})
	if err != nil {
		t.Fatal(err)
	}
	mustWait(t, c)
	if level := c.Report().Level; level != LevelFilterOnly {
		t.Error(level)
	}
}

// A host in a user namespace that forbids further ones gets a refusal with the
// cause and the remedy, and can accept less.
func TestUserNamespacesForbidden(t *testing.T) {
	needNamespaces(t)
	run := func(role string) (string, int) {
		host := exec.Command("/proc/self/exe", child, "exit", "0")
		host.Env = append(os.Environ(), hostVariable+"="+role)
		host.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
		out, _ := host.CombinedOutput()
		return string(out), host.ProcessState.ExitCode()
	}
	out, code := run("namespaces forbidden")
	if code != 3 || !strings.Contains(out, "jail: namespaces: ") || !strings.Contains(out, "ENOSPC") || !strings.Contains(out, "max_user_namespaces") {
		t.Errorf("%d: %s", code, out)
	}
	out, code = run("namespaces forbidden, best effort")
	if code != 0 || !strings.Contains(out, "no-namespaces") || !strings.Contains(out, "exit status 0") {
		t.Errorf("%d: %s", code, out)
	}
}

// The host may be killed at any moment of a launch: nothing of it stays.
func TestHostsSuddenDeathDuringALaunch(t *testing.T) {
	marker := "JAIL_TEST_STORM=" + strconv.Itoa(os.Getpid()) + filepath.Base(t.TempDir())
	for range 40 {
		host := exec.Command("/proc/self/exe", child, "sleep")
		host.Env = append(os.Environ(), hostVariable+"=launch for ever", marker)
		out := newPrinted()
		host.Stdout = out
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		out.line(t) // it is launching
		_ = host.Process.Kill()
		_ = host.Wait()
	}
	livetest.Eventually(t, "all of the storm ends", func() bool { return len(withVariable(t, marker)) == 0 })
}

// withVariable are the processes whose environment has a variable. What a launch
// makes has the host's until it executes, and the test's host hands it on.
func withVariable(t *testing.T, variable string) []int {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, path := range entries {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), variable) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestStormOfSatellitesLeavesNoTrace(t *testing.T) {
	spec := satelliteSpec(t, "exit", "0")
	launch := func() {
		c, err := Start(context.Background(), spec, Options{})
		if err != nil {
			t.Error(err)
			return
		}
		if exit, err := c.Wait(); err != nil || !exit.OK() {
			t.Errorf("%v, %v: %s", exit, err, c.Stderr())
		}
	}
	launch()
	before := descriptors(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				launch()
			}
		})
	}
	wg.Wait()
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestSealedProgramCannotChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	bytes, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes, 0o755); err != nil {
		t.Fatal(err)
	}
	want := childImage(t)
	image, err := Seal(path, want.Digest())
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := satelliteSpec(t, "exit", "4")
	spec.Image = image
	if exit := mustWait(t, mustStart(t, spec)); exit.Code != 4 {
		t.Errorf("%v", exit)
	}
	if _, err := Seal(path, want.Digest()); err == nil || !strings.Contains(err.Error(), "not the program that was approved") {
		t.Errorf("other bytes under the same digest: %v", err)
	}
	err = image.hold(func(fd int) error {
		seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		if seals&imageSeals != imageSeals {
			t.Errorf("seals %#x", seals)
		}
		if _, e := unix.Write(fd, []byte("x")); e == nil {
			t.Error("the image can be written")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{link, t.TempDir(), "/dev/zero", filepath.Join(t.TempDir(), "absent")} {
		if _, err := Seal(bad, want.Digest()); err == nil {
			t.Errorf("%s was sealed", bad)
		}
	}
	if err := image.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Start(t.Context(), spec, Options{}); !errors.Is(err, errImageClosed) {
		t.Errorf("a closed image: %v", err)
	}
}

func TestBuildReachesItsPathsAndNoOthers(t *testing.T) {
	base := t.TempDir()
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"read", "write", "other"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, dir, "file"), []byte(dir), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, level := range []struct {
		o    Options
		want Level
	}{{Options{}, LevelNoCgroup}, {Options{BestEffort: true, without: []string{layerNamespaces}}, LevelNoNamespaces}, {Options{BestEffort: true, without: []string{layerLandlock}}, LevelNoLandlock}} {
		for _, profile := range []Profile{Build, Test} {
			for _, c := range []struct {
				args []string
				code int
			}{
				{[]string{"cat", base + "/read/file"}, 0},
				{[]string{"cat", base + "/write/file"}, 0},
				{[]string{"cat", base + "/other/file"}, 8},
				{[]string{"cat", "/etc/passwd"}, 8},
				{[]string{"create", base + "/write/new"}, 0},
				{[]string{"create", base + "/write/file"}, 0},
				{[]string{"create", base + "/read/new"}, 8},
				{[]string{"create", base + "/read/file"}, 8},
				{[]string{"create", base + "/new"}, 8},
				{[]string{"create", "/tmp/new"}, 8},
				{[]string{"create", "/dev/null"}, 0},
				{[]string{"copy and run", base + "/write/program"}, map[Profile]int{Build: 8, Test: 4}[profile]},
			} {
				if os.Getuid() == 0 && c.args[0] == "copy and run" {
					_ = os.Remove(base + "/write/program")
				}
				spec := Spec{Args: c.args, Profile: profile, ReadOnly: []string{base + "/read", filepath.Dir(child)}, Writable: []string{base + "/write"}, Path: child, Dir: base + "/write"}
				command, err := Start(t.Context(), spec, level.o)
				if err != nil {
					t.Fatalf("%s: %v", level.want, err)
				}
				exit := mustWait(t, command)
				if exit.Code != c.code {
					t.Errorf("%s, profile %d, %q: %v, want %d: %s", level.want, profile, c.args, exit, c.code, command.Stderr())
				}
				if got := command.Report().Level; got != level.want && got != LevelFull {
					t.Errorf("level %s, want %s", got, level.want)
				}
			}
		}
	}
}

// A call that the filter refuses is never made, ends the program, and has a name.
func TestRefusedCallIsNamed(t *testing.T) {
	spec := satelliteSpec(t, "socket")
	run := func(o Options) (Exit, string) {
		t.Helper()
		c, err := Start(t.Context(), spec, o)
		if err != nil {
			t.Fatal(err)
		}
		exit := mustWait(t, c)
		return exit, c.Stderr()
	}
	exit, _ := run(Options{})
	if exit.Bound != BoundSystemCall || exit.Signal == "" || exit.Killed || listening().Load() && exit.Call != "socket" {
		t.Errorf("%+v", exit)
	}
	if listening().Load() && exit.String() != "SIGKILL (system call filter: socket)" {
		t.Error(exit)
	}
	if exit, said := run(Options{Trace: true}); exit.Code != 2 || !strings.Contains(said, "SIGSYS: bad system call") || !strings.Contains(said, "main.main()") {
		t.Errorf("traced: %+v: %s", exit, said)
	}
	before := listening().Swap(false)
	defer listening().Store(before)
	if exit, _ := run(Options{}); exit.Bound != BoundSystemCall || exit.Signal != "SIGSYS" {
		t.Errorf("without a listener: %+v", exit)
	}
}

// What follows the filter in a launch is exec and nothing else: a refused call
// would wait for a host that waits for the exec.
func TestNothingStandsBetweenFilterAndProgram(t *testing.T) {
	w := workspaceOf(t, t.TempDir(), true)
	for _, s := range []Spec{satelliteSpec(t, "exit", "0"), {Path: child, Profile: Build}, {Path: child, Profile: Test}, {Path: child, Profile: Proc, Workspace: w}} {
		for _, left := range [][]string{nil, {layerNamespaces}, {layerRoot}, {layerLandlock}, {layerNamespaces, layerLandlock}} {
			if s.Profile == Proc && slices.Contains(left, layerNamespaces) {
				continue // it is refused
			}
			s.Dir, s.ReadOnly = "/", nil
			l := &launch{spec: s, options: Options{BestEffort: true, without: left}, files: []uintptr{0, 1, 2}, image: -1, ruleset: -1, listener: -1, inner: -1, tree: -1, listens: true}
			p, err := l.compose()
			if err != nil {
				t.Fatal(err)
			}
			if l.install == 0 || l.exec != l.install+1 {
				t.Errorf("profile %d without %v: the filter is call %d and exec %d of %d", s.Profile, left, l.install, l.exec, len(p.calls))
			}
		}
	}
}

// Two programs must not meet in what they inherit.
func TestNullDeviceIsNotShared(t *testing.T) {
	a, b := asleep(t, Options{}), asleep(t, Options{})
	description := func(c *Command) string { return about(t, c.PID(), "fdinfo/0") }
	if description(a) != description(b) {
		t.Fatal("they differ from the start")
	}
	fd, err := unix.PidfdOpen(a.PID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	theirs, err := unix.PidfdGetfd(fd, 0, 0)
	if err != nil {
		t.Skipf("skipped layer: descriptors: another process's cannot be taken here: %v", err)
	}
	defer unix.Close(theirs)
	if _, err := unix.FcntlInt(uintptr(theirs), unix.F_SETFL, unix.O_APPEND); err != nil {
		t.Fatal(err)
	}
	if description(a) == description(b) {
		t.Error("what is set on the null device of one shows at the other's")
	}
}

func TestUsersInUseAreNotGivenTwice(t *testing.T) {
	i := &ids{base: 1000}
	given := map[int]bool{}
	for {
		outside, inside, ok := i.take()
		if !ok {
			break
		}
		if given[outside] || outside != i.base+inside || inside < 1 || inside >= idSpare {
			t.Fatalf("%d, %d after %d", outside, inside, len(given))
		}
		given[outside] = true
	}
	if len(given) != idSpare-1 {
		t.Errorf("%d users", len(given))
	}
	i.give(1007)
	if outside, _, ok := i.take(); !ok || outside != 1007 {
		t.Errorf("%d, %v", outside, ok)
	}
}

func TestQueuedLaunchHeedsItsContext(t *testing.T) {
	jobs := forks.hold()
	defer forks.release()
	busy, free := make(chan struct{}), make(chan struct{})
	go func() { jobs <- func() { close(busy); <-free } }()
	<-busy
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := Start(ctx, Spec{Path: child, Args: []string{"sleep"}}, Options{})
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(free)
}

// Paths that take more calls than a program has room for are refused, whole.
func TestLaunchOfTooManyCallsIsRefused(t *testing.T) {
	spec := Spec{Path: child, Args: []string{"exit", "0"}, Profile: Build, ReadOnly: []string{filepath.Dir(child)}}
	deep := strings.Repeat("/d", maxDepth-2)
	for i := range maxPaths - 1 {
		spec.ReadOnly = append(spec.ReadOnly, fmt.Sprintf("/tmp/p%d%s", i, deep))
	}
	for depth := 1; depth < maxDirDepth; depth++ { // whichever call it is that has no room
		spec.Dir = strings.Repeat("/e", depth)
		l := &launch{spec: spec, options: Options{BestEffort: true}, files: []uintptr{0, 1, 2}, image: -1, ruleset: -1, listener: -1, inner: -1, enter: -1, listens: true}
		p, err := l.compose()
		var fault *Error
		switch {
		case err != nil && (!errors.As(err, &fault) || !strings.Contains(fault.What, "system calls")):
			t.Errorf("%d: %v", depth, err)
		case err == nil && (p.full || len(p.calls) >= programRoom):
			t.Errorf("%d: a program of %d calls", depth, len(p.calls))
		}
	}
}
