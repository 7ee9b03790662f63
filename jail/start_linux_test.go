//go:build amd64 || arm64

package jail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type seen struct {
	Args, Env  []string
	Dir        string
	FDs        map[string]string
	PGID, PID  int
	Terminal   bool
	NoNewPrivs bool
	Limits     map[string]syscall.Rlimit
}

func look(t *testing.T, s Spec) seen {
	t.Helper()
	var out bytes.Buffer
	s.Stdout = &out
	s.Args = append([]string{"look"}, s.Args...)
	c := mustStart(t, s)
	if exit := mustWait(t, c); !exit.OK() {
		t.Fatalf("%v: %s", exit, c.Stderr())
	}
	var got seen
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestProgramFindsOnlyWhatTheSpecNames(t *testing.T) {
	t.Setenv("LEAK", "from the host")
	leak, err := unix.Open("/dev/zero", unix.O_RDONLY, 0) // no O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	high, err := unix.FcntlInt(uintptr(leak), unix.F_DUPFD, 900)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(high)
	file, err := os.Open("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	got := look(t, Spec{Args: []string{"", "two words", "ü"}, Env: []string{"A=1", "B=", "A=2"}, Files: []*os.File{file, file}})
	if want := []string{child, "look", "", "two words", "ü"}; !reflect.DeepEqual(got.Args, want) {
		t.Errorf("arguments %q, want %q", got.Args, want)
	}
	for _, v := range got.Env {
		if v != "A=1" && v != "B=" && v != "A=2" {
			t.Errorf("variable %q", v)
		}
	}
	if got.Dir != "/" {
		t.Errorf("working directory %q", got.Dir)
	}
	if len(got.FDs) != 5 || got.FDs["0"] != "/dev/null" || !strings.HasPrefix(got.FDs["1"], "pipe:") || !strings.HasPrefix(got.FDs["2"], "pipe:") || got.FDs["3"] != "/dev/full" || got.FDs["4"] != "/dev/full" {
		t.Errorf("descriptors %v", got.FDs)
	}
	if got.PGID != got.PID || got.PID == 0 {
		t.Errorf("group %d, process %d: want one of its own", got.PGID, got.PID)
	}
	if got.Terminal {
		t.Error("the program has a terminal")
	}
	if !got.NoNewPrivs {
		t.Error("new privileges are possible")
	}
}

func TestNoEnvironmentMeansNone(t *testing.T) {
	if got := look(t, Spec{Dir: "/tmp"}); len(got.Env) != 0 || got.Dir != "/tmp" {
		t.Errorf("environment %q in %q", got.Env, got.Dir)
	}
}

func TestLimitsStandBeforeTheFirstInstruction(t *testing.T) {
	const mb = 1 << 20
	got := look(t, Spec{Limits: Satellite.fill(Limits{CPU: 2500 * time.Millisecond, DataBytes: 200 * mb})})
	for name, want := range map[string]uint64{"cpu": 3, "fsize": 0, "data": 200 * mb, "core": 0, "nofile": satelliteDescriptors, "memlock": 0, "as": satelliteAddressBytes, "msgqueue": 0} {
		if l := got.Limits[name]; l.Cur != want || l.Max != want {
			t.Errorf("%s is %d of %d, want %d", name, l.Cur, l.Max, want)
		}
	}
	unset := look(t, Spec{})
	if l := unset.Limits["data"]; l.Cur != unix.RLIM_INFINITY {
		t.Errorf("a limit nobody asked for: %d", l.Cur)
	}
}

// A library that opens descriptors without close-on-exec at any moment must not
// hand one to a child.
func TestDescriptorsOpenedDuringTheStartDoNotLeak(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if fd, err := unix.Open("/dev/zero", unix.O_RDONLY, 0); err == nil {
				unix.Close(fd)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	for range 40 {
		var out bytes.Buffer
		mustWait(t, mustStart(t, Spec{Args: []string{"look"}, Stdout: &out}))
		if strings.Contains(out.String(), "/dev/zero") {
			t.Fatalf("leaked: %s", out.String())
		}
	}
}

func TestReportNamesEveryStepInOrder(t *testing.T) {
	c := mustStart(t, satelliteSpec(t, "exit", "0"))
	mustWait(t, c)
	r := c.Report()
	if len(r.Layers) != len(steps) {
		t.Fatalf("%d layers of %d", len(r.Layers), len(steps))
	}
	for i, l := range r.Layers {
		if l.Name != steps[i].name {
			t.Errorf("layer %d is %q, want %q", i, l.Name, steps[i].name)
		}
		if l.State != Enforced && (l.State != Skipped || l.Reason == "") {
			t.Errorf("%+v", l)
		}
	}
	if !r.Level.Default() || r.Warning() != "" {
		t.Errorf("level %q, %q", r.Level, r.Warning())
	}
	text, err := json.Marshal(r)
	if err != nil || !strings.HasPrefix(string(text), `{"level":"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestStartRefusesInASentenceAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	closed, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	cases := []struct {
		name string
		spec Spec
		want string
	}{
		{"missing", Spec{Path: filepath.Join(dir, "absent")}, "is not there"},
		{"not executable", Spec{Path: write("text", "hello", 0o644)}, "is not an executable file"},
		{"a directory", Spec{Path: dir}, "is not an executable file"},
		{"wrong format", Spec{Path: write("bad", "\x7fNOT", 0o755)}, "is not a program for this system"},
		{"interpreter missing", Spec{Path: write("script", "#!/no/such/shell\n", 0o755)}, "needs an interpreter or loader"},
		{"no such directory", Spec{Path: child, Dir: filepath.Join(dir, "none")}, "working directory"},
		{"relative", Spec{Path: "child"}, "not an absolute path"},
		{"relative directory", Spec{Path: child, Dir: "x"}, "not an absolute path"},
		{"zero byte", Spec{Path: child, Args: []string{"a\x00b"}}, "zero byte"},
		{"no name", Spec{Path: child, Env: []string{"=x"}}, "not NAME=value"},
		{"closed file", Spec{Path: child, Files: []*os.File{closed}}, "is closed"},
	}
	mustWait(t, mustStart(t, Spec{Args: []string{"exit", "0"}})) // what a host keeps is there
	before := descriptors(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(t.Context(), c.spec, Options{})
			var fault *Error
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "jail: ") {
				t.Errorf("%v, want one that says %q", err, c.want)
			}
		})
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	forks.mu.Lock()
	defer forks.mu.Unlock()
	if forks.holders != 0 {
		t.Errorf("%d holders of the forking thread", forks.holders)
	}
}

func TestContextThatEndedStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Spec{Path: child, Args: []string{"sleep"}}, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
