package satellite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	"golang.org/x/sys/unix"
)

// A copy of the test binary acts as a host program where hostVariable names what
// it does and programVariable the satellite's file.
const (
	hostVariable    = "SATELLITE_TEST_HOST"
	programVariable = "SATELLITE_TEST_PROGRAM"
)

// hosted is how many satellites a host has at a time.
const hosted = 4

// actAsHost does what the role says and prints a line once it does.
func actAsHost(role string) int {
	image, err := sealedNow(os.Getenv(programVariable))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	open := make(chan struct{}, hosted)
	config := Config{Image: image, Effects: func(ctx context.Context, _ CapCall) wire.Result {
		open <- struct{}{}
		<-ctx.Done()
		return Failed(wire.CodeUnavailable, "")
	}}
	launched := func() *Satellite {
		s, err := Launch(context.Background(), config)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return s
	}
	launched().Close() // what is made once a host
	if role == "once" {
		return 0
	}
	if role == "launch" {
		fmt.Println("ready")
		for range hosted {
			go func() {
				for {
					launched().Close()
				}
			}()
		}
		select {}
	}
	for range hosted {
		s := launched()
		if _, err := call(s, "echo", 0); err != nil {
			fmt.Println(err)
			return 1
		}
		if role == "invoke" {
			go call(s, "hold", time.Hour)
			<-open
		}
	}
	fmt.Println("ready")
	select {}
}

// adoptive makes this process the parent of what a killed host leaves, so that
// nothing of it can hide elsewhere.
var adoptive = sync.OnceValue(func() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })

// orphans are the processes whose parent is this one, and the dead among them
// are buried. There is no other child while a test of this file looks.
func orphans(t *testing.T) (living []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		if fields[0] == "Z" { // perhaps its first thread alone
			if buried, _ := unix.Wait4(pid, nil, unix.WNOHANG, nil); buried == pid {
				continue
			}
		}
		living = append(living, pid)
	}
	return living
}

// hostSockets are the inodes of the sockets that a process holds.
func hostSockets(pid int) []string {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	var inodes []string
	for _, link := range links {
		target, _ := os.Readlink(link)
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	return inodes
}

// leftSockets are those of the inodes that are still there.
func leftSockets(t *testing.T, inodes []string) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 6 && slices.Contains(inodes, fields[6]) {
			left = append(left, line)
		}
	}
	return left
}

// groupsOf are the control groups that were made for satellites of a host.
func groupsOf(pid int) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), fmt.Sprintf("loomext-%d-", pid)) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

func mountsNow(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A host that is killed outright, whatever it was doing, leaves no process,
// socket, mount or file, and no control group once another host has started.
func TestKilledHostLeavesNothing(t *testing.T) {
	if err := adoptive(); err != nil {
		t.Fatal(err)
	}
	livetest.Eventually(t, "the children of tests before are gone", func() bool { return len(orphans(t)) == 0 })
	for _, tt := range []struct {
		role  string
		kills int
		pause time.Duration // the kills are spread over it
	}{
		{"idle", 3, 200 * time.Millisecond}, // past the moment a satellite comes to rest
		{"invoke", 3, 20 * time.Millisecond},
		{"launch", 40, 20 * time.Millisecond},
	} {
		t.Run(tt.role, func(t *testing.T) {
			for i := range tt.kills {
				killHost(t, tt.role, tt.pause*time.Duration(i)/time.Duration(tt.kills))
			}
		})
	}
}

func killHost(t *testing.T, role string, after time.Duration) {
	t.Helper()
	before, files := mountsNow(t), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(self)
	host.Env = append(os.Environ(), hostVariable+"="+role, programVariable+"="+program, "TMPDIR="+files)
	host.Dir = files
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	pid := host.Process.Pid
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("the host said %q, %v", line, err)
	}
	time.Sleep(after) // chooses the point of the kill
	sockets := hostSockets(pid)
	if len(sockets) == 0 && role != "launch" {
		t.Error("no socket is seen, so its end would not be either")
	}
	_ = host.Process.Kill()
	killed := time.Now()
	_ = host.Wait()
	livetest.Eventually(t, "every process is gone", func() bool { return len(orphans(t)) == 0 })
	if took := time.Since(killed); took > time.Second {
		t.Errorf("the last process was gone after %v", took)
	}
	if left := leftSockets(t, sockets); len(left) > 0 {
		t.Errorf("sockets are left: %q", left)
	}
	if after := mountsNow(t); after != before {
		t.Errorf("the mounts were\n%sand are\n%s", before, after)
	}
	if left, err := os.ReadDir(files); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	if len(groupsOf(pid)) > 0 { // the next host takes them away
		launchElsewhere(t)
		if left := groupsOf(pid); len(left) > 0 {
			t.Errorf("control groups are left: %q", left)
		}
	}
}

// launchElsewhere launches and closes a satellite in a host process of its own.
func launchElsewhere(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(self)
	host.Env = append(os.Environ(), hostVariable+"=once", programVariable+"="+program)
	if out, err := host.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Two hundred launches at once leave no descriptor, goroutine or process.
func TestStormOfLaunchesLeavesNothing(t *testing.T) {
	const launches = 200
	if err := adoptive(); err != nil {
		t.Fatal(err)
	}
	launch(t, Config{}).Close()
	livetest.Eventually(t, "the children of tests before are gone", func() bool { return len(orphans(t)) == 0 })
	before := openFiles(t)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range launches {
		wg.Go(func() {
			<-start
			s, err := Launch(context.Background(), Config{Image: image, Jail: jail.Options{}})
			if err != nil {
				t.Error(err)
				return
			}
			alive(t, s)
			s.Close()
		})
	}
	began := time.Now()
	close(start)
	wg.Wait()
	t.Logf("%d launches, calls and closes in %v", launches, time.Since(began))
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if left := orphans(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestEndedSaysWhatTheNextCallIsTold(t *testing.T) {
	for _, name := range []string{"exit", "spin", "close"} {
		t.Run(name, func(t *testing.T) {
			s := launch(t, Config{})
			if err := s.Ended(); err != nil {
				t.Fatal(err)
			}
			if _, err := call(s, name, 20*time.Millisecond); err == nil {
				t.Fatal("it answered")
			}
			ended := s.Ended()
			_, err := call(s, "echo", 0)
			if ended == nil || err == nil || ended.Error() != err.Error() {
				t.Errorf("%v, and the call was told %v", ended, err)
			}
		})
	}
}

func TestOutputIsPassedOnAsItComes(t *testing.T) {
	from, to := io.Pipe()
	s := launch(t, Config{Output: to})
	t.Cleanup(func() { _ = from.Close() }) // before the satellite is closed
	go func() { _, _ = call(s, "lines 3", 0) }()
	got := bufio.NewScanner(from)
	for n := range 3 {
		if !got.Scan() || got.Text() == "" {
			t.Fatalf("%d lines came: %v", n, got.Err())
		}
	}
}
