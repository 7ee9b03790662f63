package install_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vet"
)

// many is a store of so many records, of four tools each, as long as those of real
// extensions are.
func many(t testing.TB, extensions int) *install.Store {
	t.Helper()
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	t.Cleanup(func() { livetest.RemoveAll(s.Home()) })
	for i := range extensions {
		if err := install.Plant(s, lifelike(t, fmt.Sprintf("extension%02d", i))); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func lifelike(t testing.TB, name string) install.Record {
	t.Helper()
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	seam := vet.CurrentSeam()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r := install.Record{
		Format: install.RecordFormat, Name: name, Version: "1.4.2", License: "Apache-2.0",
		Description: "Looks up, converts and compares what its four tools are asked for, \"exactly\".",
		Source:      "https://example.com/extensions/" + name, Module: "example.com/" + name,
		TreeDigest: digest, ArtifactDigest: digest, ArtifactSize: 2920574, PreludeDigest: digest, Revision: digest,
		Fingerprint: digest, ApprovalKey: digest, Seam: install.RecordSeam{Version: seam.Version, Allow: seam.Allow, Denied: seam.Denied},
		Files: map[string]string{}, Commands: [][]string{}, Config: []byte(`{"digits":12,"site":"https://example.com/a?b=c&d=<e>"}`), Overrides: []byte("{}"),
		Requested: []string{"clock", "kv", "net"}, Granted: []string{"clock", "kv", "net"},
		Net:       &install.RecordNet{Hosts: []string{"api.example.com"}, Methods: []string{"GET"}, MaxResponseBytes: 1 << 20, RequestsPerCall: 4, Secrets: []install.RecordSecret{{Env: "KEY", Host: "api.example.com", Header: "Authorization", Format: "Bearer %s"}}},
		Hooks:     []install.RecordHook{{Event: "session_start", Entry: "start"}},
		Toolchain: "go1.26.8", BuildEnv: []string{"CGO_ENABLED=0", "GOFLAGS=-mod=vendor", "GOOS=linux", "GOARCH=amd64"}, BuildFlags: []string{"-trimpath", "-buildvcs=false"},
		BuildJail:  jail.Report{Level: "full", Layers: []jail.Layer{{Name: "cgroup", State: jail.Skipped, Reason: "no cgroup can be made here", Errno: "EACCES", Remedy: "start it in a delegated cgroup"}}},
		ApprovedBy: "somebody", ApprovedHow: "prompt", ApprovedAt: at, InstalledAt: at,
	}
	for i := range 12 {
		r.BuildJail.Layers = append(r.BuildJail.Layers, jail.Layer{Name: fmt.Sprint("layer", i), State: jail.Enforced})
		r.Files[fmt.Sprintf("part%d/file%d.go", i, i)] = digest[len("sha256:"):]
	}
	for i := range 4 {
		r.Tools = append(r.Tools, install.RecordTool{
			Name: fmt.Sprintf("tool%d", i), Description: "Converts an amount from one unit of measure to another. Amounts are decimal text, so that nothing is rounded.",
			PromptSnippet: "tool: converts amounts between units", Parameters: "schema/tool.json", Entry: "tool", TimeoutMS: 30000, Schema: schema(t),
		})
	}
	return r
}

// schema is that of a tool with six arguments.
func schema(t testing.TB) json.RawMessage {
	t.Helper()
	properties := map[string]any{}
	for _, name := range []string{"amount", "from", "to", "precision", "locale", "notes"} {
		properties[name] = map[string]any{
			"type": "string", "description": "What the argument " + name + " means: at most a line or two — and \"never\" more.",
			"enum": []string{"meter", "kilometer", "mile"}, "maxLength": 200,
		}
	}
	text, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": []string{"amount", "from"}, "additionalProperties": false})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// An extension of which this is not true is listed slowly.
func TestARecordIsReadInOnePass(t *testing.T) {
	plain := lifelike(t, "plain")
	bound := lifelike(t, "bound")
	bound.MCP = &install.RecordMCP{Prompts: []install.RecordPrompt{{Name: "p", Description: "d", Tool: "tool0"}}, Resources: []install.RecordResource{}}
	bound.Description, bound.Net = "A \"quoted\" line\nand \\ another, — \u2028", nil
	for _, r := range []install.Record{plain, bound} {
		scanned, decoded, err := install.BothWays(r)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(scanned, decoded) || scanned.Name != r.Name || len(scanned.Tools) != len(r.Tools) {
			t.Errorf("%+v\n%+v", scanned, decoded)
		}
	}
}

// Whatever is read in one pass is read in the other way to the same record.
func FuzzRecord(f *testing.F) {
	r := lifelike(f, "plain")
	r.Tools, r.Files, r.Seam.Allow = r.Tools[:1], map[string]string{"a.go": "b"}, r.Seam.Allow[:1]
	text, err := install.Encode(r)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, piece := range []string{`{"format":1}`, `{"format":1,"name":"a","name":"b"}`, `{"format":1,"Name":"a"}`, `{"format":1,"net":null,"config":{"a":[1.5e3,-0,01]}}`, `{"format":1,"tools":null}`, `{"format":1,"name":"\ud800"}`, `{"format":1,"config":"\x"}`, `{"format":1}x`, "{\"format\":1,\"name\":\"\xff\"}"} {
		f.Add([]byte(piece))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		scanned, ok := install.ScanRecord(text)
		if !ok {
			return
		}
		decoded, err := install.DecodeRecord(text)
		if err != nil || !reflect.DeepEqual(scanned, decoded) {
			t.Errorf("%s\n%+v\n%+v, %v", text, scanned, decoded, err)
		}
	})
}

func TestGenerationsSayWhatListReads(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "none"))
	if generations, err := s.Generations(); err != nil || len(generations) != 0 {
		t.Errorf("a store that is not there has %v, %v", generations, err)
	}
	s = many(t, 3)
	for _, name := range []string{"broken", ".hidden"} {
		if err := os.Symlink("elsewhere", filepath.Join(s.Home(), "extensions", name)); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := s.List()
	if err != nil || len(entries) != 4 {
		t.Fatalf("%+v, %v", entries, err)
	}
	read := map[string]string{}
	for _, entry := range entries {
		read[entry.Name] = entry.Generation
		if broken := entry.Name == "broken"; broken != (entry.Err != nil) || broken != (entry.Generation == "") || broken == (entry.Record != nil) {
			t.Errorf("%+v", entry)
		}
	}
	generations, err := s.Generations()
	if err != nil || !maps.Equal(generations, read) {
		t.Errorf("%v, %v; listed %v", generations, err, read)
	}
	if err := s.Remove(t.Context(), "extension01"); err != nil {
		t.Fatal(err)
	}
	if generations, err = s.Generations(); err != nil || len(generations) != 3 {
		t.Errorf("%v, %v", generations, err)
	}
	if entry := s.Entry("extension01"); !errors.Is(entry.Err, install.ErrNotInstalled) || entry.Generation != "" {
		t.Errorf("%+v", entry)
	}
}

// BenchmarkList stands between a client and its list of tools.
func BenchmarkList(b *testing.B) {
	s := many(b, 50)
	for b.Loop() {
		if entries, err := s.List(); err != nil || len(entries) != 50 || entries[49].Record == nil {
			b.Fatal(entries[0].Err, err)
		}
	}
}

// BenchmarkGenerations is what looking for changes costs.
func BenchmarkGenerations(b *testing.B) {
	s := many(b, 50)
	for b.Loop() {
		if generations, err := s.Generations(); err != nil || len(generations) != 50 {
			b.Fatal(generations, err)
		}
	}
}
