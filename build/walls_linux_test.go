package build

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/loomext/loomext/jail"
)

// attempt is one thing a compiler that was taken over may try.
type attempt struct {
	name   string
	orders [][]string
	// walls are the layers of which one is enough to refuse it.
	walls []string
}

const (
	layerLandlock   = "landlock"
	layerNamespaces = "namespaces"
)

// Each attempt is made by the same program twice: as a process of the test, where it must succeed, and behind the very
// walls of a build, where it must not.
func TestACompilerRunReachesNothingItWasNotGiven(t *testing.T) {
	home, err := os.MkdirTemp(homeDirectory(t), ".loomext-secret")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	secret := filepath.Join(home, "key")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	pid := strconv.Itoa(os.Getpid())

	h := newHostileGo(t)
	files := []string{layerTree, layerLandlock}
	apart := []string{layerNamespaces}
	c, tr := smallTrusted(t)
	entry := filepath.Join(tr.dir, entriesDir, "00bb-d")
	beside := filepath.Join(c.dir, "beside")
	if err := os.WriteFile(beside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, a := range []attempt{
		{"reads a file of the system", [][]string{{"read", "/etc/passwd"}}, files},
		{"reads a file in the home directory", [][]string{{"read", secret}}, files},
		{"lists the home directory", [][]string{{"list", home}}, files},
		{"lists the directory of all build caches", [][]string{{"list", c.dir}}, files},
		{"reads what is kept beside the build", [][]string{{"read", beside}}, files},
		{"writes a file beside the build", [][]string{{"create", beside}}, files},
		{"writes into the home directory", [][]string{{"create", secret}}, files},
		{"adds an entry to the trusted cache", [][]string{{"overwrite", filepath.Join(tr.dir, entriesDir, "7fff-d")}}, files},
		{"writes an entry of the trusted cache", [][]string{{"overwrite", entry}}, files},
		{"removes an entry of the trusted cache", [][]string{{"remove", filepath.Join(tr.dir, entriesDir, "ff00-d")}}, files},
		{"writes the vendored sources", [][]string{{"overwrite", filepath.Join(tr.vendor(), "modules.txt")}}, files},
		{"writes into GOROOT", [][]string{{"create", filepath.Join(h.toolchain.GoRoot, "bin", "evil")}}, files},
		{"writes the root it builds", [][]string{{"create", "go.mod"}}, files},
		{"connects to the network", [][]string{{"connect", listener.Addr().String()}}, apart},
		{"sees the processes of the host", [][]string{{"signal", pid}}, apart},
		{"sees the processes of the host in /proc", [][]string{{"list", "/proc/" + pid + "/task"}}, files},
	} {
		t.Run(a.name, func(t *testing.T) {
			h.order(t, append(a.orders, []string{"exit", "1"})...)
			s, err := c.stage(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer s.remove()
			root, _ := mustRoot(t, weather(nil))
			if err := root.WriteSharing(s.path(rootDir), tr.vendor()); err != nil {
				t.Fatal(err)
			}
			var report jail.Report
			b := &Builder{Jail: jail.Options{BestEffort: true}, Jailed: func(r jail.Report) { report = r }}
			env := environment(h.toolchain, tr.dir, s.path(workDir, tmpDir))
			_, err = b.run(context.Background(), h.toolchain, bounds{}.filled(), s, env, tr.dir)
			var inside *Error
			if !errors.As(err, &inside) {
				t.Fatal(err)
			}
			if !anyStands(report, a.walls) {
				t.Skipf("skipped layer: %s: %+v", strings.Join(a.walls, " or "), report)
			}
			if strings.Contains(inside.Stderr, ": reached") {
				t.Errorf("behind the walls of a build: %s", inside.Stderr)
			}
			if !strings.Contains(inside.Stderr, ": refused") && inside.Err.Error() == "exit status 1" {
				t.Errorf("it was not tried: %s (%v)", inside.Stderr, inside)
			}
			if _, err := openFilled(tr.dir); err != nil {
				t.Errorf("the trusted cache afterwards: %v", err)
			}
			outside := exec.Command(h.toolchain.Go, b.spec(h.toolchain, bounds{}.filled(), s, env, tr.dir).Args...)
			outside.Dir = s.path(rootDir)
			if said, _ := outside.CombinedOutput(); !strings.Contains(string(said), ": reached") {
				t.Errorf("without walls it does not succeed either: %s", said)
			}
			mend(t, tr)
		})
	}
}

// What a build needs is reached, so that a refusal above is not one of everything.
func TestACompilerRunReachesWhatItWasGiven(t *testing.T) {
	h := newHostileGo(t)
	c, tr := smallTrusted(t)
	h.order(t, [][]string{
		{"read", filepath.Join(tr.dir, "00", "00bb-d")}, {"read", "vendor/modules.txt"}, {"read", "go.mod"}, {"list", h.toolchain.GoRoot},
		{"read", "/dev/null"}, {"create", "$OUT"}, {"directory", "$OUT.d/a"}, {"create", "$OUT.d/a/b"}, {"remove", "$OUT.d/a/b"}, {"exit", "0"},
	}...)
	s, err := c.stage(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.remove()
	root, _ := mustRoot(t, weather(nil))
	if err := root.WriteSharing(s.path(rootDir), tr.vendor()); err != nil {
		t.Fatal(err)
	}
	spec := (&Builder{}).spec(h.toolchain, bounds{}.filled(), s, environment(h.toolchain, tr.dir, s.path(workDir, tmpDir)), tr.dir)
	command, err := jail.Start(context.Background(), spec, jail.Options{BestEffort: true})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := command.Wait(); err != nil || !exit.OK() || strings.Count(command.Stderr(), ": reached") != 9 {
		t.Errorf("ended with %v, %v:\n%s", exit, err, command.Stderr())
	}
}

func anyStands(r jail.Report, layers []string) bool {
	for _, l := range layers {
		if stands(r, l) {
			return true
		}
	}
	return false
}

// mend makes a trusted cache what it was before an attempt outside the walls.
func mend(t testing.TB, tr *trusted) {
	t.Helper()
	for _, name := range []string{"00aa-a", "00bb-d", "ff00-d"} {
		path := filepath.Join(tr.dir, entriesDir, name)
		if err := errors.Join(os.Chmod(filepath.Dir(path), 0o700), os.RemoveAll(path), os.WriteFile(path, []byte("entry "+name), 0o444), os.Chtimes(path, untouched, untouched)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := fillRoot(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := root.File("vendor/modules.txt")
	modules := filepath.Join(tr.vendor(), "modules.txt")
	if err := errors.Join(os.Chmod(modules, 0o644), os.WriteFile(modules, text, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := tr.verify(); err != nil {
		t.Fatal(err)
	}
}

func homeDirectory(t testing.TB) string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("skipped layer: home directory: this user has none")
	}
	return home
}
