//go:build amd64 || arm64

package jail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
	"go.uber.org/goleak"
)

// child is the program built from testdata/child, once per run.
var child string

// hostVariable makes the test binary act as a host program: it names what to do.
const hostVariable = "JAIL_TEST_HOST"

func TestMain(m *testing.M) {
	Main()
	if role := os.Getenv(hostVariable); role != "" {
		os.Exit(actAsHost(role))
	}
	dir, err := os.MkdirTemp("", "jail-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Chmod(dir, 0o755) // for programs under a user of their own
	child = filepath.Join(dir, "child")
	build := exec.Command("go", "build", "-o", child, "./testdata/child")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the child: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// actAsHost runs in a copy of the test binary.
func actAsHost(role string) int {
	spec := Spec{Path: os.Args[1], Args: os.Args[2:], Stdout: os.Stdout}
	switch role {
	case "wait for a command's death":
		return actAsCommandsHost(os.Args[1])
	case "wait for death", "wait for a build's death": // to be killed while its child lives
		if role != "wait for death" {
			spec.Profile, spec.ReadOnly = Build, []string{filepath.Dir(spec.Path)}
		}
		c, err := Start(context.Background(), spec, Options{})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Printf("pid %d\n", c.PID())
		select {}
	case "namespaces forbidden", "namespaces forbidden, best effort":
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			fmt.Println(err)
			return 1
		}
		f, err := os.Open(spec.Path)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		image, err := sealReader(f)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		spec.Profile, spec.Image = Satellite, image
		c, err := Start(context.Background(), spec, Options{BestEffort: role != "namespaces forbidden"})
		if err != nil {
			var fault *Error
			errors.As(err, &fault)
			fmt.Println(err, errnoName(fault.Err))
			return 3
		}
		exit, err := c.Wait()
		fmt.Println(c.Report().Level, exit, err)
		return 0
	case "launch for ever":
		f, err := os.Open(spec.Path)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		image, err := sealReader(f)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		spec.Profile, spec.Image, spec.Stdout, spec.Env = Satellite, image, nil, os.Environ()
		for i := 0; ; i++ {
			if _, err := Start(context.Background(), spec, Options{}); err != nil {
				fmt.Println(err)
				return 1
			}
			if i == 0 {
				fmt.Println("launching")
			}
		}
	case "look": // from a host with a terminal
		c, err := Start(context.Background(), spec, Options{})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		<-c.Done()
		return 0
	}
	return 2
}

// printed collects what a program writes, for a test that waits for a line.
type printed struct {
	lines chan string
	rest  []byte
}

func newPrinted() *printed { return &printed{lines: make(chan string, 64)} }

func (p *printed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		line, rest, found := bytes.Cut(p.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		p.rest = rest
		p.lines <- string(line)
	}
}

func (p *printed) line(t *testing.T) string {
	t.Helper()
	select {
	case line := <-p.lines:
		return line
	case <-time.After(20 * time.Second):
		t.Fatal("the program printed nothing")
		return ""
	}
}

// relatives are the living processes that run the child program, by the host's
// own numbers for them.
func relatives(t *testing.T) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != child {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil && livetest.Running(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// childImage is the child program, sealed.
func childImage(t testing.TB) *Image {
	t.Helper()
	f, err := os.Open(child)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	image, err := sealReader(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = image.Close() })
	return image
}

// satelliteSpec runs the child program as a satellite.
func satelliteSpec(t testing.TB, args ...string) Spec {
	return Spec{Path: "/satellite", Image: childImage(t), Args: args, Profile: Satellite, Limits: Limits{CPU: time.Minute, DataBytes: 1 << 30}}
}

func mustStart(t *testing.T, s Spec) *Command {
	t.Helper()
	if s.Path == "" {
		s.Path = child
	}
	c, err := Start(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Kill(); <-c.Done() })
	return c
}

func mustWait(t *testing.T, c *Command) Exit {
	t.Helper()
	exit, err := c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit
}
