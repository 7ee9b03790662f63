package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The test binary starts itself in these roles; see TestMain.
const (
	playRole   = "LOOMEXT_BENCH_PLAY"
	playParent = "parent" // starts two children, one after the other
	playChild  = "child"
	playBroken = "broken" // starts a child and fails
	playIdle   = "idle"   // waits for the end of its standard input
	playHeir   = "heir"   // says which of descriptors 2 and 3 it still has once it has closed what it inherited
)

func TestMain(m *testing.M) {
	role := os.Getenv(playRole)
	switch role {
	case "":
		os.Exit(m.Run())
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

func TestPinnedChildHasOneCore(t *testing.T) {
	out, err := pinned(t.Context(), "/bin/sh", "-c", "while read -r key value; do case $key in Cpus_allowed_list:) echo $value;; esac; done </proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if list := strings.TrimSpace(string(out)); list == "" || strings.ContainsAny(list, ",-") {
		t.Errorf("it may run on %q", list)
	}
}
