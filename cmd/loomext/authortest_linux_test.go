package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A signal ends a run of tests with all that it started.
func TestASignalEndsAnAuthorsTests(t *testing.T) {
	w := newWorld(t, sharedCache)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/hang\n",
		"hang/hang_test.go": `package hang

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "sleep" {
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

func TestHang(t *testing.T) {
	fmt.Println("started", exec.Command(os.Args[0], "sleep").Start())
	time.Sleep(time.Hour)
}
`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out watched
	cmd := w.command("test", dir, "--", "-v")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the test", func() bool { return strings.Contains(out.String(), "started <nil>\n") })
	_ = cmd.Process.Signal(syscall.SIGINT)
	if got := exitCode(cmd.Wait()); got != 130 {
		t.Errorf("status %d, want 130; it said\n%s", got, out.String())
	}
	if want := "loomext: stopped by SIGINT before it was done; loomext test " + dir + " -- -timeout 10s -v shows where a test hangs\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("it said\n%s", out.String())
	}
	assertNothingLeft(t, filepath.Join(sharedCache, "loomext", "staging"))
	assertEmpty(t, filepath.Join(sharedCache, "loomext", "staging"))
}
