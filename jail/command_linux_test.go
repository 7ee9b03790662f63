//go:build amd64 || arm64

package jail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
	"golang.org/x/sys/unix"
)

const megabyte = 1 << 20

func TestExitStatusAndSignalAreNamed(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"exit", "0"}, "exit status 0"},
		{[]string{"exit", "3"}, "exit status 3"},
		{[]string{"segv"}, "exit status 2"}, // the Go runtime reports it itself
	} {
		exit := mustWait(t, mustStart(t, Spec{Args: c.args}))
		if exit.String() != c.want || exit.OK() != (c.want == "exit status 0") {
			t.Errorf("%v: %v, want %s", c.args, exit, c.want)
		}
	}
	shell := mustStart(t, Spec{Path: "/bin/sh", Args: []string{"-c", "kill -SEGV $$"}})
	if exit := mustWait(t, shell); exit.Signal != "SIGSEGV" || exit.Code != -1 || exit.Killed {
		t.Errorf("%+v", exit)
	}
}

func TestBoundsEndTheProgramAndAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "big")
	t.Run("cpu", func(t *testing.T) {
		exit := mustWait(t, mustStart(t, Spec{Args: []string{"spin"}, Limits: Limits{CPU: time.Second}}))
		if exit.Bound != BoundCPU || exit.Killed || exit.String() != "SIGKILL (cpu limit)" {
			t.Errorf("%+v", exit)
		}
	})
	t.Run("memory", func(t *testing.T) {
		c := mustStart(t, Spec{Args: []string{"heap"}, Limits: Limits{DataBytes: DataFloor + 64*megabyte}})
		exit := mustWait(t, c)
		if exit.Bound != BoundMemory || exit.Code != 2 || exit.ResidentBytes > 200*megabyte {
			t.Errorf("%v, %d MiB resident: %s", exit, exit.ResidentBytes>>20, c.Stderr())
		}
	})
	t.Run("address space", func(t *testing.T) {
		exit := mustWait(t, mustStart(t, Spec{Args: []string{"heap"}, Limits: Limits{AddressBytes: 2 << 30, CPU: 30 * time.Second}}))
		if exit.Bound != BoundMemory {
			t.Errorf("%+v", exit)
		}
	})
	t.Run("file size", func(t *testing.T) {
		c := mustStart(t, Spec{Args: []string{"file", file}, Limits: Limits{FileBytes: megabyte}})
		if exit := mustWait(t, c); exit.Code != 5 || !strings.Contains(c.Stderr(), "file too large") {
			t.Errorf("%+v: %s", exit, c.Stderr())
		}
		if info, err := os.Stat(file); err != nil || info.Size() != megabyte {
			t.Errorf("%v, %v", info, err)
		}
	})
	t.Run("file size of a program that dies of the signal", func(t *testing.T) {
		c := mustStart(t, Spec{Path: "/bin/sh", Args: []string{"-c", "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaa; done > " + file}, Limits: Limits{FileBytes: 4096}})
		if exit := mustWait(t, c); exit.Bound != BoundFileSize && exit.OK() {
			t.Errorf("%+v", exit)
		}
	})
	t.Run("no file at all", func(t *testing.T) {
		c := mustStart(t, Spec{Args: []string{"file", file}, Limits: Limits{FileBytes: Nothing}})
		if exit := mustWait(t, c); exit.Code != 5 {
			t.Errorf("%+v", exit)
		}
	})
	t.Run("descriptors", func(t *testing.T) {
		var out bytes.Buffer
		mustWait(t, mustStart(t, Spec{Args: []string{"fds"}, Stdout: &out, Limits: Limits{Descriptors: 20}}))
		if n, _ := strconv.Atoi(strings.TrimSpace(out.String())); n < 5 || n > 17 {
			t.Errorf("%q descriptors opened of 20", out.String())
		}
	})
}

