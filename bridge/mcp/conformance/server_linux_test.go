package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
)

// passing is the extension that comes and goes.
const passing = "../testdata/passing"

const (
	// commandWithin bounds every run of the command that comes to its end by itself. A
	// first install compiles the standard library.
	commandWithin = 2 * time.Minute
	// endWithin is how long a server may take to end when it is told to.
	endWithin = 20 * time.Second
	// lookEvery is how often the operator looks for wishes. The suite waits a second and
	// a half for a change, of which the server takes up to one.
	lookEvery = 10 * time.Millisecond
)

// store is a home with extensions installed, and the command that serves it.
type store struct {
	program, home string
}

func newStore(t *testing.T) store {
	t.Helper()
	s := store{program: filepath.Join(t.TempDir(), "loomext"), home: filepath.Join(t.TempDir(), "home")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", s.program, "github.com/loomext/loomext/cmd/loomext")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the command cannot be built: %v\n%s", err, out)
	}
	t.Cleanup(func() { livetest.RemoveAll(s.home) }) // parts of it are read-only
	s.install(t, fixtureDir)
	s.install(t, passing)
	return s
}

func (s store) install(t *testing.T, source string) {
	t.Helper()
	s.must(t, "install", source, "--yes")
}

func (s store) must(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	if out, err := exec.CommandContext(ctx, s.program, append([]string{"--home", s.home}, args...)...).CombinedOutput(); err != nil {
		t.Errorf("loomext %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// address is where the line stands that says where the server listens.
var address = regexp.MustCompile(`http://[0-9.]+:[0-9]+/\S*`)

// serve starts the server over HTTP and gives its address. It ends with the test.
func (s store) serve(t *testing.T) string {
	t.Helper()
	server := exec.Command(s.program, "--home", s.home, "mcp", "--http", "127.0.0.1:0", "--no-token")
	said, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	listens := make(chan string, 1)
	var log strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			log.WriteString(lines.Text() + "\n")
			if at := address.FindString(lines.Text()); at != "" {
				select {
				case listens <- at:
				default:
				}
			}
		}
	}()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		killed := time.AfterFunc(endWithin, func() { _ = server.Process.Kill() })
		<-read
		err := server.Wait()
		if !killed.Stop() {
			t.Errorf("the server did not end within %s of being told to", endWithin)
		}
		if t.Failed() {
			t.Logf("the server ended with %v and had said:\n%s", err, log.String())
		}
	})
	select {
	case at := <-listens:
		return at
	case <-read:
		t.Fatal("the server ended before it listened")
	case <-time.After(commandWithin):
		t.Fatal("the server does not say where it listens")
	}
	return ""
}

// wishes are the artifacts by which the extension asks for other tools or prompts.
var wishes = map[string]bool{"change-tools": true, "change-prompts": true}

// operate plays the operator until the test ends: for each wish the extension that
// comes and goes, with its tool and its prompt, goes or comes. It gives back how many
// wishes it has granted.
func (s store) operate(t *testing.T) func() int {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	granted := 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		seen := map[string]bool{}
		there := true
		for ; ctx.Err() == nil; time.Sleep(lookEvery) {
			for range s.wished(t, seen) {
				if there {
					s.must(t, "remove", "passing")
				} else {
					s.install(t, passing)
				}
				there = !there
				mu.Lock()
				granted++
				mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return granted
	}
}

// wished is the wishes among the artifacts that were not seen before.
func (s store) wished(t *testing.T, seen map[string]bool) []string {
	files, err := filepath.Glob(filepath.Join(s.home, "artifacts", "*.json"))
	if err != nil {
		t.Error(err)
		return nil
	}
	var names []string
	for _, file := range files {
		if seen[file] {
			continue
		}
		text, err := os.ReadFile(file)
		var known struct{ Name string }
		if err != nil || json.Unmarshal(text, &known) != nil {
			continue // it is being written
		}
		seen[file] = true
		if wishes[known.Name] {
			names = append(names, known.Name)
		}
	}
	return names
}
