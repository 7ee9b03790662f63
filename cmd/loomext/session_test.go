package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAWorkspaceThatCannotBeReadIsAMistakeOfTheCommandLine(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	err := checkWorkspace(dir, "")
	if err == nil || !strings.Contains(err.Error(), "it cannot be read: permission denied; name a directory that you may read") {
		t.Error(err)
	}
}