func TestFloodOfStderrIsReadWholeAndKeptInPart(t *testing.T) {
	c := mustStart(t, Spec{Args: []string{"flood", strconv.Itoa(64 * megabyte)}, StderrCap: 8 << 10})
	if exit := mustWait(t, c); !exit.OK() {
		t.Fatal(exit)
	}
	text := c.Stderr()
	if len(text) > 9<<10 || !strings.HasPrefix(text, "first words\n") || !strings.HasSuffix(text, "last words\n") || !strings.Contains(text, "bytes left out") {
		t.Errorf("%d bytes: %.40q … %q", len(text), text, text[max(0, len(text)-40):])
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriterThatFailsDoesNotStopTheProgram(t *testing.T) {
	c := mustStart(t, Spec{Path: "/bin/sh", Args: []string{"-c", "i=0; while [ $i -lt 20000 ]; do echo aaaaaaaaaaaaaaaa; i=$((i+1)); done; exit 4"}, Stdout: brokenWriter{}})
	exit, err := c.Wait()
	if exit.Code != 4 || err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("%v, %v", exit, err)
	}
}

func TestKillEndsGrandchildren(t *testing.T) {
	for _, way := range []string{"kill", "context"} {
		t.Run(way, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := newPrinted()
			c, err := Start(ctx, Spec{Path: child, Args: []string{"family"}, Stdout: out}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			out.line(t) // the grandchild is there
			if family := relatives(t); len(family) != 3 {
				t.Fatalf("the family is %v", family)
			}
			if way == "kill" {
				c.Kill()
			} else {
				cancel()
			}
			if exit := mustWait(t, c); !exit.Killed || exit.Signal != "SIGKILL" {
				t.Errorf("%+v", exit)
			}
			livetest.Eventually(t, "the family ends", func() bool { return len(relatives(t)) == 0 })
			c.Kill() // of what is gone, does nothing
		})
	}
}

func TestWhatALeaderLeavesBehindIsKilled(t *testing.T) {
	out := newPrinted()
	c := mustStart(t, Spec{Args: []string{"family", "leave"}, Stdout: out})
	out.line(t)
	if exit := mustWait(t, c); !exit.OK() {
		t.Errorf("%+v", exit)
	}
	livetest.Eventually(t, "what it left ends", func() bool { return len(relatives(t)) == 0 })
}

// A process that leaves the group and keeps the pipes open delays the end by a
// bounded time and no more. A build's does not outlive it at all.
func TestEscapedProcessDoesNotHoldTheEnd(t *testing.T) {
	for name, profile := range map[string]Profile{"plain": Plain, "build": Build} {
		t.Run(name, func(t *testing.T) {
			out := newPrinted()
			spec := Spec{Args: []string{"session"}, Stdout: out, Profile: profile}
			if profile == Build {
				spec.ReadOnly = []string{filepath.Dir(child)}
			}
			c := mustStart(t, spec)
			out.line(t)
			defer func() {
				for _, pid := range relatives(t) {
					_ = unix.Kill(pid, unix.SIGKILL)
				}
				livetest.Eventually(t, "the escaped end", func() bool { return len(relatives(t)) == 0 })
			}()
			c.Kill()
			mustWait(t, c)
			if profile == Build {
				livetest.Eventually(t, "all of it ends", func() bool { return len(relatives(t)) == 0 })
			} else if len(relatives(t)) == 0 {
				t.Error("nothing escaped, so nothing was tested")
			}
		})
	}
}

// The host's sudden death ends the whole tree of a build.
func TestHostsSuddenDeathEndsATree(t *testing.T) {
	host := exec.Command("/proc/self/exe", child, "family")
	host.Env = append(os.Environ(), hostVariable+"=wait for a build's death")
	out := newPrinted()
	host.Stdout = out
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer host.Wait()
	defer host.Process.Kill()
	for range 2 { // its own identifier and the family's
		out.line(t)
	}
	if family := relatives(t); len(family) != 3 {
		t.Fatalf("the family is %v", family)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	livetest.Eventually(t, "the family ends", func() bool { return len(relatives(t)) == 0 })
}

func TestHostsSuddenDeathEndsTheProgram(t *testing.T) {
	host := exec.Command("/proc/self/exe", child, "sleep")
	host.Env = append(os.Environ(), hostVariable+"=wait for death")
	out := newPrinted()
	host.Stdout = out
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for pid == 0 {
		line := out.line(t)
		if rest, found := strings.CutPrefix(line, "pid "); found {
			pid, _ = strconv.Atoi(rest)
		} else if line != "ready" {
			t.Fatal(line)
		}
	}
	if !livetest.Running(pid) {
		t.Fatal("the child is not there")
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	livetest.Eventually(t, "the child ends", func() bool { return !livetest.Running(pid) })
}

// A host with a terminal must not share it.
func TestTerminalOfTheHostIsOutOfReach(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("skipped layer: process group: no pseudo-terminals here: ", err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("skipped layer: process group: no pseudo-terminals here: ", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip("skipped layer: process group: no pseudo-terminals here: ", err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("skipped layer: process group: no pseudo-terminals here: ", err)
	}
	defer slave.Close()
	var out bytes.Buffer
	host := exec.Command("/proc/self/exe", child, "look")
	host.Env = append(os.Environ(), hostVariable+"=look")
	host.Stdin, host.Stdout, host.Stderr = slave, &out, &out
	host.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := host.Run(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	var got seen
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if got.Terminal || got.PGID != got.PID {
		t.Errorf("terminal %v, group %d of process %d", got.Terminal, got.PGID, got.PID)
	}
}

func TestFilesAreHandedOver(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// The pipe's writing end twice: the child reads nothing from 3 and exits.
	c := mustStart(t, Spec{Path: "/bin/sh", Args: []string{"-c", "echo over >&3; echo and out >&4"}, Files: []*os.File{w, w}})
	mustWait(t, c)
	w.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(r); err != nil || got.String() != "over\nand out\n" {
		t.Errorf("%q, %v", got.String(), err)
	}
}

func TestStormLeavesNoTrace(t *testing.T) {
	mustWait(t, mustStart(t, Spec{Args: []string{"exit", "0"}}))
	descriptorsBefore, goroutinesBefore, threadsBefore := descriptors(t), runtime.NumGoroutine(), threads(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				c, err := Start(context.Background(), Spec{Path: child, Args: []string{"exit", "0"}}, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if exit, err := c.Wait(); err != nil || !exit.OK() {
					t.Errorf("%v, %v", exit, err)
				}
			}
		})
	}
	wg.Wait()
	if after := descriptors(t); after > descriptorsBefore {
		t.Errorf("%d descriptors, %d before", after, descriptorsBefore)
	}
	livetest.Eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= goroutinesBefore })
	// The runtime keeps a few idle threads for the four that launch; two hundred
	// launches must not leave a thread each.
	if after := threads(t); after > threadsBefore+10 {
		t.Errorf("%d threads, %d before", after, threadsBefore)
	}
}

func TestManyCommandsShareOneThread(t *testing.T) {
	before := threads(t)
	var all []*Command
	for range 30 {
		out := newPrinted()
		all = append(all, mustStart(t, Spec{Args: []string{"sleep"}, Stdout: out}))
		out.line(t)
	}
	if after := threads(t); after > before+8 {
		t.Errorf("%d threads for 30 commands, %d before", after, before)
	}
	for _, c := range all {
		c.Kill()
	}
	var wg sync.WaitGroup
	for _, c := range all {
		for range 3 {
			wg.Go(func() {
				if exit, err := c.Wait(); err != nil || !exit.Killed {
					t.Errorf("%v, %v", exit, err)
				}
			})
		}
	}
	wg.Wait()
}

func threads(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func BenchmarkStart(b *testing.B) {
	spec := satelliteSpec(b, "exit", "0")
	for b.Loop() {
		c, err := Start(context.Background(), spec, Options{})
		if err != nil {
			b.Fatal(err)
		}
		<-c.Done()
	}
}

func BenchmarkBareForkExec(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command(child, "exit", "0")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestJoinedOutputIsOneText(t *testing.T) {
	c := mustStart(t, Spec{Path: "/bin/sh", Args: []string{"-c", "echo one; echo two >&2; echo three"}, Joined: true})
	if exit := mustWait(t, c); !exit.OK() || c.Stderr() != "one\ntwo\nthree\n" {
		t.Errorf("%v: %q", exit, c.Stderr())
	}
	if _, err := Start(t.Context(), Spec{Path: "/bin/sh", Joined: true, Stdout: io.Discard}, Options{}); err == nil {
		t.Error("an output in two places is accepted")
	}
}

// A limit above the host's own never raises it, not even for a host that may.
func TestLimitIsNeverRaised(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	c := mustStart(t, Spec{Path: "/bin/sh", Args: []string{"-c", "ulimit -Hn >&2"}, Limits: Limits{Descriptors: int(own.Max) + 1}})
	if exit := mustWait(t, c); !exit.OK() || strings.TrimSpace(c.Stderr()) != strconv.FormatUint(own.Max, 10) {
		t.Errorf("%v: %q, want %d", exit, c.Stderr(), own.Max)
	}
}

func TestProcessorTimeOfARunningCommand(t *testing.T) {
	c := mustStart(t, Spec{Args: []string{"spin"}, Limits: Limits{CPU: time.Minute}})
	livetest.Eventually(t, "it has spun", func() bool { spent, known := c.CPU(); return known && spent > 50*time.Millisecond })
	spent, _ := c.CPU()
	c.Kill()
	exit, err := c.Wait()
	if err != nil || exit.CPU < spent/2 { // the kernel counts an ended process by ticks
		t.Errorf("%v of processor time while it ran, %v in the end, %v", spent, exit.CPU, err)
	}
	if _, known := c.CPU(); known {
		t.Error("a command that is gone has a processor time")
	}
}
