package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// doubling is a struct of 2^40 fields in forty lines: the compiler never comes to an end.
func doubling() string {
	var b strings.Builder
	b.WriteString("package tool\n\ntype t0 struct{ a, b int }\n")
	for i := range 40 {
		b.WriteString("type t" + strconv.Itoa(i+1) + " struct{ a, b t" + strconv.Itoa(i) + " }\n")
	}
	b.WriteString("\nvar bomb t40\n")
	return b.String()
}

// growing is a string constant of 2^30 bytes in thirty lines.
func growing() string {
	var b strings.Builder
	b.WriteString("package tool\n\nconst s0 = \"x\"\n")
	for i := range 30 {
		b.WriteString("const s" + strconv.Itoa(i+1) + " = s" + strconv.Itoa(i) + " + s" + strconv.Itoa(i) + "\n")
	}
	b.WriteString("\nvar Bomb = s30\n")
	return b.String()
}

func TestCompileBombsEndAtTheirBound(t *testing.T) {
	warm(t)
	for _, tt := range []struct {
		name   string
		source string
		bounds bounds
		want   string
	}{
		{"processor time", doubling(), bounds{cpu: 2 * time.Second}, "compiler was ended at its bound of 2s of processor time; "},
		{"wall time", doubling(), bounds{wall: 2 * time.Second}, "build took longer than its bound of 2s and was ended; "},
		{"memory", growing(), bounds{data: 384 << 20}, " its bound of 384 MiB of memory"},
		{"file size", jsonTool, bounds{file: 64 << 10}, "compiler wrote more than its bound of 0 MiB into one file; "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, want := mustRoot(t, weather(tree{"tool/bomb.go": strings.Replace(tt.source, jsonTool, unique(t), 1)}))
			_, err := (&Builder{Cache: shared, bounds: tt.bounds}).Build(context.Background(), root, want)
			if err == nil || !strings.HasPrefix(err.Error(), "compile: the ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant …%s…", err, tt.want)
			}
			if pids := processesOf(t, shared); len(pids) > 0 {
				t.Errorf("processes %v still run", pids)
			}
			noStages(t, shared)
		})
	}
}

func TestEndedContextEndsTheBuildAndLeavesNothing(t *testing.T) {
	warm(t)
	root, want := mustRoot(t, weather(tree{"tool/bomb.go": doubling()}))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() {
		_, err := (&Builder{Cache: shared}).Build(ctx, root, want)
		done <- err
	}()
	// Both the go command and its compiler have to run before there is something to end.
	until(t, "the compiler runs", func() bool { return len(processesOf(t, shared)) >= 2 })
	reason := errors.New("the operator pressed a key")
	cancel(reason)
	if err := <-done; !errors.Is(err, reason) {
		t.Errorf("the build ended with %v", err)
	}
	if pids := processesOf(t, shared); len(pids) > 0 {
		t.Errorf("processes %v still run", pids)
	}
	noStages(t, shared)

	ended, stop := context.WithCancel(context.Background())
	stop()
	if _, err := (&Builder{Cache: shared}).Build(ended, root, want); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that had ended gives %v", err)
	}
	noStages(t, shared)
}

func TestWaitingForAnotherBuildEndsWithTheContext(t *testing.T) {
	warm(t)
	root, want := mustRoot(t, weather(tree{"tool/unique.go": unique(t)}))
	toolchain, err := Probe(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := openCache(shared)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := c.lock(context.Background(), "artifact", artifactKey(root.Digest(), toolchain))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := (&Builder{Cache: shared}).Build(ctx, root, want); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// warm fills the shared Go cache, so that what follows times and bounds the extension's own build.
func warm(t testing.TB) {
	t.Helper()
	root, want := mustRoot(t, weather(nil))
	if _, err := (&Builder{Cache: shared}).Build(context.Background(), root, want); err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition that comes true soon or never.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// processesOf lists the processes whose environment names a cache directory: the go command and what it started.
func processesOf(t testing.TB, cache string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("skipped layer: process: no /proc to look for leftovers in")
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && bytes.Contains(env, []byte("TMPDIR="+cache+"/")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
