package proc

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomext/loomext/jail"
)

func TestACommandRuns(t *testing.T) {
	r := runner(t, directory(t), nil)
	result, err := r.Run(t.Context(), Request{Argv: []string{"sh", "-c", "cat; echo err >&2; exit 3"}, Stdin: []byte("in"), Timeout: time.Minute})
	if err != nil || result.Exit != 3 || string(result.Stdout) != "in" || string(result.Stderr) != "err\n" || result.Truncated {
		t.Errorf("%+v, %v", result, err)
	}
	for script, want := range map[string]int{"kill -TERM $$": 143, "kill -KILL $$": 137, "/no/such": 127, "/usr": 126} {
		if result := mustRun(t, r, "sh", "-c", script); result.Exit != want {
			t.Errorf("%q: %d, want %d", script, result.Exit, want)
		}
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), MaxStdin/16)
	if result, err := r.Run(t.Context(), Request{Argv: []string{"cat"}, Stdin: large}); err != nil || !bytes.Equal(result.Stdout, large) || result.Truncated {
		t.Errorf("%d bytes come back, %v", len(result.Stdout), err)
	}
	if result, err := r.Run(t.Context(), Request{Argv: []string{"true"}, Stdin: large}); err != nil || result.Exit != 0 {
		t.Errorf("one that does not read: %+v, %v", result, err)
	}
}

// A command is one of the terms by its first words, each of them whole.
func TestOnlyCommandsOfTheTermsRun(t *testing.T) {
	r := runner(t, directory(t), func(o *Options) {
		o.Terms.Commands = [][]string{{"printf", "%s-"}, {"true"}, {"/usr/bin/id"}, {"no-such-program"}, {""}, {".."}, {"ls", ""}}
	})
	for _, c := range []struct {
		argv []string
		says string // empty: it runs
	}{
		{[]string{"printf", "%s-"}, ""},
		{[]string{"printf", "%s-", "$(id)", ";", "id"}, ""}, // no shell looks at it
		{[]string{"true"}, ""},
		{[]string{"true", "--anything"}, ""},
		{[]string{"ls", "", "/"}, ""},
		{[]string{"printf"}, "begins with none"},
		{[]string{"printf", "%s"}, "begins with none"},
		{[]string{"printf", "%s-x"}, "begins with none"},
		{[]string{"printf %s-"}, "begins with none"},
		{[]string{"printf", "--", "%s-"}, "begins with none"},
		{[]string{" printf", "%s-"}, "begins with none"},
		{[]string{"PRINTF", "%s-"}, "begins with none"},
		{[]string{"ls"}, "begins with none"},
		{[]string{"./true"}, "begins with none"},
		{[]string{"/bin/true"}, "begins with none"},
		{[]string{"../usr/bin/true"}, "begins with none"},
		{[]string{"id"}, "begins with none"},
		{[]string{"true\x00"}, "zero byte"},
		{[]string{"/usr/bin/id"}, "is a path"},
		{[]string{""}, "is a path"},
		{[]string{".."}, "is a path"},
		{[]string{"no-such-program"}, "is in none of /usr/local/bin, /usr/bin, /bin"},
		{nil, "argv is empty"},
	} {
		_, err := r.Run(t.Context(), Request{Argv: c.argv})
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%q: %v, want %q", c.argv, err, c.says)
		}
	}
	if result := mustRun(t, r, "printf", "%s-", "$(id)", ";", "id"); string(result.Stdout) != "$(id)-;-id-" {
		t.Errorf("it printed %q", result.Stdout)
	}
	refusedAs(t, errorOf(r, []string{"id", strings.Repeat("x", 500) + "\x1b[2J"}), NotAllowed, "…")
	none := runner(t, directory(t), func(o *Options) { o.Terms.Commands = [][]string{{}} })
	refusedAs(t, errorOf(none, []string{"true"}), NotAllowed, "begins with none")
}

func errorOf(r *Runner, argv []string) error {
	_, err := r.Run(contextForHost, Request{Argv: argv})
	return err
}

