//go:build amd64 || arm64

package jail

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCallNames(t *testing.T) {
	for _, c := range []struct {
		goarch string
		nr     int
		want   string
	}{
		{"amd64", 0, "read"}, {"amd64", 41, "socket"}, {"amd64", 435, "clone3"}, {"amd64", 469, "file_setattr"},
		{"arm64", 63, "read"}, {"arm64", 198, "socket"}, {"arm64", 435, "clone3"}, {"arm64", 469, "file_setattr"},
		{runtime.GOARCH, unix.SYS_OPENAT, "openat"}, {runtime.GOARCH, unix.SYS_EXECVEAT, "execveat"},
		{"amd64", -1, "system call -1"}, {"amd64", 100000, "system call 100000"}, {"arm64", 300, "system call 300"}, {"mips", 1, "system call 1"},
	} {
		if got := callName(c.goarch, c.nr); got != c.want {
			t.Errorf("%s %d is %q, want %q", c.goarch, c.nr, got, c.want)
		}
	}
}

// TestTheTableOfCallsIsCurrent generates it anew.
func TestTheTableOfCallsIsCurrent(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "table.go")
	if out, err := exec.Command("go", "run", "syscalls_generate.go", "-o", fresh).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("syscalls_table_linux.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("syscalls_table_linux.go is not what golang.org/x/sys has; run make generate")
	}
}
