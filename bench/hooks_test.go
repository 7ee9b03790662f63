package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConversationHasItsLength(t *testing.T) {
	for _, size := range []int{1, smallArgs, foldSize} {
		var length int
		for _, m := range conversation(size) {
			if length += len(m); !json.Valid(m) {
				t.Fatalf("no JSON: %.100s", m)
			}
		}
		if length < size || length > size+2*smallArgs {
			t.Errorf("%d bytes for %d", length, size)
		}
	}
}

func TestUndeclaredEventMayAllocateNothing(t *testing.T) {
	for _, c := range []struct {
		found undeclaredFound
		want  string
	}{
		{undeclaredFound{"usage", 9.53, 0}, verdictOK},
		{undeclaredFound{"usage", 200, 0}, verdictOK},
		{undeclaredFound{"usage", 200.1, 0}, verdictOver},
		{undeclaredFound{"usage", 9.53, 1}, verdictOver},
	} {
		if r := c.found.row(); r.verdict != c.want || r.floors != exact || r.limit != "≤ 200 ns" || !strings.HasPrefix(r.note, "usage, the slowest of nine") {
			t.Errorf("%+v", r)
		}
	}
}

// The extension is installed under other names, so its own has to stand where it is looked for.
func TestHookedExtensionCanBeRenamed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", hookedSource, "extension.toml"))
	if err != nil || strings.Count(string(text), `"`+hookedSource+`"`) != 1 {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestPassesGiveAFaultAway(t *testing.T) {
	if passes([]byte(`{"messages":[]}`)) != nil || passes([]byte(`{"messages":[`)) == nil {
		t.Error("half a document passes, or a whole one does not")
	}
}
