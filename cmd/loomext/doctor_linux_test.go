package main

import (
	"bytes"
	"encoding/json"
	"github.com/loomext/loomext/internal/livetest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// forbidding makes a command run where no further user namespace can be made: in one that has
// the limit 0.
func (w world) forbidding(args ...string) *exec.Cmd {
	cmd := exec.Command("sh", append([]string{"-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec loomext "$@"`, "sh"}, args...)...)
	cmd.Env = w.env
	one := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: one(os.Geteuid()), GidMappings: one(os.Getegid())}
	return cmd
}

func TestDoctorWhereUserNamespacesAreForbidden(t *testing.T) {
	w := newWorld(t, sharedCache)
	var stdout, stderr bytes.Buffer
	examineWith := func(args ...string) (doctorResult, int) {
		t.Helper()
		stdout.Reset()
		stderr.Reset()
		cmd := w.forbidding(append([]string{"doctor", "--json"}, args...)...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if exitCode(err) < 0 || strings.Contains(stderr.String(), "/proc/sys/user") { // no namespace, or the shell may not write the limit
			t.Skipf("skipped layer: namespaces: no user namespace to forbid them in: %v %s", err, stderr.String())
		}
		var r doctorResult
		if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
			t.Fatal(err, stdout.String())
		}
		return r, exitCode(err)
	}
	of := func(r doctorResult, name string) doctorCheck {
		at := slices.IndexFunc(r.Checks, func(c doctorCheck) bool { return c.Name == name })
		if at < 0 {
			t.Fatalf("no check %s", name)
		}
		return r.Checks[at]
	}

	r, status := examineWith()
	if status != 18 || r.OK || r.Jail.Level.Default() {
		t.Errorf("status %d, ok %v, level %q; want a refusal", status, r.OK, r.Jail.Level)
	}
	at := slices.IndexFunc(r.Jail.Layers, func(l doctorLayer) bool { return l.Name == "namespaces" })
	if l := r.Jail.Layers[at]; l.State != "skipped" || l.Errno != "ENOSPC" || !strings.Contains(l.Remedy, "user.max_user_namespaces") {
		t.Errorf("%+v", l)
	}
	if c := of(r, checkJail); !strings.Contains(c.Remedy, "user.max_user_namespaces") || !strings.Contains(c.Remedy, "--best-effort") {
		t.Errorf("%+v", c)
	}
	if c := of(r, checkBuild); c.State != "skipped" {
		t.Errorf("%+v", c)
	}
	if !strings.HasPrefix(stderr.String(), "jail: only level "+string(r.Jail.Level)) {
		t.Errorf("stderr %q", stderr.String())
	}

	// An install and a call are judged, and made, at the weaker level.
	r, status = examineWith("--best-effort")
	if status != 0 || !r.OK || !r.Complete || r.Build == nil || r.Build.Level != string(r.Jail.Level) || r.RoundTrip == nil {
		t.Errorf("status %d: %s", status, stdout.String())
	}
	if !strings.Contains(stderr.String(), "jail: level "+string(r.Jail.Level)+": not enforced: namespaces") {
		t.Errorf("stderr %q does not say at which level", stderr.String())
	}
}

func TestSignalEndsADoctor(t *testing.T) {
	cache := t.TempDir() // a cold one, so that there is a build to interrupt
	t.Cleanup(func() { livetest.RemoveAll(cache) })
	w := newWorld(t, cache)
	var stdout, stderr watched
	cmd := w.command("doctor")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a compiler", func() bool {
		return slices.ContainsFunc(others(cache, cmd.Process.Pid), func(p string) bool { return strings.Contains(p, "/compile") })
	})
	_ = cmd.Process.Signal(syscall.SIGINT)
	if got := exitCode(cmd.Wait()); got != 130 {
		t.Errorf("status %d, want 130", got)
	}
	if stdout.String() != "" || !strings.HasPrefix(stderr.String(), "loomext: stopped by SIGINT") {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
	if left := processesOf(cache); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	assertEmpty(t, cache+"/loomext/staging")
	if _, err := os.Stat(w.home); err == nil {
		t.Error("a store was made")
	}
}

func TestDoctorIsInColorOnATerminal(t *testing.T) {
	w := newWorld(t, sharedCache)
	term := newTerminal(t)
	cmd := w.command("doctor", "--no-build", "--best-effort")
	cmd.Stdout, cmd.Stderr = term.process, term.process
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	term.close()
	seen := term.seen.String()
	if !strings.Contains(seen, colorDone+"ok"+colorOff) || !strings.Contains(seen, colorDone+"enforced"+colorOff) {
		t.Errorf("%q", seen)
	}
	out, err := w.command("doctor", "--no-build", "--best-effort").Output()
	if err != nil || bytes.ContainsRune(out, '\x1b') {
		t.Errorf("%v, %q", err, out)
	}
}
