package build

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/jail"
)

// tested runs the go test of some files.
func tested(t *testing.T, files map[string]string, flags ...string) (TestResult, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	run := TestRun{Module: "example.com/tested", Files: map[string][]byte{}, Flags: flags}
	for name, text := range files {
		run.Files[name] = []byte(text)
	}
	var out bytes.Buffer
	run.Output = &out
	began := time.Now()
	b := &Builder{Cache: shared}
	result, err := b.Test(t.Context(), run)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), result.Stderr)
	}
	t.Logf("%s", time.Since(began))
	noStages(t, shared)
	return result, out.String() + result.Stderr
}

const helloTest = `package hello

import (
	"os"
	"testing"

	"github.com/loomext/loomext/prelude/cap/captest"
)

func TestHello(t *testing.T) {
	if Hello != "hello" {
		t.Error(Hello)
	}
	data, err := os.ReadFile("testdata/golden")
	if err != nil || string(data) != "golden" {
		t.Errorf("%s, %v", data, err)
	}
	if err := os.WriteFile(t.TempDir()+"/x", data, 0o644); err != nil {
		t.Error(err)
	}
	captest.New(t).Ctx().Report("hello")
}
`

func TestAnAuthorsTestsRun(t *testing.T) {
	files := map[string]string{"hello/hello.go": "package hello\n\nconst Hello = \"hello\"\n", "hello/hello_test.go": helloTest, "hello/testdata/golden": "golden"}
	result, said := tested(t, files)
	if !result.Passed || !strings.Contains(said, "ok  \texample.com/tested/hello") {
		t.Errorf("%+v\n%s", result, said)
	}
	files["hello/hello.go"] = "package hello\n\nconst Hello = \"bye\"\n"
	result, said = tested(t, files, "-v")
	if result.Passed || result.Bound != "" || !strings.Contains(said, "--- FAIL: TestHello") {
		t.Errorf("%+v\n%s", result, said)
	}
}

// hostileTest tries to get at the host, and fails where it gets anything.
const hostileTest = `package hostile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func refused(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Error("REACHED: " + what)
	} else {
		t.Log(what + ": " + err.Error())
	}
}

func TestReads(t *testing.T) {
	for _, name := range []string{"/etc/passwd", "/etc/hostname", "/root", "/home", "/var", "/proc/1/environ", "/proc/self/environ", %[1]q} {
		_, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) && !os.IsPermission(err) {
			t.Errorf("%%s: %%v", name, err)
		}
		refused(t, "read "+name, err)
		_, err = os.ReadDir(name)
		refused(t, "list "+name, err)
	}
}

func TestWrites(t *testing.T) {
	here, _ := os.Getwd()
	for _, dir := range []string{"/", "/tmp", "/dev", "/dev/shm", "/etc", here, filepath.Dir(here), os.Getenv("GOCACHE"), os.Getenv("GOROOT"), filepath.Dir(%[1]q)} {
		refused(t, "write in "+dir, os.WriteFile(filepath.Join(dir, "planted"), []byte("x"), 0o644))
	}
	refused(t, "overwrite", os.WriteFile("hostile_test.go", []byte("x"), 0o644))
	refused(t, "remove", os.Remove("hostile_test.go"))
	refused(t, "link out", os.Link(%[1]q, filepath.Join(t.TempDir(), "x")))
}

func TestSockets(t *testing.T) {
	for _, family := range []int{syscall.AF_INET, syscall.AF_INET6, syscall.AF_UNIX, syscall.AF_NETLINK, syscall.AF_PACKET} {
		for _, kind := range []int{syscall.SOCK_STREAM, syscall.SOCK_DGRAM, syscall.SOCK_RAW} {
			fd, err := syscall.Socket(family, kind, 0)
			if err == nil {
				refused(t, "connect", syscall.Connect(fd, &syscall.SockaddrInet4{Port: %[2]d, Addr: [4]byte{127, 0, 0, 1}}))
			}
			refused(t, "socket", err)
		}
	}
}

func TestOthers(t *testing.T) {
	refused(t, "signal the host", syscall.Kill(%[3]d, 0))
	for _, v := range os.Environ() {
		if strings.Contains(v, "a secret of the host") {
			t.Error("REACHED: " + v)
		}
		if strings.HasPrefix(v, "HOME=") {
			t.Error("REACHED: " + v)
		}
	}
	if os.Getuid() == 0 && %[4]t {
		t.Error("REACHED: user 0")
	}
}
`

