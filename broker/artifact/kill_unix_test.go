//go:build unix

package artifact

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// writerVariable makes this test's program one that fills the store it names until it is killed.
const writerVariable = "LOOMEXT_TEST_ARTIFACT_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVariable); dir != "" {
		s := Open(dir)
		for n := 0; ; n++ {
			if _, err := s.Put(chart, []byte(strings.Repeat("x", n%4096))); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println("kept")
		}
	}
	goleak.VerifyTestMain(m)
}

func TestAKilledProcessLeavesWholeArtifacts(t *testing.T) {
	dir := t.TempDir()
	for round := range 10 {
		writer := exec.Command(os.Args[0])
		writer.Env = append(os.Environ(), writerVariable+"="+dir)
		out, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 3 + round {
			if !lines.Scan() || lines.Text() != "kept" {
				t.Fatalf("the writer says %q, %v", lines.Text(), lines.Err())
			}
		}
		if err := writer.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = writer.Wait()
	}
	s := Open(dir)
	all, err := s.List()
	if err != nil || len(all) < 10*3 {
		t.Fatalf("%d artifacts, %v", len(all), err)
	}
	for _, a := range all {
		path, err := s.Path(a.ID)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		digest := sha256.Sum256(data)
		if err != nil || hex.EncodeToString(digest[:]) != a.SHA256 {
			t.Errorf("%+v: %v", a, err)
		}
		if err := s.Remove(a.ID); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	for _, entry := range left {
		if err := os.Chtimes(s.path(entry.Name()), long, long); err != nil {
			t.Fatal(err)
		}
	}
	last := put(t, s, chart, "last")
	if left, err = os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("beside %s there are %v, %v", last.ID, left, err)
	}
}
