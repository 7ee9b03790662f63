package build

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loomext/loomext/jail"
)

// inNamespaceWithoutOthers has a command run where user namespaces are forbidden, as root of a namespace that maps this
// user alone.
func inNamespaceWithoutOthers(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Environ(), withoutNamespaces+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

func TestWithoutNamespacesTheBytesAreTheSameAndTheReportSaysSo(t *testing.T) {
	files := weather(tree{"tool/unique.go": unique(t)})
	root, want := mustRoot(t, files)
	here, err := (&Builder{Cache: shared}).Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(publicDir(t), "cache")
	refused := ordered(t, order{Cache: cache, Tree: files})
	inNamespaceWithoutOthers(refused)
	said, err := refused.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("skipped layer: namespaces: %v", err)
	}
	if err == nil || !strings.Contains(string(said), "jail: "+layerNamespaces) {
		t.Errorf("the demand is every wall, and it built: %v, %s", err, said)
	}
	noStages(t, cache)

	accepted := ordered(t, order{Cache: cache, Tree: files, BestEffort: true})
	inNamespaceWithoutOthers(accepted)
	there := artifactOf(t, accepted)
	if there.Digest != here.Digest {
		t.Errorf("here %s, there %s", here.Digest, there.Digest)
	}
	if there.Report.Level != jail.LevelNoNamespaces && there.Report.Level != jail.LevelFilterOnly {
		t.Errorf("the level was %q", there.Report.Level)
	}
	noStages(t, cache)

	// Who accepts such a level finds the artifact, and who does not has it built behind every wall.
	for _, tt := range []struct {
		options jail.Options
		cached  bool
	}{{jail.Options{BestEffort: true}, true}, {jail.Options{}, false}, {jail.Options{}, true}} {
		a, err := (&Builder{Cache: cache, Jail: tt.options}).Build(context.Background(), root, want)
		if err != nil || a.Cached != tt.cached || a.Digest != here.Digest {
			t.Errorf("with %+v: built %+v, %v", tt.options, a, err)
		}
	}
}

func TestWithoutNamespacesFilesAreStillOutOfReach(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.v", "-test.run=^TestACompilerRun")
	inNamespaceWithoutOthers(cmd)
	said, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("skipped layer: namespaces: %v", err)
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	if strings.Contains(string(said), "skipped layer: "+layerTree+" or "+layerLandlock) {
		t.Skip("skipped layer: landlock: this kernel has none")
	}
	// What the walls that stand refuse was refused, and the others were told apart.
	for _, line := range []string{"--- PASS: TestACompilerRunReachesNothingItWasNotGiven/reads_a_file_of_the_system", "--- PASS: TestACompilerRunReachesNothingItWasNotGiven/writes_an_entry_of_the_trusted_cache", "--- SKIP: TestACompilerRunReachesNothingItWasNotGiven/sees_the_processes_of_the_host ", "--- PASS: TestACompilerRunReachesWhatItWasGiven"} {
		if !strings.Contains(string(said), line) {
			t.Errorf("it does not say %q:\n%s", line, said)
		}
	}
}
