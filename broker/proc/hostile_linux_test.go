package proc

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
)

// Without namespaces nothing runs, whatever the operator accepts, and the refusal names the layer.
func TestWithoutNamespacesNothingRuns(t *testing.T) {
	needJail(t)
	host := exec.Command("/proc/self/exe")
	host.Env = append(os.Environ(), hostVariable+"="+directory(t), "PROC_TEST_FORBID=1")
	host.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	out, err := host.CombinedOutput()
	if err != nil || strings.Count(string(out), "true proc: the jail of commands cannot be had here: namespaces: ") != 2 || !strings.Contains(string(out), "max_user_namespaces") {
		t.Errorf("%v: %s", err, out)
	}
}

// contextForHost is that of a program that is killed.
var contextForHost = context.Background()

// Every attempt succeeds outside the jail and fails inside.
func TestCommandsCannot(t *testing.T) {
	dir, outside := directory(t), directory(t)
	for _, path := range []string{filepath.Join(outside, "secret"), filepath.Join(dir, "shared")} {
		if err := os.WriteFile(path, []byte("secret"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listen := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
			}
		}()
		return l.Addr().String()
	}
	tcp, abstract := listen("tcp", "127.0.0.1:0"), listen("unix", "@proc-test-"+filepath.Base(dir))
	listen("unix", filepath.Join(dir, "s"))
	t.Setenv("PROC_TEST_CANARY", "c4n4ry")
	host := strconv.Itoa(os.Getpid())
	r := runner(t, dir, writing)
	for _, c := range []struct {
		name   string
		inside []string
		// outside is the same where its words differ, and own says that it is done in a mount namespace of its own.
		outside []string
		own     bool
	}{
		{name: "read a file elsewhere", inside: []string{"read", filepath.Join(outside, "secret")}},
		{name: "read the accounts of the host", inside: []string{"read", "/etc/hostname"}, outside: []string{"read", "/etc/os-release"}},
		{name: "read the host's environment", inside: []string{"read", "/proc/" + host + "/environ"}},
		{name: "read its own copy of it", inside: []string{"environment", "PROC_TEST_CANARY"}},
		{name: "write elsewhere", inside: []string{"write", filepath.Join(outside, "new")}},
		{name: "write among the tools", inside: []string{"write", filepath.Join(tools, "new")}},
		{name: "write a program of the system", inside: []string{"write", "/usr/bin/probe-test"}, outside: []string{"write", filepath.Join(outside, "probe-test")}},
		{name: "connect over TCP", inside: []string{"dial", tcp}},
		{name: "listen", inside: []string{"listen"}},
		{name: "send a packet", inside: []string{"udp"}},
		{name: "connect to a socket without a path", inside: []string{"dial unix", abstract}},
		{name: "connect to a socket in the workspace", inside: []string{"dial unix", "/workspace/s"}, outside: []string{"dial unix", filepath.Join(dir, "s")}},
		{name: "signal the host", inside: []string{"signal", host}},
		{name: "trace a child", inside: []string{"trace"}},
		{name: "make a user namespace", inside: []string{"user namespace"}},
		{name: "mount", inside: []string{"mount", "/tmp"}, own: true},
		{name: "make a file that runs as its owner", inside: []string{"setuid file", "/workspace/setuid"}, outside: []string{"setuid file", filepath.Join(outside, "setuid")}},
	} {
		if result := mustRun(t, r, append([]string{probeName}, c.inside...)...); result.Exit != 9 {
			t.Errorf("%s: exit %d: %s%s", c.name, result.Exit, result.Stdout, result.Stderr)
		}
		args := c.outside
		if args == nil {
			args = c.inside
		}
		control := exec.Command(filepath.Join(tools, probeName), args...)
		if c.own {
			control.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
			}
		}
		if out, err := control.CombinedOutput(); err != nil {
			t.Errorf("%s: the control fails: %v: %s", c.name, err, out)
		}
	}
	_ = os.Remove(filepath.Join(tools, "new"))
	for _, script := range []string{"cat shared", "echo x > new", probeName + " environment PATH", probeName + " write /tmp/new"} {
		if result := mustRun(t, r, "sh", "-c", script); result.Exit != 0 {
			t.Errorf("%q fails as well, so the attempts show nothing: %s", script, result.Stderr)
		}
	}
}

func TestADaemonEndsWithItsCommand(t *testing.T) {
	r := runner(t, directory(t), nil)
	needProc(t, r)
	begun := time.Now()
	result := mustRun(t, r, probeName, "daemon")
	if result.Exit != 0 || time.Since(begun) > 10*time.Second {
		t.Errorf("%d after %v: %s", result.Exit, time.Since(begun), result.Stderr)
	}
	noneLeft(t)
}

func TestACommandThatHangsIsKilledWithAllItStarted(t *testing.T) {
	r := runner(t, directory(t), nil)
	needProc(t, r)
	script := probeName + " daemon; " + probeName + " hang & " + probeName + " hang"
	_, err := r.Run(t.Context(), Request{Argv: []string{"sh", "-c", script}, Timeout: 300 * time.Millisecond})
	refusedAs(t, err, Deadline, "longer than 300ms")
	noneLeft(t)

	limited, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = r.Run(limited, Request{Argv: []string{"sh", "-c", script}, Timeout: time.Hour})
	refusedAs(t, err, Deadline, "of the invocation")
	noneLeft(t)

	called, cancel := context.WithCancel(t.Context())
	go func() {
		for len(probes(t)) < 3 {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	_, err = r.Run(called, Request{Argv: []string{"sh", "-c", script}})
	refusedAs(t, err, Cancelled, "killed")
	noneLeft(t)
	if _, err = r.Run(called, Request{Argv: []string{"true"}}); err == nil {
		t.Error("a command starts whose context has ended")
	}
}

func TestForksAreBounded(t *testing.T) {
	r := runner(t, directory(t), nil)
	needProc(t, r)
	limits := string(mustRun(t, r, "cat", "/proc/self/limits").Stdout)
	if !regexp.MustCompile(`Max processes +1024 +1024 `).MatchString(limits) {
		t.Errorf("its limits are\n%s", limits)
	}
	// A shell, for a process of Go's has several threads and it is they that are counted.
	result := mustRun(t, r, "sh", "-c", "i=0; while [ $i -lt 2000 ]; do sleep 600 & i=$((i+1)); done; echo all")
	if result.Exit == 0 || strings.Contains(string(result.Stdout), "all") || !strings.Contains(string(result.Stderr), "fork") {
		t.Errorf("exit %d: %s%.500s", result.Exit, result.Stdout, result.Stderr)
	}
}

func TestTheSuddenDeathOfTheHostEndsACommand(t *testing.T) {
	needProc(t, runner(t, directory(t), nil))
	dir := directory(t)
	host := exec.Command("/proc/self/exe")
	host.Env = append(os.Environ(), hostVariable+"="+dir, "PROC_TEST_PROBE="+filepath.Join(tools, probeName))
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer host.Wait()
	defer host.Process.Kill()
	livetest.Eventually(t, "the command runs", func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil && len(probes(t)) >= 2 })
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	noneLeft(t)
	// What stood in place of .git is still there; the next command takes it away.
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		t.Errorf("nothing stood in its place: %v", err)
	}
	mustRun(t, runner(t, dir, func(o *Options) { o.Terms.Write, o.Protected = true, []string{".git"} }), "true")
	if _, err := os.Lstat(filepath.Join(dir, ".git")); !os.IsNotExist(err) {
		t.Errorf("what a killed host left stays: %v", err)
	}
}