// A program of the workspace is never the one that a name leads to.
func TestProgramsComeFromThePathAlone(t *testing.T) {
	dir := directory(t)
	for _, path := range []string{"true", "bin/true", "other"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte("#!/bin/sh\nexit 42\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := runner(t, dir, func(o *Options) { o.Terms.Commands = [][]string{{"true"}, {"other"}} })
	if result := mustRun(t, r, "true"); result.Exit != 0 {
		t.Errorf("exit %d", result.Exit)
	}
	refusedAs(t, errorOf(r, []string{"other"}), NotFound, "readable in [proc]")
	if want := []string{"/usr/local/bin", "/usr/bin", "/bin", tools}; !slices.Equal(r.Path(), want) {
		t.Errorf("the path is %q, want %q", r.Path(), want)
	}
}

func TestWhatIsTooMuchIsRefused(t *testing.T) {
	r := runner(t, directory(t), nil)
	for _, c := range []struct {
		q    Request
		kind Kind
		says string
	}{
		{Request{Argv: append([]string{"true"}, make([]string, MaxArguments)...)}, Invalid, "1025 words; at most 1024"},
		{Request{Argv: []string{"true", strings.Repeat("x", MaxArgumentBytes)}}, TooLarge, "have 131076 bytes; at most 131072"},
		{Request{Argv: []string{"true"}, Stdin: make([]byte, MaxStdin+1)}, TooLarge, "have 1048577 bytes; at most 1048576"},
		{Request{Argv: []string{"true"}, Timeout: -1}, Invalid, "negative"},
	} {
		_, err := r.Run(t.Context(), c.q)
		refusedAs(t, err, c.kind, c.says)
	}
	most := append([]string{"true"}, make([]string, MaxArguments-1)...)
	most[1] = strings.Repeat("x", MaxArgumentBytes-len("true")-1)
	if result := mustRun(t, r, most...); result.Exit != 0 {
		t.Errorf("as much as may be: exit %d", result.Exit)
	}
}

func TestOutputIsKeptInPartAndEndsALoop(t *testing.T) {
	r := runner(t, directory(t), nil)
	result := mustRun(t, r, probeName, "flood", strconv.Itoa(2*MaxOutput>>10))
	if result.Exit != 0 || len(result.Stdout) != MaxOutput || len(result.Stderr) != MaxOutput || result.Truncated {
		t.Errorf("as much as is kept: %d, %d, %v", len(result.Stdout), len(result.Stderr), result.Truncated)
	}
	result = mustRun(t, r, probeName, "flood", strconv.Itoa(32<<10))
	if result.Exit != 0 || len(result.Stdout) != MaxOutput || len(result.Stderr) != MaxOutput || !result.Truncated {
		t.Errorf("more: exit %d, %d, %d, %v", result.Exit, len(result.Stdout), len(result.Stderr), result.Truncated)
	}
	result = mustRun(t, r, "sh", "-c", "echo first; "+probeName+" flood 4096 2>/dev/null")
	if !bytes.HasPrefix(result.Stdout, []byte("first\nxxx")) || len(result.Stderr) != 0 || !result.Truncated {
		t.Errorf("the beginning: %.20q, %v", result.Stdout, result.Truncated)
	}
	_, err := r.Run(t.Context(), Request{Argv: []string{probeName, "flood", strconv.Itoa(1 << 30)}})
	refusedAs(t, err, Ceiling, "more than 64 MiB")
	noneLeft(t)
}

func TestTheEnvironmentIsTheJailsAndWhatTheTermsName(t *testing.T) {
	t.Setenv("PROC_TEST_CANARY", "c4n4ry")
	t.Setenv("GOFLAGS", "-mod=mod")
	r := runner(t, directory(t), func(o *Options) { o.Terms.Env = []string{"GOFLAGS", "PROC_TEST_UNSET"} })
	got := strings.Fields(string(mustRun(t, r, "sh", "-c", "env").Stdout))
	slices.Sort(got)
	want := []string{"GOFLAGS=-mod=mod", "HOME=/tmp", "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin:" + tools, "PWD=/workspace", "TMPDIR=/tmp"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range []string{"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "API_KEY", "DB_PASSWORD", "SSH_AUTH_SOCK", "LD_PRELOAD", "PATH", "LOOM_HOME", "GIT_SSH_COMMAND", "BASH_ENV"} {
		refusing := New(Options{Workspace: opened(t, t.TempDir()), Terms: Terms{Commands: [][]string{{"true"}}, Env: []string{name}}})
		refusedAs(t, errorOf(refusing, []string{"true"}), Unavailable, "is not for commands")
	}
}

func TestAWorkspaceIsReadOnlyUnlessItMayBeWritten(t *testing.T) {
	dir := directory(t)
	if result := mustRun(t, runner(t, dir, nil), "sh", "-c", "echo x > new"); result.Exit == 0 || !strings.Contains(string(result.Stderr), "Read-only") {
		t.Errorf("%d: %s", result.Exit, result.Stderr)
	}
	if result := mustRun(t, runner(t, dir, writing), "sh", "-c", "echo x > new"); result.Exit != 0 {
		t.Errorf("%d: %s", result.Exit, result.Stderr)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "new")); string(text) != "x\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWhatIsProtectedIsNeitherWrittenNorMade(t *testing.T) {
	dir := directory(t)
	for _, path := range []string{".git/hooks", "deploy/keys", "src"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".git/config"), []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	protected := []string{".git", ".loom", ".claude", ".codex", ".gemini", ".vscode", ".envrc", "deploy/keys", "deploy/other", "absent/below"}
	r := runner(t, dir, func(o *Options) { o.Terms.Write, o.Protected = true, protected })
	for _, script := range []string{
		"echo x > .git/config", "echo x > .git/hooks/pre-commit", "rm -rf .git", "mv .git gone", "mv src .git", "mkdir .vscode", "echo x > .envrc", "ln -s src .claude", "ln -sT src .claude",
		"mv src .loom", "mv -T src .loom", "rmdir .loom", "rm -rf .codex", "echo x > .gemini/x", "mv .gemini gone", "mv deploy gone", "rm -rf deploy", "echo x > deploy/keys/x", "mkdir -p deploy/other/x", "mkdir -p absent/below",
		"chmod 777 .envrc", "mkdir .VSCODE && test -e .vscode/../.VSCODE/settings.json",
	} {
		if result := mustRun(t, r, "sh", "-c", script); result.Exit == 0 && script != "ln -s src .claude" {
			t.Errorf("%q works: %s", script, result.Stderr)
		}
	}
	if result := mustRun(t, r, "sh", "-c", "ls -A; grep -rc kept . ; find . >/dev/null && echo x > deploy/new && echo x > src/new && rm -rf .VSCODE"); result.Exit != 0 {
		t.Errorf("beside: exit %d: %s%s", result.Exit, result.Stdout, result.Stderr)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".git", "deploy", "src"}; !slices.Equal(left, want) {
		t.Errorf("the workspace has %q, want %q", left, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, ".git/config")); string(text) != "kept" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	// The control: what is not protected can be done.
	if result := mustRun(t, runner(t, dir, writing), "sh", "-c", "echo x > .git/config && mkdir .vscode && echo x > .envrc && mv deploy gone"); result.Exit != 0 {
		t.Errorf("the control: %s", result.Stderr)
	}
	if err := os.Symlink("src", filepath.Join(dir, ".claude")); err != nil {
		t.Fatal(err)
	}
	refusedAs(t, errorOf(r, []string{"true"}), Unavailable, `".claude" is protected and is a link`)
	if result := mustRun(t, runner(t, dir, func(o *Options) { o.Protected = protected }), "true"); result.Exit != 0 {
		t.Error("one that reads minds the link")
	}
}

// Commands of one workspace that run at once do not take from one another what protects.
func TestPlaceholdersStayWhileAnybodyNeedsThem(t *testing.T) {
	dir := directory(t)
	guarded := func(o *Options) { o.Terms.Write, o.Protected = true, []string{".git", ".envrc"} }
	one, two := runner(t, dir, guarded), runner(t, dir, guarded)
	var wg sync.WaitGroup
	for _, r := range []*Runner{one, two} {
		for n := range 3 {
			wg.Go(func() {
				for range 8 {
					result, err := r.Run(t.Context(), Request{Argv: []string{"sh", "-c", "i=0; while [ $i -lt " + strconv.Itoa(50*n) + " ]; do mkdir .git/x 2>/dev/null && exit 1; rmdir .git 2>/dev/null && exit 2; echo x 2>/dev/null > .envrc && exit 3; i=$((i+1)); done; exit 0"}})
					if err != nil || result.Exit != 0 {
						t.Errorf("%d, %v", result.Exit, err)
					}
				}
			})
		}
	}
	wg.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("it leaves %v, %v", entries, err)
	}
}

// A directory that somebody makes in the place of one that stood for it is not taken away.
func TestWhatSomebodyMakesMeanwhileStays(t *testing.T) {
	dir := directory(t)
	r := runner(t, dir, func(o *Options) { o.Terms.Write, o.Protected = true, []string{".git", ".envrc"} })
	g, err := r.guard(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".git", ".envrc"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".envrc"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	g.release()
	for _, name := range []string{".git", ".envrc"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestNoWorkspaceHoldsAHome(t *testing.T) {
	base := directory(t)
	for _, path := range []string{"home/project", "loom/below", "free/below", "beside"} {
		if err := os.MkdirAll(filepath.Join(base, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("home", filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(base, "link"))
	for path, says := range map[string]string{
		"home": "user's home", "link": "user's home", ".": "user's home", "/": "root directory",
		"loom": "loomext's own home", "loom/below": "loomext's own home", "home/project": "", "free": "",
	} {
		dir := path
		if path != "/" {
			dir = filepath.Join(base, path)
		}
		err := New(Options{Workspace: opened(t, dir), Home: filepath.Join(base, "loom")}).Err()
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
	closed := opened(t, base)
	_ = closed.Close()
	refusedAs(t, New(Options{Workspace: closed}).Err(), Unavailable, "no directory that is open")
	refusedAs(t, New(Options{Workspace: opened(t, "/dev/null")}).Err(), Unavailable, "no directory that is open")
	for readable, says := range map[string]string{
		filepath.Join(base, "home"): "user's home", filepath.Join(base, "loom"): "loomext's home", filepath.Join(base, "loom/below"): "loomext's home",
		filepath.Join(base, "absent"): "not there", "/proc/self": "not shown", "/": "more is in it", base: "user's home",
		filepath.Join(base, "home/project"): "", filepath.Join(base, "free"): "in the workspace or around it", filepath.Join(base, "free/below"): "in the workspace or around it",
		filepath.Join(base, "beside"): "",
	} {
		err := New(Options{Workspace: opened(t, filepath.Join(base, "free")), Home: filepath.Join(base, "loom"), Readable: []string{readable}}).Err()
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("readable %s: %v, want %q", readable, err, says)
		}
	}
}

// A program in the bin directory of what is readable is found, and what is beside it can be read.
func TestReadableAddsToThePath(t *testing.T) {
	kit := directory(t)
	if err := os.MkdirAll(filepath.Join(kit, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(kit, "bin/greet"), []byte("#!/bin/sh\ncat "+kit+"/words\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(kit, "words"), []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := runner(t, directory(t), func(o *Options) {
		o.Readable, o.Terms.Commands = []string{kit}, [][]string{{"greet"}}
	})
	if result := mustRun(t, r, "greet"); string(result.Stdout) != "hello" {
		t.Errorf("%d: %q: %s", result.Exit, result.Stdout, result.Stderr)
	}
}

// What people would name in a [proc] table works as it does outside.
func TestProgramsOfTheSystemWork(t *testing.T) {
	dir := directory(t)
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte("#include <stdio.h>\nint main(void) { puts(\"hello\"); return 5; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t, dir, func(o *Options) {
		o.Terms.Write, o.Readable = true, append(o.Readable, strings.TrimSpace(string(root)))
	})
	own := hasProc(t, r)
	for _, c := range []struct{ needs, script, want string }{
		{"grep", "grep -c main main.c", "1\n"},
		{"sed", "cp -a main.c s.c && sed -i s/hello/bye/ s.c && grep -c bye s.c", "1\n"},
		{"awk", "awk '{n++} END {print n}' main.c", "2\n"},
		{"sort", "printf 'b\\na\\n' | sort | tee sorted", "a\nb\n"},
		{"tar", "tar cf t.tar main.c && mkdir -p u && tar xf t.tar -C u && ls -l u | wc -l", "2\n"},
		{"find", "find . -name main.c | wc -l", "2\n"},
		{"bash", "bash -c 'diff <(echo a) <(echo a) && echo same'", "same\n"},
		{"git", "git init -q g && cd g && git config user.name a && git config user.email a && echo x > f && git add f && git commit -qm m && git log --format=%s", "m\n"},
		{"make", "printf 'all:\\n\\t@echo made\\n' > Makefile && make", "made\n"},
		{"cc", "cc -o hello main.c && ./hello; echo $?", "hello\n5\n"},
		{"python3", "python3 -c 'import subprocess, multiprocessing, tempfile; print(subprocess.check_output([\"echo\", \"py\"], text=True).strip())'", "py\n"},
		{"perl", "perl -e 'print qx(echo pl)'", "pl\n"},
		{"node", "node -e 'console.log(require(\"child_process\").execSync(\"echo js\").toString().trim())'", "js\n"},
		{"go", "go env GOOS", "linux\n"},
		{"id", "id -un; whoami", "nobody\nnobody\n"},
	} {
		if _, err := r.find(c.needs); err != nil {
			t.Logf("there is no %s here", c.needs)
			continue
		}
		if !own && (c.needs == "bash" || c.needs == "go") {
			continue // they look into /proc
		}
		if result := mustRun(t, r, "sh", "-c", c.script); string(result.Stdout) != c.want {
			t.Errorf("%s: exit %d, %q, want %q: %s", c.needs, result.Exit, result.Stdout, c.want, result.Stderr)
		}
	}
}

// No more than so many run at once; the others wait, and mind their time.
func TestCommandsBeyondTheLanesWait(t *testing.T) {
	r := runner(t, directory(t), nil)
	for range maxLanes {
		r.lanes <- struct{}{}
	}
	_, err := r.Run(t.Context(), Request{Argv: []string{"true"}, Timeout: 50 * time.Millisecond})
	refusedAs(t, err, Deadline, "50ms")
	<-r.lanes
	if result := mustRun(t, r, "true"); result.Exit != 0 {
		t.Errorf("exit %d", result.Exit)
	}
}

func TestWithoutAJailNothingRuns(t *testing.T) {
	err := unavailable(&jail.Error{Place: "namespaces", What: "the kernel refused", Fix: "let it", Err: os.ErrPermission})
	refusedAs(t, err, Unavailable, "namespaces: the kernel refused (permission denied); let it")
	refusedAs(t, unavailable(os.ErrClosed), Unavailable, "could not be run")
}
