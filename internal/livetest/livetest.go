// Package livetest helps tests that run real processes on real files: it waits for what
// comes when it comes, says whether a process is still there, and clears away a store. It
// is for tests alone, and knows nothing of this project.
package livetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// patience is how long a condition is waited for: a machine may be busy.
	patience = 20 * time.Second
	// interval is how often it is looked at.
	interval = 2 * time.Millisecond
)

// Eventually waits until a condition holds, and fails the test where it never does.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(interval) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// Running reports whether a process is there and is no zombie. It looks at /proc.
func Running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

// RemoveAll removes a directory, those below it that may not be written included.
func RemoveAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
