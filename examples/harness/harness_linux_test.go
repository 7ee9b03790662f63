package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vet"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// asHarness in the environment makes this test binary the harness.
const asHarness = "LOOMEXT_TEST_AS_HARNESS"

// home has the examples units and gate installed, and moody and diary of testdata.
var home string

func TestMain(m *testing.M) {
	jail.Main()
	if os.Getenv(asHarness) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(test(m))
}

func test(m *testing.M) int {
	dir, err := os.MkdirTemp("", "loomext-harness-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer removeReadOnly(dir)
	home = filepath.Join(dir, "home")
	for _, source := range []string{"../units", "../gate", "testdata/moody", "testdata/diary"} {
		_, err := install.Open(home).Install(context.Background(), install.Options{
			Source: source, Builder: &build.Builder{Std: vet.Std()}, Preset: &install.Decision{All: true, How: "test"},
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

func removeReadOnly(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// harness is the command, with a store.
func harness(home string, extensions ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], extensions...)
	cmd.Env = append(os.Environ(), asHarness+"=1", "LOOM_HOME="+home)
	return cmd
}

// settled is a transcript without what differs from run to run: the id of an artifact, the lines
// of loomext's own files, and what the Go runtime says of a goroutine.
func settled(transcript string) string {
	for pattern, with := range map[string]string{
		`as artifact \S+`:                 "as artifact ID",
		`\.go:\d+\)`:                      ".go)",
		`(?m)(^ *panic: .*\n)(    .*\n)+`: "$1    …\n",
	} {
		transcript = regexp.MustCompile(pattern).ReplaceAllString(transcript, with)
	}
	return transcript
}

func TestTranscripts(t *testing.T) {
	for script, extensions := range map[string][]string{
		"session": {"units", "gate"}, "moods": {"moody"}, "gate": {"moody"}, "events": {"diary", "gate"},
	} {
		t.Run(script, func(t *testing.T) {
			in, err := os.Open(filepath.Join("testdata", script+".script"))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			var out, log bytes.Buffer
			cmd := harness(home, extensions...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &log
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, out.String(), log.String())
			}
			got := settled(out.String())
			golden := filepath.Join("testdata", script+".transcript")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s\nlog\n%s", got, want, log.String())
			}
		})
	}
}

// The diary declares every event. Each reaches it once its moment has come, and not before.
func TestAllNineEventsAreFiredInTheirOrder(t *testing.T) {
	script, err := os.Open("testdata/events.script")
	if err != nil {
		t.Fatal(err)
	}
	defer script.Close()
	cmd := harness(home, "diary")
	cmd.Stdin = script
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	rest := string(out)
	for _, moment := range []string{
		"diary was told session_start", "op-1: ", "diary before_agent_start: ", "diary context: ", "call ", "diary tool_call: ", "diary tool_result: ",
		"diary context: ", "diary was told usage, usage, usage, agent_end, agent_settled", "compact ", "diary before_compact: ",
	} {
		_, after, found := strings.Cut(rest, moment)
		if !found {
			t.Fatalf("no %q where it belongs in\n%s", moment, out)
		}
		rest = after
	}
	counted := regexp.MustCompile(`(?m)^ +([a-z_]+): asked (\d+), answered (\d+), blocked`).FindAllStringSubmatch(rest, -1)
	for _, m := range counted {
		if m[2] == "0" || m[3] == "0" {
			t.Errorf("%s: asked %s, answered %s", m[1], m[2], m[3])
		}
	}
	if len(counted) != 9 {
		t.Errorf("%d events are counted\n%s", len(counted), rest)
	}
}

// output collects what a process writes, to be looked at while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// eventually waits until a process has written something.
func (o *output) eventually(t *testing.T, piece string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(o.String(), piece); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never %q in\n%s", piece, o.String())
		}
	}
}

// act is a run in which the model calls moody once.
func act(mood string) string {
	return fmt.Sprintf(`{"prompt": "go on", "answers": [{"calls": [{"tool": "moody__act", "args": {"mood": %q}}]}]}`, mood)
}

func TestAnInterruptEndsTheSession(t *testing.T) {
	for name, tt := range map[string]struct{ script, seen, last string }{
		"while it waits for the script": {act("talk"), "messages to the model: 3", "moody is"},
		"while a call is open":          {act("wait"), "… waiting", "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, log output
			cmd := harness(home, "moody")
			cmd.Stdout, cmd.Stderr = &out, &log
			typed, err := cmd.StdinPipe() // which stays open
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(typed, tt.script); err != nil {
				t.Fatal(err)
			}
			out.eventually(t, tt.seen)
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != 130 || !strings.Contains(out.String(), tt.last) {
				t.Errorf("status %d\n%s%s", status, out.String(), log.String())
			}
			for _, m := range regexp.MustCompile(`msg="satellite started" .* pid=(\d+) `).FindAllStringSubmatch(log.String(), -1) {
				var pid int
				if _, err := fmt.Sscan(m[1], &pid); err != nil {
					t.Fatal(err)
				}
				if syscall.Kill(pid, 0) == nil {
					t.Errorf("process %d lives on", pid)
				}
			}
		})
	}
}

func TestWhatIsAskedForByNameMustBeThere(t *testing.T) {
	out, err := harness(home, "units", "absent").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "harness: absent takes no part: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWhatCannotBeLoadedIsLeftOut(t *testing.T) {
	other := filepath.Join(t.TempDir(), "home")
	if err := os.CopyFS(other, os.DirFS(home)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeReadOnly(other) })
	generations, err := filepath.Glob(filepath.Join(other, "generations", "gate-*", "loom_satellite"))
	if err != nil || len(generations) != 1 {
		t.Fatalf("%q, %v", generations, err)
	}
	if err := os.Remove(generations[0]); err != nil {
		t.Fatal(err)
	}
	out, err := harness(other).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "without gate: ") || !strings.Contains(string(out), "offer units__convert: ") {
		t.Errorf("%v\n%s", err, out)
	}
}
