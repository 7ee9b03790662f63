package schema_test

import (
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loomext/loomext/schema"
)

// The hostile sources that vetting is held to, each of their types taken for a tool's arguments: what the syntactic half
// lets pass is read here, and no source may take long or panic.
func TestHostileSourcesEndSoon(t *testing.T) {
	names, err := filepath.Glob("../testdata/*/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	declared := regexp.MustCompile(`(?m)^type (\w+)`)
	packaged := regexp.MustCompile(`(?m)^package (\w+)`)
	tried := 0
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := sources{}
		types := map[string][]string{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
			if clause := packaged.FindStringSubmatch(string(f.Data)); clause != nil && path.Ext(f.Name) == ".go" {
				at := path.Dir(f.Name) + " " + clause[1]
				for _, m := range declared.FindAllStringSubmatch(string(f.Data), -1) {
					types[at] = append(types[at], m[1])
				}
			}
		}
		for _, at := range slices.Sorted(maps.Keys(types)) {
			dir, pkg, _ := strings.Cut(at, " ")
			for _, typ := range types[at] {
				tried++
				tree := maps.Clone(files)
				tree[path.Join(dir, "zz_run.go")] = "package " + pkg + "\n\nimport \"github.com/loomext/loomext/prelude/ext\"\n\nvar Run = ext.Typed[struct { X " + typ + " }](nil)\n"
				began := time.Now()
				p := schema.Read(tree, module)
				if s, err := p.Of(dir); err == nil {
					s.Differences([]byte(`{}`))
				}
				p.Disagreements(dir, []byte(`{"type":"object","properties":{"X":{"type":"string"}}}`))
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("%s: %s took %s", name, typ, took)
				}
			}
		}
	}
	if tried < 20 {
		t.Errorf("%d types were tried; the fixtures have moved", tried)
	}
}
