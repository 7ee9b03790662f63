package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func fill(t testing.TB, dir string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("kept"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Git obeys the .git of a submodule in the project around it: a command writes that one as little as its own.
func TestARepositoryInsideIsNotWritten(t *testing.T) {
	dir := directory(t)
	fill(t, dir, ".git/config", "sub/.git/config", "a/b/worktree/.git", "a/b/.vscode/tasks.json", "node_modules/x/.vscode/tasks.json")
	if err := os.Symlink("../sub/.git", filepath.Join(dir, "a/.git")); err != nil {
		t.Fatal(err)
	}
	r := runner(t, dir, func(o *Options) { o.Terms.Write, o.Protected = true, []string{".git", ".vscode", "a/b/other"} })
	for _, script := range []string{
		"echo x > sub/.git/config", "rm -rf sub/.git", "mv sub/.git gone", "mv sub gone", "rm a/b/worktree/.git", "echo x > a/b/worktree/.git", "mv a/b gone", "mv a gone",
		"echo x > a/b/.vscode/tasks.json", "echo x > a/.git/config",
	} {
		if result := mustRun(t, r, "sh", "-c", script); result.Exit == 0 {
			t.Errorf("%q works", script)
		}
	}
	if result := mustRun(t, r, "sh", "-c", "echo x > sub/new && echo x > a/b/worktree/new && mv sub/new a/b/new && rm -rf node_modules"); result.Exit != 0 {
		t.Errorf("beside: %s", result.Stderr)
	}
	for _, path := range []string{".git/config", "sub/.git/config", "a/b/worktree/.git", "a/b/.vscode/tasks.json"} {
		if text, err := os.ReadFile(filepath.Join(dir, path)); string(text) != "kept" || err != nil {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
}

// As many are held as a launch has room for, the nearest first.
func TestMoreRepositoriesThanCanBeHeldDoNotStopACommand(t *testing.T) {
	dir := directory(t)
	var paths []string
	for i := range 300 {
		paths = append(paths, fmt.Sprintf("sub/%d/.vscode/x", i), fmt.Sprintf("deep/er/%d/.git/config", i))
	}
	fill(t, dir, append(paths, "near/.git/config")...)
	r := runner(t, dir, func(o *Options) { o.Terms.Write, o.Protected = true, []string{".git", ".vscode"} })
	if result := mustRun(t, r, "sh", "-c", "echo x > near/.git/config"); result.Exit == 0 {
		t.Error("the nearest is written")
	}
	if result := mustRun(t, r, "true"); result.Exit != 0 {
		t.Errorf("exit %d", result.Exit)
	}
}

// What a umask takes from a placeholder is given back to it, so that it is found again and taken away.
func TestAPlaceholderDoesNotMindTheUmask(t *testing.T) {
	dir := directory(t)
	r := runner(t, dir, func(o *Options) { o.Terms.Write, o.Protected = true, []string{".git"} })
	was := unix.Umask(0o777)
	g, err := r.guard(t.Context())
	unix.Umask(was)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, ".git"))
	if err != nil || info.Mode() != os.ModeDir|os.ModeSticky|0o555 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	g.release()
	empty(t, dir)
}

// On a file system that keeps no modes a placeholder is known by what it is.
func TestAPlaceholderWithoutItsModeIsHeldAndTakenAway(t *testing.T) {
	dir := directory(t)
	guarded := func(o *Options) { o.Terms.Write, o.Protected = true, []string{".git"} }
	one, two := runner(t, dir, guarded), runner(t, dir, guarded)
	first, err := one.guard(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	second, err := two.guard(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	first.release()
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil || !slices.Equal(second.paths, []string{".git"}) {
		t.Errorf("%v, %v", second.paths, err)
	}
	second.release()
	empty(t, dir)
	if len(standing.needs) != 0 {
		t.Errorf("%d are remembered", len(standing.needs))
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("it leaves %v, %v", entries, err)
	}
}

// The machine's owner is not the one who pays for a command that takes too much.
func TestACommandComesAfterTheHost(t *testing.T) {
	r := runner(t, directory(t), nil)
	before, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Skip(err)
	}
	if result := mustRun(t, r, "sh", "-c", "nice"); strings.TrimSpace(string(result.Stdout)) == "0" {
		t.Errorf("its priority is the host's")
	}
	if hasProc(t, r) {
		if result := mustRun(t, r, "cat", "/proc/self/oom_score_adj"); string(result.Stdout) != "1000\n" {
			t.Errorf("its score is %q", result.Stdout)
		}
	}
	if after, err := os.ReadFile("/proc/self/oom_score_adj"); err != nil || string(after) != string(before) {
		t.Errorf("the host's score is %q, %v", after, err)
	}
}

// BenchmarkFindNested is what a command that may write waits for a project of 50,000 files.
func BenchmarkFindNested(b *testing.B) {
	dir := b.TempDir()
	for i := range 2500 {
		for n := range 20 {
			path := filepath.Join(dir, fmt.Sprint(i%50), fmt.Sprint(i))
			if n == 0 {
				if err := os.MkdirAll(path, 0o755); err != nil {
					b.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(path, fmt.Sprint("file", n)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	root, err := number(opened(b, dir))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		(&guard{}).findNested(b.Context(), root, []string{".git", ".loom", ".claude", ".codex", ".gemini", ".vscode", ".envrc"})
	}
}

// TestThePageHasTheBoundsOfWhatIsHeld holds docs/proc.md to them.
func TestThePageHasTheBoundsOfWhatIsHeld(t *testing.T) {
	page, err := os.ReadFile("../../docs/proc.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("%d directories deep, at most %s names, the nearest first, and not in `%s`", maxNestedDepth, thousands(maxLooked), unlooked),
		fmt.Sprintf("up to %d paths are held", maxNested), fmt.Sprintf("At most %d paths can be held at once", maxGuarded),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
