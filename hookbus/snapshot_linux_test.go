package hookbus_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/livetest"
)

// leaverVariable makes this test's program a harness that fires an event in a session on
// the home that it names, and stays until it is killed.
const leaverVariable = "LOOMEXT_TEST_SNAPSHOT_LEAVER"

func leave(home string) int {
	h, err := host.New(host.Options{Home: home, Config: &config.Config{}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	s, err := h.Open(context.Background(), host.SessionOptions{ID: "leaver", Extensions: []string{"alpha"}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	hookbus.New(s, hookbus.Options{}).ToolCall(context.Background(), call)
	for {
		if all, _, err := hookbus.Snapshots(home); err != nil || len(all) > 0 {
			fmt.Println("left")
			select {}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// elsewhere is a home with what the other has installed, and no snapshots.
func elsewhere(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"extensions", "generations"} {
		if err := os.Symlink(filepath.Join(home, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// session is one on alpha and delta in a home of its own.
func session(t *testing.T, home, id string) *host.Session {
	t.Helper()
	h, err := host.New(host.Options{Home: home, Config: &config.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	s, err := h.Open(t.Context(), host.SessionOptions{ID: id, Extensions: []string{"alpha", "delta"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// snapshots are those of a home, none of them damaged.
func snapshots(t *testing.T, home string) []hookbus.Snapshot {
	t.Helper()
	all, damaged, err := hookbus.Snapshots(home)
	if err != nil || len(damaged) > 0 {
		t.Fatal(damaged, err)
	}
	return all
}

func TestSnapshotSaysHowThingsStand(t *testing.T) {
	home := elsewhere(t)
	b := over(t, session(t, home, "first"), hookbus.Options{})
	blocked := call
	blocked.OpID = "alpha:block:no"
	b.ToolCall(t.Context(), call)
	b.ToolCall(t.Context(), blocked)
	livetest.Eventually(t, "a snapshot of what goes on", func() bool { return len(snapshots(t, home)) == 1 })
	if s := snapshots(t, home)[0]; s.State != hookbus.Running || s.PID != os.Getpid() || s.Session != "first" || s.Program == "" {
		t.Errorf("%+v", s)
	}
	b.AgentEnd("op-1")
	flush(t, b)
	b.Close()
	all := snapshots(t, home)
	if len(all) != 1 || all[0].State != hookbus.Ended || all[0].Updated.Before(all[0].Began) {
		t.Fatalf("%+v", all)
	}
	if len(all[0].Extensions) != 2 || all[0].Extensions[1].Name != "delta" || len(all[0].Extensions[1].Events) != 0 {
		t.Fatalf("%+v", all[0].Extensions)
	}
	alpha := all[0].Extensions[0]
	if alpha.Name != "alpha" || alpha.Gate != hookbus.Closed || len(alpha.Events) != 9 {
		t.Fatalf("%+v", alpha)
	}
	for _, e := range alpha.Events {
		live := of(t, b, "alpha", e.Event)
		if e.Asked != live.Asked || e.Answered != live.Answered || e.Blocked != live.Blocked || e.P99US != live.P99.Microseconds() || (e.LastFired == nil) != live.LastFired.IsZero() {
			t.Errorf("%+v, and the bus says %+v", e, live)
		}
	}
	dir, file := filepath.Join(home, hookbus.StatusDir), filepath.Join(home, hookbus.StatusDir, "first.json")
	for path, want := range map[string]os.FileMode{dir: 0o700, file: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestSnapshotOfNothingIsNone(t *testing.T) {
	home := elsewhere(t)
	b := over(t, session(t, home, "idle"), hookbus.Options{})
	b.Close()
	if all := snapshots(t, home); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat(filepath.Join(home, hookbus.StatusDir)); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestSnapshotOfAProcessThatIsGoneHasEnded(t *testing.T) {
	home := elsewhere(t)
	leaver := exec.Command(os.Args[0])
	leaver.Env = append(os.Environ(), leaverVariable+"="+home)
	out, err := leaver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := leaver.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "left" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	if all := snapshots(t, home); len(all) != 1 || all[0].State != hookbus.Running || all[0].PID != leaver.Process.Pid {
		t.Errorf("%+v", all)
	}
	if err := leaver.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = leaver.Wait()
	if all := snapshots(t, home); len(all) != 1 || all[0].State != hookbus.Ended || all[0].PID != leaver.Process.Pid {
		t.Errorf("%+v", all)
	}
}

func TestSnapshotsAreSwept(t *testing.T) {
	home := elsewhere(t)
	dir := filepath.Join(home, hookbus.StatusDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	running := over(t, session(t, home, "running"), hookbus.Options{})
	running.ToolCall(t.Context(), call)
	livetest.Eventually(t, "a snapshot", func() bool { return len(snapshots(t, home)) == 1 })
	week := time.Now().Add(-8 * 24 * time.Hour)
	left := func(name string, at time.Time) {
		t.Helper()
		path := filepath.Join(dir, name)
		stem := strings.TrimSuffix(name, ".json")
		if err := os.WriteFile(path, fmt.Appendf(nil, `{"session":%q,"state":"running"}`, stem), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(dir, "running.json"), week, week); err != nil {
		t.Fatal(err)
	}
	for n := range 80 {
		left(fmt.Sprintf("many-%02d.json", n), time.Now().Add(-time.Duration(n+1)*time.Minute))
	}
	left("old.json", week)
	left(".writing-1", week)
	left(".writing-2", time.Now())
	left("notes.txt", week)
	b := over(t, session(t, home, "last"), hookbus.Options{})
	b.ToolCall(t.Context(), call)
	b.Close()
	kept := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		kept[e.Name()] = true
	}
	for name, want := range map[string]bool{
		"running.json": true, "last.json": true, "old.json": false, "many-00.json": true, "many-62.json": true, "many-63.json": false, "many-79.json": false,
		".writing-1": false, ".writing-2": true, "notes.txt": true,
	} {
		if kept[name] != want {
			t.Errorf("%s is kept: %v", name, kept[name])
		}
	}
}

func TestSnapshotsThatAreNoneAreNamed(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, hookbus.StatusDir)
	if all := snapshots(t, home); len(all) != 0 {
		t.Error(all)
	}
	if err := os.MkdirAll(filepath.Join(dir, "directory.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"good.json": `{"session":"good","state":"ended","extensions":[]}`, "other.json": `{"session":"good","state":"ended"}`,
		"state.json": `{"session":"state","state":"well"}`, "half.json": `{"session":"ha`, "empty.json": ``, "large.json": `"` + strings.Repeat("x", 5<<20) + `"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, damaged, err := hookbus.Snapshots(home)
	if err != nil || len(all) != 1 || all[0].Session != "good" || len(damaged) != 5 {
		t.Errorf("%+v, %v, %v", all, damaged, err)
	}
}

func TestSnapshotThatCannotBeWrittenIsSaidOnce(t *testing.T) {
	home := elsewhere(t)
	if err := os.WriteFile(filepath.Join(home, hookbus.StatusDir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	b := over(t, session(t, home, "unwritten"), hookbus.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if v := b.ToolCall(t.Context(), call); !v.Allowed {
		t.Error(v)
	}
	hookbus.WriteNow(b)
	if v := b.ToolCall(t.Context(), call); !v.Allowed {
		t.Error(v)
	}
	b.Close()
	if n := strings.Count(logged.String(), "the status of hooks could not be written"); n != 1 {
		t.Errorf("said %d times:\n%s", n, logged.String())
	}
}
