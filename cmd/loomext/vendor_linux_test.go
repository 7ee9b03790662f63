package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// midVendor starts a vendor of a directory and gives it back stopped while what it writes beside is there.
func midVendor(t *testing.T, w world, dir string) (cmd *exec.Cmd, stage string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err := os.RemoveAll(filepath.Join(dir, "vendor")); err != nil {
			t.Fatal(err)
		}
		cmd := w.command("vendor", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for found := []string(nil); ; {
			if found, _ = filepath.Glob(filepath.Join(dir, ".loomext-*")); len(found) == 1 {
				if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
					break // it was done already
				}
				stopped(t, cmd.Process.Pid)
				if written, err := os.ReadDir(found[0]); err == nil && len(written) > 0 { // one that is empty may not be locked yet
					return cmd, found[0]
				}
				_ = cmd.Process.Signal(syscall.SIGCONT)
				break
			}
			if _, err := os.Stat(filepath.Join(dir, "vendor")); err == nil {
				break
			}
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("no vendor was caught while it wrote")
	return nil, ""
}

// stopped waits until a process has stopped, or has ended.
func stopped(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "the stop", func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		_, after, _ := strings.Cut(string(stat), ") ")
		return err != nil || strings.HasPrefix(after, "T") || strings.HasPrefix(after, "Z")
	})
}

// What a killed vendor left goes with the next, and what a living one has stays.
func TestVendorSweepsWhatAKilledOneLeft(t *testing.T) {
	w := newWorld(t, sharedCache)
	dir := filepath.Join(w.ext, "demo")

	living, its := midVendor(t, w, dir)
	w.must("vendor", dir)
	if _, err := os.Stat(its); err != nil {
		t.Errorf("the directory of a living vendor was taken away: %v", err)
	}
	_ = living.Process.Signal(syscall.SIGCONT)
	if err := living.Wait(); err != nil {
		t.Errorf("a vendor that another came between ended with %v", err)
	}
	w.must("vendor", dir, "--check")

	killed, left := midVendor(t, w, dir)
	_ = killed.Process.Kill()
	_ = killed.Wait()
	if _, err := os.Stat(left); err != nil {
		t.Fatal(err)
	}
	w.must("vendor", dir)
	w.must("vendor", dir, "--check")
	if found, _ := filepath.Glob(filepath.Join(dir, ".loomext-*")); len(found) > 0 {
		t.Errorf("%q is there still", found)
	}

	// Where there is nothing to write as well.
	again := filepath.Join(dir, filepath.Base(left))
	if err := os.Mkdir(again, 0o700); err != nil {
		t.Fatal(err)
	}
	w.must("vendor", dir, "--check")
	if _, err := os.Stat(again); err != nil {
		t.Errorf("--check wrote: %v", err)
	}
	w.must("vendor", dir)
	if _, err := os.Stat(again); err == nil {
		t.Errorf("%s is there still", again)
	}
}
