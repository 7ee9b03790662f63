package proc

import (
	"os"
	"strings"
	"testing"
)

func TestTry(t *testing.T) {
	dir := t.TempDir()
	f, _ := os.Open(dir)
	defer f.Close()
	r := New(Options{Workspace: f, Terms: Terms{Commands: [][]string{{"sh"}}, Write: true}, Protected: []string{".git", ".envrc", "a/b/c"}})
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	res, err := r.Run(t.Context(), Request{Argv: []string{"sh", "-c", os.Getenv("TRY")}, Stdin: []byte("hello\n")})
	t.Logf("%d %v %v\n%s\n%s", res.Exit, res.Truncated, err, res.Stdout, res.Stderr)
	e, _ := os.ReadDir(dir)
	t.Log(e)
	_ = strings.Join
}
