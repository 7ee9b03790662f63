package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// The test binary starts itself in these roles; see TestMain.
const (
	playRole   = "LOOMEXT_BENCH_PLAY"
	playParent = "parent" // starts two children, one after the other
	playChild  = "child"
	playBroken = "broken" // starts a child and fails
	playPinned = "pinned" // says how many cores it may use
	playIdle   = "idle"   // waits for the end of its standard input
	playHeir   = "heir"   // says which of descriptors 2 and 3 it still has once it has closed what it inherited
)

func TestMain(m *testing.M) {
	role := os.Getenv(playRole)
	if len(os.Args) > 2 && os.Args[2] == roleOrigin { // as startOrigin starts the program it is in
		os.Exit(serveOrigin(context.Background()))
	}
	switch role {
	case "":
		os.Exit(m.Run())
	case playPinned:
		os.Stdout.WriteString(strconv.Itoa(runtime.GOMAXPROCS(0)) + "\n")
	case playIdle:
		_, _ = io.Copy(io.Discard, os.Stdin)
	case playHeir:
		if err := closeInherited(); err != nil {
			os.Exit(9)
		}
		for _, name := range []string{"2", "3"} {
			if _, err := os.Stat("/proc/self/fd/" + name); err == nil {
				os.Stdout.WriteString(name + "\n")
			}
		}
	case playParent, playBroken:
		for _, name := range []string{"first", "second"} {
			child := exec.Command(os.Args[0], name)
			child.Env = []string{playRole + "=" + playChild}
			if err := child.Run(); err != nil {
				os.Exit(9)
			}
		}
	}
	if role == playBroken {
		os.Stderr.WriteString("broken on purpose\n")
		os.Exit(3)
	}
}

func play(role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "the root")
	cmd.Env = []string{playRole + "=" + role}
	return cmd
}

func TestChildrenAreAllSeen(t *testing.T) {
	started, err := children(play(playParent))
	if err != nil {
		t.Fatal(err)
	}
	if len(started) != 2 || len(started[0]) != 2 || started[0][1] != "first" || started[1][1] != "second" {
		t.Errorf("started %q, want the first and the second child", started)
	}
	if started, err = children(play(playChild)); err != nil || len(started) != 0 {
		t.Errorf("a process without children started %q, %v", started, err)
	}
}

func TestTracedFailureIsAnError(t *testing.T) {
	_, err := children(play(playBroken))
	if err == nil || !strings.Contains(err.Error(), "status 3") || !strings.Contains(err.Error(), "broken on purpose") {
		t.Errorf("%v", err)
	}
}

func TestOnlyQuestionsToTheGoCommandPass(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want bool
	}{
		{[]string{"/usr/local/go/bin/go", "version"}, true},
		{[]string{"go", "env", "-json"}, true},
		{[]string{"/usr/local/go/bin/go", "build"}, false},
		{[]string{"go"}, false},
		{[]string{"/opt/loomext", "version"}, false},
		{[]string{"?"}, false},
	} {
		if got := isQuestion(c.argv); got != c.want {
			t.Errorf("%q is a question: %t", c.argv, got)
		}
	}
}

func TestPinnedChildHasItsCores(t *testing.T) {
	t.Setenv(playRole, playPinned)
	for cores, want := range map[int]int{oneCore: 1, twoCores: min(2, runtime.NumCPU()), 1 << 20: runtime.NumCPU()} {
		out, err := pinned(t.Context(), cores, os.Args[0], "a child")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(out)); got != strconv.Itoa(want) {
			t.Errorf("pinned to %d cores it has %s, want %d", cores, got, want)
		}
	}
}
