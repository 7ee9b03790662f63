//go:build amd64 || arm64

package jail

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loomext/loomext/internal/livetest"
)

func TestStormOfCommandsLeavesNoTrace(t *testing.T) {
	needNamespaces(t)
	w := workspaceOf(t, t.TempDir(), true)
	storm := func() {
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				for range 5 {
					c, err := Start(t.Context(), shellSpec(w, "true & true"), Options{})
					if err != nil {
						t.Error(err)
						return
					}
					if exit, err := c.Wait(); err != nil || !exit.OK() {
						t.Errorf("%v, %v: %s", exit, err, c.Stderr())
					}
				}
			})
		}
		wg.Wait()
	}
	storm() // the user namespaces that stay are made
	before, used := descriptors(t), len(hostIDs().used)
	storm()
	if after := descriptors(t); after > before+maxTenants {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if now := len(hostIDs().used); now > used+maxTenants {
		t.Errorf("%d users are taken, %d before", now, used)
	}
}

// The host's sudden death ends a command whole.
func TestHostsSuddenDeathEndsACommand(t *testing.T) {
	needNamespaces(t)
	host := exec.Command("/proc/self/exe", t.TempDir())
	marker := "JAIL_TEST_COMMAND=" + filepath.Base(t.TempDir()) + t.Name()
	host.Env = append(os.Environ(), hostVariable+"=wait for a command's death", marker)
	out := newPrinted()
	host.Stdout = out
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer host.Wait()
	defer host.Process.Kill()
	out.line(t)
	livetest.Eventually(t, "the family is there", func() bool { return len(sleepers(t, marker)) == 2 })
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	livetest.Eventually(t, "the family ends", func() bool { return len(sleepers(t, marker)) == 0 })
}

// sleepers are the processes that have a word among their arguments.
func sleepers(t *testing.T, word string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		text, err := os.ReadFile(path)
		return err != nil || !regexp.MustCompile(`^sleep\x00600\x00`).Match(text) || !strings.Contains(environOf(path), word)
	})
}

func environOf(cmdline string) string {
	text, _ := os.ReadFile(strings.TrimSuffix(cmdline, "cmdline") + "environ")
	return string(text)
}

// actAsCommandsHost is the host of [TestHostsSuddenDeathEndsACommand].
func actAsCommandsHost(dir string) int {
	f, err := os.Open(dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	spec := shellSpec(&Workspace{Dir: f}, "setsid sleep 600 & sleep 600 & echo ready; wait")
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "JAIL_TEST_COMMAND=") {
			spec.Env = append(spec.Env, v)
		}
	}
	spec.Stdout = io.Writer(os.Stdout)
	c, err := Start(context.Background(), spec, Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	<-c.Done()
	return 0
}

func BenchmarkCommand(b *testing.B) {
	w := workspaceOf(b, b.TempDir(), false)
	spec := Spec{Path: "/bin/true", Profile: Proc, Workspace: w}
	for b.Loop() {
		c, err := Start(b.Context(), spec, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := c.Wait(); err != nil || !exit.OK() {
			b.Fatal(exit, err)
		}
	}
}
