package main

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// idle starts a process that does nothing until end is called.
func idle(t *testing.T) (child *exec.Cmd, end func()) {
	t.Helper()
	child = play(playIdle)
	stay, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = stay.Close()
		_ = child.Wait()
	}
	t.Cleanup(end)
	return child, end
}

func TestWatchedAreSeenToEnd(t *testing.T) {
	first, end := idle(t)
	second, _ := idle(t)
	w, err := watch([]int{first.Process.Pid, second.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if n := w.alive(); n != 2 {
		t.Errorf("%d of two are alive", n)
	}
	end()
	if n := w.alive(); n != 1 {
		t.Errorf("%d are alive, want the second", n)
	}
	gone, err := watch([]int{first.Process.Pid})
	if err != nil || len(gone) != 0 {
		t.Errorf("a process that has ended is watched: %v, %v", gone, err)
	}
}

func TestSleepingProcessIsQuiet(t *testing.T) {
	child, _ := idle(t)
	for end := time.Now().Add(sleepWait); ; {
		before, _, err := threads(child.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(sleepPause)
		after, quiet, err := threads(child.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if quiet && before == after && after > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a process that waits for its input is not seen to sleep")
		}
	}
	if _, quiet, err := threads(os.Getpid()); err != nil || quiet {
		t.Errorf("this process, which runs, is quiet: %t, %v", quiet, err)
	}
}

func TestInheritedDescriptorsAreClosed(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	child := play(playHeir)
	child.ExtraFiles = []*os.File{null}
	out, err := child.Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != "2\n" {
		t.Errorf("of 2 and 3 it has %q", out)
	}
}
