package install_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/loomext/loomext/install"
)

func TestTheRecordHasWhatIsBoundForMCP(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	result := mustInstall(t, s, options(extension(t, "word", "one", bound)))
	want := &install.RecordMCP{
		Prompts: []install.RecordPrompt{{Name: "say_it", Description: "Say it some times.", Tool: "say"}},
		Resources: []install.RecordResource{
			{URI: "words://said/{n}", Name: "said_often", Description: "Said some times.", MIMEType: "text/markdown", Tool: "say"},
			{URI: "words:said", Name: "said", MIMEType: "text/plain", Tool: "say"},
		},
	}
	record, err := s.Record("word")
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]*install.RecordMCP{
		"approval": result.Approval.MCP, "result": result.Record.MCP, "record": record.MCP, "load": load(t, s, "word").Record.MCP,
	} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if !record.MCP.Binds("say") || record.MCP.Binds("said") {
		t.Error("the bound tool is not the one that is said to be")
	}
}

// TestNothingBoundLeavesTheRecordAsItWas holds that a record of an extension without prompts
// and resources has no word of them, as those that were written before there were any.
func TestNothingBoundLeavesTheRecordAsItWas(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	result := mustInstall(t, s, options(extension(t, "word", "one")))
	text, err := os.ReadFile(filepath.Join(result.Generation, "install.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	if _, there := fields["mcp"]; there || bytes.Contains(fields["seal"], []byte(`"mcp"`)) {
		t.Errorf("%s", text)
	}
	if result.Record.MCP.Binds("say") {
		t.Error("nothing binds the tool, and it is bound")
	}
}

// TestBindingsAreApprovedTerms holds that a record which lost its bindings is found out, and
// that an install which adds or takes them away says so.
func TestBindingsAreApprovedTerms(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	mustInstall(t, s, options(extension(t, "word", "one")))
	changed := func(result install.Result) (was, now string) {
		t.Helper()
		for _, change := range result.Approval.Changes {
			if change.Field == "mcp" {
				return string(change.Was), string(change.Now)
			}
		}
		t.Errorf("the changes are %+v", result.Approval.Changes)
		return "", ""
	}
	added := mustInstall(t, s, options(extension(t, "word", "one", bound)))
	if was, now := changed(added); was != "" || !strings.Contains(now, `"say_it"`) {
		t.Errorf("added: %s → %s", was, now)
	}
	if err := install.Forge(s, "word", func(r *install.Record) { r.MCP = nil }); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, s, false); !strings.Contains(failed(v)["manifest"], "mcp") {
		t.Errorf("verify says %v", failed(v))
	}
	mustInstall(t, s, options(extension(t, "word", "one", bound)))
	gone := mustInstall(t, s, options(extension(t, "word", "one")))
	if was, now := changed(gone); !strings.Contains(was, `"say_it"`) || now != "" {
		t.Errorf("taken away: %s → %s", was, now)
	}
}
