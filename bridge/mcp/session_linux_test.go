package mcp_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/record"
)

// recordedIn is a record that is closed after the bridge that is opened on it.
func recordedIn(t *testing.T) (path string, w *record.Writer) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.jsonl")
	w, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return path, w
}

// entries are those of a whole record, each with how it ended and its effects.
func entries(t *testing.T, path string) []string {
	t.Helper()
	r, err := record.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []string
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(e.Extension, " ", e.Name, " ", e.Answer.OK, e.Answer.Failed)
		for _, f := range e.Effects {
			text += fmt.Sprint(" ", f.Cap, " ", f.OK)
		}
		all = append(all, text)
	}
	if r.Damaged() > 0 || r.Cut() {
		t.Errorf("damage %v, cut %v", r.Damage(), r.Cut())
	}
	return all
}

func TestASessionHasAWorkspaceAndARecord(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		path, w := recordedIn(t)
		workspace := t.TempDir()
		s := open(t, mcp.Options{Only: []string{"desk"}, Workspace: workspace, Record: w})
		p := s.connect(t, revision, sdk.ClientOptions{})
		if got := p.said("do", args("write", "key", "note.txt", "text", "of a client")); got != "written" {
			t.Errorf("%q", got)
		}
		if text, err := os.ReadFile(filepath.Join(workspace, "note.txt")); err != nil || string(text) != "of a client" {
			t.Errorf("%q, %v", text, err)
		}
		p.fails("do", args("write", "key", "../note.txt", "text", "elsewhere"), "refused")
		s.Close()
		want := []string{"desk do true fs.write true", "desk do falserefused fs.write false"}
		if got := entries(t, path); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestAStartAheadOfNeedIsNoFailedCallOfARecord(t *testing.T) {
	path, w := recordedIn(t)
	s := open(t, mcp.Options{Only: []string{"desk"}, Warm: true, Record: w})
	livetest.Eventually(t, "desk is there", func() bool { return len(s.pids()) > 0 })
	p := s.connect(t, stateless, sdk.ClientOptions{})
	p.said("do", args("echo"))
	s.Close()
	if got, want := entries(t, path), []string{"desk do true"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
