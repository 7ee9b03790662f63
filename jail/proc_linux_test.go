//go:build amd64 || arm64

package jail

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// workspaceOf opens a directory as a workspace.
func workspaceOf(t testing.TB, dir string, writable bool, guarded ...string) *Workspace {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &Workspace{Dir: f, Writable: writable, Guarded: guarded}
}

// shellSpec runs a script of the system's shell over a workspace.
func shellSpec(w *Workspace, script string) Spec {
	return Spec{Path: "/bin/sh", Args: []string{"-c", script}, Profile: Proc, Workspace: w, Env: []string{"PATH=/usr/bin:/bin"}}
}

// ran is what a command wrote and how it ended.
func ran(t *testing.T, s Spec, o Options) (Exit, string) {
	t.Helper()
	var mu sync.Mutex
	var said bytes.Buffer
	both := writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return said.Write(p)
	})
	s.Stdout, s.Stderr = both, both
	c, err := Start(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	exit := mustWait(t, c)
	return exit, said.String()
}

// needProcOfACommand skips where the kernel lets nobody mount a /proc, as in a container with parts of its own covered.
func needProcOfACommand(t *testing.T) {
	t.Helper()
	needNamespaces(t)
	if exit, _ := ran(t, shellSpec(workspaceOf(t, t.TempDir(), false), "cat /proc/self/stat"), Options{}); !exit.OK() {
		t.Skip("skipped layer: root filesystem: no /proc of a command's own")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestCommandEndsWithTheStatusOfItsProgram(t *testing.T) {
	needNamespaces(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"plain": "no program", "lost": "#!/no/such/interpreter\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "lost"), 0o755); err != nil {
		t.Fatal(err)
	}
	w := workspaceOf(t, dir, false)
	for _, c := range []struct {
		path, script string
		want         int
	}{
		{"/bin/sh", "exit 0", 0},
		{"/bin/sh", "exit 7", 7},
		{"/bin/sh", "exit 255", 255},
		{"/bin/sh", "kill -TERM $$", 128 + 15},
		{"/bin/sh", "kill -KILL $$", 128 + 9},
		{"/bin/sh", "kill -SEGV $$", 128 + 11},
		{"/bin/sh", "trap 'exit 3' TERM; kill -TERM $$", 3},
		{"/no/such/program", "", 127},
		{WorkspaceDir + "/lost", "", 127},
		{WorkspaceDir + "/plain", "", 126},
		{"/usr", "", 126},
	} {
		spec := shellSpec(w, c.script)
		spec.Path = c.path
		if exit, said := ran(t, spec, Options{}); exit.Code != c.want || exit.Signal != "" {
			t.Errorf("%s %q: %v, want %d: %s", c.path, c.script, exit, c.want, said)
		}
	}
}

// What loses its parent is cleared up after, and what is left at the end ends.
func TestCommandLeavesNoZombieAndNoOrphan(t *testing.T) {
	needProcOfACommand(t)
	w := workspaceOf(t, t.TempDir(), true)
	exit, said := ran(t, shellSpec(w, `
		i=0; while [ $i -lt 50 ]; do (true &) ; i=$((i+1)); done
		i=0; while cat /proc/[0-9]*/stat 2>/dev/null | grep -q ") Z "; do i=$((i+1)); [ $i -lt 200 ] || { echo zombies; exit 1; }; done
		(setsid sh -c 'trap "" TERM HUP INT; echo here > left; while :; do sleep 60; done' >/dev/null 2>&1 &)
		while [ ! -s left ]; do :; done
		echo done`), Options{})
	if !exit.OK() || said != "done\n" {
		t.Errorf("%v: %q", exit, said)
	}
}

// The root of a command holds what the page says and nothing else.
func TestCommandFindsNothingOfTheHost(t *testing.T) {
	needProcOfACommand(t)
	t.Setenv("JAIL_TEST_CANARY", "c4n4ry")
	spec := shellSpec(workspaceOf(t, t.TempDir(), false), "ls -A / /dev /etc /tmp; ls /proc | grep -v '^[0-9]*$'; tr '\\0' '\\n' < /proc/self/environ; cat /proc/1/environ; hostname; pwd")
	spec.Env = []string{"PATH=/usr/bin:/bin", "A=b"}
	exit, said := ran(t, spec, Options{})
	if !exit.OK() {
		t.Fatalf("%v: %s", exit, said)
	}
	allowed := []string{"", "/:", "/dev:", "/etc:", "/tmp:", "dev", "etc", "proc", "tmp", "usr", "workspace", "bin", "lib", "lib32", "lib64", "libx32", "sbin",
		"fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero", "alternatives", "group", "ld.so.cache", "passwd",
		"self", "thread-self", "PATH=/usr/bin:/bin", "A=b", "PWD=/workspace", hostName, WorkspaceDir}
	for line := range strings.Lines(said) {
		for word := range strings.SplitSeq(strings.TrimSpace(line), "\x00") {
			if !slices.Contains(allowed, word) {
				t.Errorf("it finds %q", word)
			}
		}
	}
	if control, err := exec.Command("sh", "-c", "ls /etc/shells /etc/hostname; echo $JAIL_TEST_CANARY").CombinedOutput(); !strings.Contains(string(control), "c4n4ry") {
		t.Errorf("the control: %v: %s", err, control)
	}
}

func TestCommandWritesWhereItMay(t *testing.T) {
	needNamespaces(t)
	for _, level := range []Options{{}, {BestEffort: true, without: []string{layerLandlock}}} {
		for _, writable := range []bool{false, true} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			w := workspaceOf(t, dir, writable)
			for _, c := range []struct {
				script string
				works  bool
			}{
				{"echo new > file", writable},
				{"echo new > made", writable},
				{"mkdir -p a/b && mv a c && rm -r c", writable},
				{"ln -s file link && rm link", writable},
				{"ln file hard && rm hard", writable},
				{"mkfifo pipe && rm pipe", writable},
				{"cp /bin/true ./true && ./true && rm true", writable},
				{"echo x > /tmp/x && cp /bin/true /tmp/true && /tmp/true && mv /tmp/x /tmp/y", true},
				{"echo x > /dev/null", true},
				{"cat file", true},
				{"echo x > /x", false},
				{"echo x > /etc/x", false},
				{"echo x > /usr/x", false},
				{"echo x > /dev/x", false},
				{"echo x > /proc/self/comm", false},
				{"chmod 777 /usr", false},
				{"mkdir /workspace2", false},
				{"mv /tmp /tmp2", false},
				{"chmod u+s file", false},
				{"mknod disk b 8 0", false},
			} {
				if exit, said := ran(t, shellSpec(w, c.script), level); exit.OK() != c.works {
					t.Errorf("without %v, writable %v, %q: %v: %s", level.without, writable, c.script, exit, said)
				}
			}
		}
	}
}

// What a command makes belongs to who owns the workspace, and a file of the owner's alone can be read and changed.
func TestCommandsFilesBelongToTheOwnerOfTheWorkspace(t *testing.T) {
	needNamespaces(t)
	owners := []int{os.Getuid()}
	if os.Geteuid() == 0 {
		owners = append(owners, 12345)
	}
	for _, uid := range owners {
		dir := t.TempDir()
		private := filepath.Join(dir, "private")
		if err := os.WriteFile(private, []byte("mine\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, private} {
			if err := errors.Join(os.Chown(path, uid, uid), os.Chmod(dir, 0o700)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			exit, said := ran(t, shellSpec(workspaceOf(t, dir, true), "rm -f made; cat private; echo more >> private; echo x > made; id -u"), Options{})
			if !exit.OK() || !strings.HasPrefix(said, "mine\n") || !strings.HasSuffix(said, "65534\n") {
				t.Errorf("%d: %v: %s", uid, exit, said)
			}
			var st unix.Stat_t
			if err := unix.Stat(filepath.Join(dir, "made"), &st); err != nil || int(st.Uid) != uid {
				t.Errorf("%d: what it made belongs to %d, %v", uid, st.Uid, err)
			}
		}
	}
}

func TestGuardedPathsStayAsTheyAre(t *testing.T) {
	needNamespaces(t)
	dir := t.TempDir()
	for _, path := range []string{".git/hooks", "deep/er/kept", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{".git/config", ".envrc", "deep/er/kept/file"} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte("kept"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	guarded := []string{".git", ".envrc", "deep/er/kept"}
	attempts := []string{
		"echo x > .git/config", "echo x > .git/new", "rm -rf .git", "rm .git/config", "mv .git gone", "mv other .git", "mkdir .git/hooks/x", "chmod 777 .git", "touch -d yesterday .git/config",
		"ln .git/config out", "ln -f other .git/config", "mv -T other .git", "echo x > .envrc", "rm -f .envrc", "mv .envrc gone", "echo x > n && mv -f n .envrc", "ln -sf /tmp .envrc",
		"mv deep gone", "mv deep/er gone", "mv deep/er/kept gone", "rm -rf deep", "echo x > deep/er/kept/file", "umount .git", "mount -o remount,rw .git", "exec 3<.git/config; echo x > /proc/self/fd/3",
	}
	for _, script := range attempts {
		if exit, said := ran(t, shellSpec(workspaceOf(t, dir, true, guarded...), script), Options{}); exit.OK() && script != "ln -sf /tmp .envrc" {
			t.Errorf("%q works: %s", script, said)
		}
	}
	for _, path := range []string{".git/config", ".envrc", "deep/er/kept/file"} {
		if text, err := os.ReadFile(filepath.Join(dir, path)); string(text) != "kept" || err != nil {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	// The controls: without the guard the same works, and beside what is guarded a command may do as it likes.
	if exit, said := ran(t, shellSpec(workspaceOf(t, dir, true, guarded...), "cat .git/config && echo x > deep/new && echo x > deep/er/new && rm deep/new"), Options{}); !exit.OK() {
		t.Errorf("beside: %v: %s", exit, said)
	}
	if exit, said := ran(t, shellSpec(workspaceOf(t, dir, true), "echo x > .git/config && mv deep gone && rm .envrc"), Options{}); !exit.OK() {
		t.Errorf("unguarded: %v: %s", exit, said)
	}
	// A link, or nothing, cannot be guarded.
	if err := os.Symlink("other", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"link", "absent", "absent/below"} {
		_, err := Start(t.Context(), shellSpec(workspaceOf(t, dir, true, path), "true"), Options{})
		if fault, ok := errors.AsType[*Error](err); !ok || !strings.Contains(fault.What, "cannot be guarded") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCommandReadsItsStandardInput(t *testing.T) {
	needNamespaces(t)
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spec := shellSpec(workspaceOf(t, t.TempDir(), false), "cat")
	spec.Stdin = f
	if exit, said := ran(t, spec, Options{}); !exit.OK() || said != "hello" {
		t.Errorf("%v: %q", exit, said)
	}
	spec.Stdin = nil
	if exit, said := ran(t, spec, Options{}); !exit.OK() || said != "" {
		t.Errorf("%v: %q", exit, said)
	}
}

// A command is refused without namespaces whatever the operator accepts, and without Landlock unless it is accepted.
func TestCommandDemandsItsWalls(t *testing.T) {
	w := workspaceOf(t, t.TempDir(), false)
	for _, o := range []Options{{without: []string{layerNamespaces}}, {BestEffort: true, without: []string{layerNamespaces}}, {without: []string{layerLandlock}}} {
		_, err := Start(t.Context(), shellSpec(w, "true"), o)
		if fault, ok := errors.AsType[*Error](err); !ok || fault.Place != o.without[0] {
			t.Errorf("best effort %v without %v: %v", o.BestEffort, o.without, err)
		}
	}
}

func TestACommandThatCannotMeanWhatItSaysIsRefused(t *testing.T) {
	w := workspaceOf(t, t.TempDir(), true)
	good := shellSpec(w, "true")
	for name, change := range map[string]func(*Spec){
		"no workspace":            func(s *Spec) { s.Workspace = nil },
		"a workspace not open":    func(s *Spec) { s.Workspace = &Workspace{} },
		"a build's workspace":     func(s *Spec) { s.Profile = Build },
		"writable paths":          func(s *Spec) { s.Writable = []string{"/usr/local"} },
		"all of /etc":             func(s *Spec) { s.ReadOnly = []string{"/etc"} },
		"the devices":             func(s *Spec) { s.ReadOnly = []string{"/dev/shm"} },
		"the jail's own":          func(s *Spec) { s.ReadOnly = []string{"/workspace/x"} },
		"a guard outside":         func(s *Spec) { s.Workspace = workspaceOf(t, t.TempDir(), true, "../x") },
		"a guard of everything":   func(s *Spec) { s.Workspace = workspaceOf(t, t.TempDir(), true, ".") },
		"an absolute guard":       func(s *Spec) { s.Workspace = workspaceOf(t, t.TempDir(), true, "/etc") },
		"more guards than it can": func(s *Spec) { s.Workspace = workspaceOf(t, t.TempDir(), true, make([]string, maxGuarded+1)...) },
	} {
		spec := good
		change(&spec)
		if _, err := Start(t.Context(), spec, Options{}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	closed := workspaceOf(t, t.TempDir(), true)
	_ = closed.Dir.Close()
	if _, err := Start(t.Context(), shellSpec(closed, "true"), Options{}); err == nil {
		t.Error("a closed workspace is accepted")
	}
}

// The directory that was opened is the workspace, not what has its name now.
func TestWorkspaceIsTheDirectoryThatWasOpened(t *testing.T) {
	needNamespaces(t)
	base := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, name, "who"), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w := workspaceOf(t, filepath.Join(base, "a"), false)
	if err := errors.Join(os.Rename(filepath.Join(base, "a"), filepath.Join(base, "c")), os.Rename(filepath.Join(base, "b"), filepath.Join(base, "a"))); err != nil {
		t.Fatal(err)
	}
	if exit, said := ran(t, shellSpec(w, "cat who"), Options{}); !exit.OK() || said != "a" {
		t.Errorf("%v: %q", exit, said)
	}
}