func TestAHostileTestStaysInTheJail(t *testing.T) {
	if level := jail.Inspect().Level; !level.Default() {
		t.Skipf("skipped layer: namespaces: this machine has level %q", level)
	}
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("a secret of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	for parent := dir; parent != "/"; parent = filepath.Dir(parent) {
		_ = os.Chmod(parent, 0o755) // whoever the jail makes of us could read it
	}
	t.Setenv("LOOM_TEST_SECRET", "a secret of the host")
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	connected := make(chan bool, 1)
	go func() {
		_, err := listener.Accept()
		connected <- err == nil
	}()
	text := fmt.Sprintf(hostileTest, secret, listener.Addr().(*net.TCPAddr).Port, os.Getpid(), os.Geteuid() == 0)
	result, said := tested(t, map[string]string{"hostile/hostile.go": "package hostile\n", "hostile/hostile_test.go": text}, "-v")
	if !result.Passed || strings.Contains(said, "REACHED") || !strings.Contains(said, "--- PASS: TestSockets") {
		t.Errorf("%+v\n%s", result, said)
	}
	listener.Close()
	if <-connected {
		t.Error("it connected to the host")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := os.Stat("/tmp/planted"); err == nil {
		t.Error("/tmp/planted is there")
	}
}

// bombTest starts itself until it cannot any more, and every one of them sleeps for an hour.
const bombTest = `package bomb

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == %[1]q {
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

func TestBomb(t *testing.T) {
	var err error
	n := 0
	for ; n < 5000 && err == nil; n++ {
		err = exec.Command(os.Args[0], %[1]q).Start()
	}
	if err == nil {
		t.Fatal("REACHED: 5000 processes")
	}
	fmt.Println("ended at", n < 1024, err)
}
`

func TestABombOfProcessesEndsAtTheLimit(t *testing.T) {
	marker := "bomb-" + unique(t)
	result, said := tested(t, map[string]string{"bomb/bomb.go": "package bomb\n", "bomb/bomb_test.go": fmt.Sprintf(bombTest, marker)}, "-v")
	if !strings.Contains(said, "ended at true") && result.Passed {
		t.Errorf("%+v\n%s", result, said)
	}
	if strings.Contains(said, "REACHED") {
		t.Error(said)
	}
	if left := processesWith(t, marker); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// processesWith are the processes whose command line has a text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Fatal("no /proc to look into", err)
	}
	var found []string
	for _, line := range lines {
		data, err := os.ReadFile(line)
		if err == nil && bytes.Contains(data, []byte(text)) {
			found = append(found, line)
		}
	}
	return found
}

func TestATestThatHangsIsEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	b := &Builder{Cache: shared}
	files := map[string][]byte{"hang/hang_test.go": []byte("package hang\n\nimport \"testing\"\n\nfunc TestHang(t *testing.T) { select {} }\n")}
	var out bytes.Buffer
	result, err := b.Test(t.Context(), TestRun{Module: "example.com/hang", Files: files, Timeout: time.Second, Output: &out})
	if err != nil || result.Passed || !strings.Contains(out.String(), "panic: test timed out after 1s") {
		t.Errorf("%+v, %v\n%s", result, err, out.String())
	}
	// One that never looks at its clock.
	b.bounds.wall = 2 * time.Second
	files["hang/hang_test.go"] = []byte("package hang\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestMain(m *testing.M) {\n\tfor {\n\t\ttime.Sleep(time.Hour)\n\t}\n}\n")
	result, err = b.Test(t.Context(), TestRun{Module: "example.com/hang", Files: files, Timeout: 4 * time.Second})
	if err != nil || result.Passed || !strings.Contains(result.Bound, "longer than their bound of 6s") || !strings.Contains(result.Fix, "-timeout 10s -v") {
		t.Errorf("%+v, %v", result, err)
	}
	noStages(t, shared)
}

// The go command keeps what a package writes until its tests are done, and dies of too much of it.
func TestAFloodOfOutputIsEndedWithASentence(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	b := &Builder{Cache: shared, bounds: bounds{data: 512 << 20}}
	text := `package flood

import (
	"bytes"
	"os"
	"testing"
)

func TestFlood(t *testing.T) {
	line := append(bytes.Repeat([]byte("x"), 1<<20), '\n')
	for range %d {
		if _, err := os.Stdout.Write(line); err != nil {
			return
		}
	}
	t.Fail()
}
`
	for name, c := range map[string]struct {
		megabytes int
		flags     []string
		want      string
	}{
		"as it comes": {1000, []string{"-v"}, "the tests wrote more than 64 MiB and were ended"},
		"at the end":  {80, nil, "the tests wrote more than 64 MiB and were ended"},
		"kept":        {1000, nil, "the tests wrote more than 64 MiB, which the go command keeps until they are done, and were ended where it came to its bound of 512 MiB of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string][]byte{"flood/flood_test.go": fmt.Appendf(nil, text, c.megabytes)}
			result, err := b.Test(t.Context(), TestRun{Module: "example.com/flood", Files: files, Flags: c.flags})
			if err != nil || result.Passed || result.Bound != c.want || result.Fix != writeLess || strings.Contains(result.Stderr, "goroutine") {
				t.Errorf("%+v, %v", result, err)
			}
			noStages(t, shared)
		})
	}
}

func TestARefusedCallIsNamed(t *testing.T) {
	number := map[string]int{"amd64": 101, "arm64": 117}[runtime.GOARCH]
	text := fmt.Sprintf("package trace\n\nimport (\n\t\"syscall\"\n\t\"testing\"\n)\n\nfunc TestTrace(t *testing.T) { syscall.Syscall(%d, 0, 0, 0) }\n", number)
	result, said := tested(t, map[string]string{"trace/trace_test.go": text})
	if result.Passed || !strings.Contains(result.Bound+said, "system call") {
		t.Errorf("%+v\n%s", result, said)
	}
	t.Log(result.Bound)
}
