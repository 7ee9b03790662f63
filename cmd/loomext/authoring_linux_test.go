package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// step is a block of docs/authoring.md: a file to write, or commands to run.
type step struct {
	language, file, text string
}

// addedFile is the one file of the page that is new; what the others replace must be there.
const addedFile = "forecast/lookup_test.go"

// steps are the blocks of the page, in order. A block with a file is named in its first line.
func steps(t *testing.T) []step {
	t.Helper()
	page, err := os.ReadFile("../../docs/authoring.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []step
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		all = append(all, step{m[1], m[2], m[3]})
	}
	return all
}

// TestTheAuthoringPageWorks does what docs/authoring.md says, from nothing to an answer, and wants
// what it prints.
func TestTheAuthoringPageWorks(t *testing.T) {
	w := newWorld(t, sharedCache)
	dir := t.TempDir()
	ran, written := 0, 0
	for _, s := range steps(t) {
		switch {
		case s.language == "console":
			for _, c := range commandsOf(s.text) {
				dir = w.follow(dir, c)
				ran++
			}
		case s.file != "":
			path := filepath.Join(dir, s.file)
			if _, err := os.Stat(path); err != nil && s.file != addedFile {
				t.Errorf("the page replaces %s, which is not there: %v", s.file, err)
			}
			if err := os.WriteFile(path, []byte(s.text), 0o644); err != nil {
				t.Fatal(err)
			}
			written++
		default:
			t.Errorf("a block of %s is neither a file nor commands:\n%s", s.language, s.text)
		}
	}
	if ran < 15 || written < 4 {
		t.Errorf("the page has %d commands and %d files, which cannot be all", ran, written)
	}
	assertNothingLeft(t, w.home)
}

// console is a command and what the page says it prints.
type console struct {
	line string
	want []string
}

func commandsOf(text string) []console {
	var all []console
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, console{line: command})
		} else if len(all) > 0 {
			last := &all[len(all)-1]
			last.want = append(last.want, line)
		}
	}
	return all
}

// follow runs a command in a directory and holds its lines against the page's. It returns the
// directory that the next one runs in.
func (w world) follow(dir string, c console) string {
	w.t.Helper()
	if to, ok := strings.CutPrefix(c.line, "cd "); ok {
		return filepath.Join(dir, to)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 3*time.Minute)
	defer cancel()
	// exec, so that a signal reaches loomext and not a shell before it.
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+c.line)
	cmd.Dir, cmd.Env = dir, w.env
	var out watched
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	if strings.HasPrefix(c.line, "loomext dev ") {
		eventually(w.t, c.want[len(c.want)-1], func() bool { return holds(out.String(), c.want) == "" })
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
		return dir
	}
	_ = cmd.Wait() // a refusal is printed as the page says
	if missing := holds(out.String(), c.want); missing != "" {
		w.t.Errorf("$ %s\ndid not print %q; it printed\n%s", c.line, missing, out.String())
	}
	if len(c.want) == 0 && strings.TrimSpace(out.String()) != "" {
		w.t.Errorf("$ %s\nprinted, where the page has nothing:\n%s", c.line, out.String())
	}
	return dir
}

// holds gives the first line of the page that is not in what was printed, or nothing. The order
// is not compared: two streams are read as one.
func holds(printed string, want []string) string {
	for _, line := range want {
		pattern := "(?m)^" + strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "$"
		if line != "…" && !regexp.MustCompile(pattern).MatchString(printed) {
			return line
		}
	}
	return ""
}

func TestThePagesFilesAreFormatted(t *testing.T) {
	for _, s := range steps(t) {
		if s.language != "go" {
			continue
		}
		cmd := exec.Command("gofmt")
		cmd.Stdin = strings.NewReader(s.text)
		out, err := cmd.Output()
		if err != nil || !bytes.Equal(out, []byte(s.text)) {
			t.Errorf("%s is not as gofmt has it: %v", s.file, err)
		}
	}
}
