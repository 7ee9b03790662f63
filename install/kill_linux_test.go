package install_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/install"
)

// installer is this test binary as a process that installs one source.
func installer(t *testing.T, home, src string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), installVariable+"="+home+":"+src, cacheVariable+"="+cacheDir)
	return cmd
}

// TestAKillAtAnyPointLeavesAWholeInstall kills installs with SIGKILL at points spread over their
// whole length. After each the store has the install before or the new one, whole, and the
// next install works and sweeps what the dead one left.
func TestAKillAtAnyPointLeavesAWholeInstall(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	s := install.Open(home)
	sources := map[string]string{"one": extension(t, "word", "one"), "two": extension(t, "word", "two")}
	for _, src := range sources { // both artifacts are kept now, so an install is short and its store part long
		mustInstall(t, s, options(src))
	}
	began := time.Now()
	cmd := installer(t, home, sources["one"])
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole := time.Since(began)

	const points = 40
	killed, names := 0, []string{"two", "one"}
	for i := range points {
		cmd := installer(t, home, sources[names[i%2]])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(whole * time.Duration(i) / points) // not a wait for anything: it chooses the point of the kill
		_ = cmd.Process.Kill()
		var exit *exec.ExitError
		if err := cmd.Wait(); errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
			killed++
		}
		installed, err := s.Load(t.Context(), "word")
		if err != nil {
			t.Fatalf("after a kill at %d/%d: %v", i, points, err)
		}
		installed.Close()
	}
	if killed == 0 {
		t.Error("no install was killed before it was done")
	}
	mustInstall(t, s, options(extension(t, "word", "three")))
	if left := remains(t, home); len(left) > 0 {
		t.Errorf("left in staging after the next install: %v", left)
	}
	if have := generations(t, home); len(have) != 1 {
		t.Errorf("generations %v", have)
	}
}

// TestAFirstInstallThatIsKilledInstallsNothing kills first installs while they compile. No
// process of the build outlives them for long.
func TestAFirstInstallThatIsKilledInstallsNothing(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	s := install.Open(home)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		cmd := installer(t, home, extension(t, "word", fmt.Sprint(t.Name(), signal)))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "a build below "+cacheDir, func() bool { return len(processes(t, cacheDir)) > 0 })
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("%v: the install ended well", signal)
		}
		await(t, "the end of the build", func() bool { return len(processes(t, cacheDir)) == 0 })
		if _, err := s.Load(t.Context(), "word"); !errors.Is(err, install.ErrNotInstalled) {
			t.Errorf("%v: %v", signal, err)
		}
		if signal != syscall.SIGKILL {
			if left := remains(t, home); len(left) > 0 {
				t.Errorf("%v: left in staging: %v", signal, left)
			}
			if left, _ := os.ReadDir(filepath.Join(cacheDir, "staging")); len(left) > 0 {
				t.Errorf("%v: left in the cache's staging: %v", signal, left)
			}
		}
	}
}

// await polls a condition, and fails the test if it does not come true in a minute.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come in a minute", what)
		}
	}
}

// processes are the command lines of processes that name a directory, but for this test's own.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(line), dir) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// TestAStoreOnAFullDisk installs into a file system of a few pages.
func TestAStoreOnAFullDisk(t *testing.T) {
	home := t.TempDir()
	tmpfs(t, home, "size=256k")
	s := install.Open(home)
	_, err := s.Install(t.Context(), options(extension(t, "word", "one")))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("on a full disk: %v", err)
	}
	var layered *install.Error
	if !errors.As(err, &layered) || layered.Layer != install.LayerRecord || !strings.Contains(err.Error(), "space") {
		t.Errorf("the error does not help: %v", err)
	}
	if left := append(remains(t, home), generations(t, home)...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestAReadOnlyStore reads and calls from a store that nobody can write, and refuses to install
// or remove there.
func TestAReadOnlyStore(t *testing.T) {
	home := t.TempDir()
	tmpfs(t, home, "size=64m")
	s := install.Open(home)
	mustInstall(t, s, options(extension(t, "word", "one")))
	if err := syscall.Mount("", home, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if got := say(t, load(t, s, "word")); got != "one" {
		t.Errorf("said %q", got)
	}
	if v := verify(t, s, true); !v.OK {
		t.Errorf("verify: %v", failed(v))
	}
	_, err := s.Install(t.Context(), options(extension(t, "word", "two")))
	if !errors.Is(err, syscall.EROFS) {
		t.Errorf("installing: %v", err)
	}
	if err := s.Remove(t.Context(), "word"); !errors.Is(err, syscall.EROFS) {
		t.Errorf("removing: %v", err)
	}
	if got := say(t, load(t, s, "word")); got != "one" {
		t.Errorf("afterwards it says %q", got)
	}
}

// tmpfs mounts a small file system for one test.
func tmpfs(t *testing.T, dir, data string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, data); err != nil {
		t.Skipf("skipped layer: mount: a tmpfs needs root with CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}
