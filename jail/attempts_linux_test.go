//go:build amd64 || arm64

package jail

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
	"golang.org/x/sys/unix"
)

// TestAttempts makes every attempt of the table, as root and as an ordinary user:
// outside, where it must succeed; in the jail of this machine and at every weaker
// level, where none may; and with layers left out, where the table says which of
// the rest hold it, each of them once with nothing beside it.
func TestAttempts(t *testing.T) {
	if testing.Short() {
		t.Skip("some thousand launches")
	}
	for _, c := range crews(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := newTally(t, c)
			trials := j.trials()
			for _, f := range c.make(t, trials) {
				j.add(f)
			}
			j.judge(t, len(trials))
		})
	}
}

// TestNobodyOutlivesTheHost kills the host of a satellite that ignores every
// signal it can.
func TestNobodyOutlivesTheHost(t *testing.T) {
	for _, c := range crews(t) {
		for what, one := range map[string]trial{
			"outside":              {Attempt: outlive, Outside: outsidePlain},
			"full":                 {Attempt: outlive},
			"no namespaces":        {Attempt: outlive, Without: []string{layerNamespaces}},
			"no Landlock":          {Attempt: outlive, Without: []string{layerLandlock}},
			"filter only":          {Attempt: outlive, Without: []string{layerNamespaces, layerLandlock}},
			"without filter":       {Attempt: outlive, Without: []string{layerFilter}},
			"without death signal": {Attempt: outlive, Without: []string{layerDeath}},
		} {
			t.Run(c.name+"/"+what, func(t *testing.T) {
				t.Parallel()
				cmd := c.command(t.Context())
				in, out := pipes(t, cmd)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = cmd.Wait() }()
				defer func() { _ = cmd.Process.Kill() }()
				if err := json.NewEncoder(in).Encode(one); err != nil {
					t.Fatal(err)
				}
				var f finding
				if err := json.NewDecoder(out).Decode(&f); err != nil || f.Broken != "" {
					t.Fatal(err, f)
				}
				pid, err := strconv.Atoi(f.Text)
				if err != nil || !livetest.Running(pid) {
					t.Fatalf("nothing runs: %v, %v", f, err)
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				if f.Trial.Outside == "" && what != "without death signal" {
					livetest.Eventually(t, "its satellite is gone", func() bool { return !livetest.Running(pid) })
					return
				}
				if !livetest.Running(pid) {
					t.Error("it was to outlive its host, and did not: the test shows nothing")
				}
				_ = unix.Kill(pid, unix.SIGKILL)
			})
		}
	}
}

func pipes(t *testing.T, cmd *exec.Cmd) (io.WriteCloser, io.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return in, out
}

// ordinaryUser is a user and group that no account is expected to have.
const ordinaryUser = 54_321

// crew is a user as whom attempts are made.
type crew struct {
	name  string
	root  bool
	base  string // holds the worker, a set-user-ID program and the directories
	probe string
}

// crews are root, where the test has that, and an ordinary user.
func crews(t *testing.T) []*crew {
	t.Helper()
	base, err := os.MkdirTemp("", "attempts-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	probe, worker := filepath.Join(base, "probe"), filepath.Join(base, "worker")
	build := exec.Command("go", "build", "-o", probe, "./testdata/attempts")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the probe: %v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, self, worker, 0o755)
	copyFile(t, probe, filepath.Join(base, "setuid"), 0o755|os.ModeSetuid)
	all := []*crew{{name: "user", base: base, probe: probe}}
	if os.Geteuid() == 0 {
		all = append(all, &crew{name: "root", root: true, base: base, probe: probe})
	}
	return all
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	body, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, body, 0o755)
	}
	if err == nil {
		err = os.Chmod(to, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var directories sync.Mutex

// command is a worker of this crew, in a directory of its own.
func (c *crew) command(ctx context.Context) *exec.Cmd {
	directories.Lock()
	defer directories.Unlock()
	cmd := exec.CommandContext(ctx, filepath.Join(c.base, "worker"))
	dir, err := os.MkdirTemp(c.base, c.name)
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	var body []byte
	if err == nil {
		body, err = os.ReadFile(c.probe)
	}
	own := filepath.Join(dir, "probe")
	if err == nil {
		err = os.WriteFile(own, body, 0o755)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if !c.root && os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}
		for _, path := range []string{dir, own} {
			if err == nil {
				err = os.Chown(path, ordinaryUser, ordinaryUser)
			}
		}
	}
	cmd.Err = err
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	cmd.Env = []string{workerVariable + "=" + dir, "HOME=" + dir, "TMPDIR=" + dir}
	return cmd
}

// crewPatience bounds all trials of a crew, which take some fifteen seconds on two
// processors.
const crewPatience = 5 * time.Minute

// make has a worker make trials.
func (c *crew) make(t *testing.T, trials []trial) []finding {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), crewPatience)
	defer cancel()
	var in, out bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, one := range trials {
		if err := encoder.Encode(one); err != nil {
			t.Fatal(err)
		}
	}
	cmd := c.command(ctx)
	cmd.Stdin, cmd.Stdout = &in, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("the worker: %v", err)
	}
	var all []finding
	for decoder := json.NewDecoder(&out); ; {
		var f finding
		if err := decoder.Decode(&f); err != nil {
			return all
		}
		all = append(all, f)
	}
}

// probeNames are the attempts that the probe knows on this architecture.
func (c *crew) probeNames(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command(c.probe, "list").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool { return name == outlive || name == "who" })
}

// needs are the layers without which a layer cannot stand, as root and otherwise.
func needs(layer string, root bool) []string {
	switch layer {
	case layerNamespaces:
		if root { // the kernel makes no namespaces for a user without a number there
			return []string{layerUser}
		}
	case layerRoot:
		return []string{layerNamespaces, layerSealed}
	case layerTree:
		return []string{layerNamespaces}
	case layerCapabilities: // exec gives root everything again, unless that is forbidden
		return []string{layerPrivileges}
	case layerLandlock, layerFilter:
		return []string{layerPrivileges, layerSealed}
	case layerProcesses:
		return []string{layerTree, layerUser}
	}
	return nil
}

// permanent layers are part of every launch.
var permanent = []string{layerDescriptors, layerOutput, layerEnvironment}

// removable are the layers that can be left out.
func removable() []string {
	var all []string
	for _, s := range steps {
		if !slices.Contains(permanent, s.name) {
			all = append(all, s.name)
		}
	}
	return all
}

// keeping is what to leave out so that these layers and what they need remain.
func keeping(root bool, layers ...string) []string {
	keep := map[string]bool{}
	var add func(layer string)
	add = func(layer string) {
		keep[layer] = true
		for _, other := range needs(layer, root) {
			add(other)
		}
	}
	for _, layer := range layers {
		add(layer)
	}
	if keep[layerFilter] { // of which the process that makes the program's own tells
		keep[layerTree] = true
	}
	return slices.DeleteFunc(removable(), func(layer string) bool { return keep[layer] })
}

// leaving is what goes together with these layers.
func leaving(root bool, layers ...string) []string {
	gone := map[string]bool{}
	for _, layer := range layers {
		gone[layer] = true
	}
	for changed := true; changed; {
		changed = false
		for _, layer := range removable() {
			if !gone[layer] && slices.ContainsFunc(needs(layer, root), func(other string) bool { return gone[other] }) {
				gone[layer], changed = true, true
			}
		}
	}
	if !gone[layerFilter] {
		delete(gone, layerTree)
	}
	return slices.Sorted(maps.Keys(gone))
}
