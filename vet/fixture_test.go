package vet

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
)

var update = flag.Bool("update", false, "rewrite the want lines of the fixtures with what is found")

// base completes a fixture, so that each holds what it is about and nothing else.
var base = map[string]string{
	"extension.toml": `[extension]
name        = "fixture"
description = "A fixture."
license     = "MIT"

[[tool]]
name           = "probe"
description    = "Does nothing."
prompt_snippet = "probe: does nothing"
parameters     = "schema/probe.json"
entry          = "tool"
`,
	"schema/probe.json": `{"type": "object"}`,
	"tool/run.go": `package tool

import (
	"encoding/json"

	"github.com/loomext/loomext/prelude/ext"
)

func Run(ext.Ctx, json.RawMessage) (ext.Outcome, error) { return ext.Text("done"), nil }
`,
}

// fixture is one .txtar: a tree, and in the comment above it what must come of it, one "key: value" a line among prose.
//
//	layer: extract      the layer that refuses it, or "none"
//	half: typed         what the typed half refuses: the syntactic half lets it pass
//	want: a/b.go:3:1: import      every finding there is, no more and no less
//	link: a/x.go -> /etc/passwd   a symbolic link
//	fifo: a/pipe                  a named pipe
//	template: yes       the files are templates between @{ and }@, for what does not stand in text
type fixture struct {
	archive *txtar.Archive
	keys    map[string][]string
}

func readFixture(t testing.TB, name string) fixture {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{archive, map[string][]string{}}
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case !ok || strings.Contains(key, " "):
		case slices.Contains([]string{"layer", "half", "want", "link", "fifo", "template"}, key):
			f.keys[key] = append(f.keys[key], value)
		default:
			t.Fatalf("%s has the unknown key %q", name, key)
		}
	}
	return f
}

func (f fixture) one(key string) string {
	if len(f.keys[key]) == 1 {
		return f.keys[key][0]
	}
	return ""
}

var templating = template.FuncMap{
	"repeat": func(n int, s string) string { return strings.Repeat(s, n) },
	"numbered": func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i, i+1) // by index: %[1]d is the number, %[2]d the next
		}
		return b.String()
	},
}

// write puts the fixture's tree into a directory.
func (f fixture) write(t testing.TB, dir string) {
	t.Helper()
	files := map[string][]byte{}
	for path, text := range base {
		files[path] = []byte(text)
	}
	for _, file := range f.archive.Files {
		files[file.Name] = file.Data
		if f.one("template") == "yes" {
			tmpl, err := template.New(file.Name).Delims("@{", "}@").Funcs(templating).Parse(string(file.Data))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := tmpl.Execute(&out, nil); err != nil {
				t.Fatal(err)
			}
			files[file.Name] = out.Bytes()
		}
	}
	writeAll(t, dir, files)
	for _, l := range f.keys["link"] {
		from, to, _ := strings.Cut(l, " -> ")
		if err := errors.Join(os.MkdirAll(filepath.Dir(dir+"/"+from), 0o755), os.Symlink(to, dir+"/"+from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range f.keys["fifo"] {
		if err := mkfifo(dir + "/" + path); err != nil {
			t.Skip("skipped layer: extract: no named pipes here: ", err)
		}
	}
}

// writeFiles is write for files that complete the base.
func writeFiles(t testing.TB, dir string, more map[string]string) {
	t.Helper()
	files := map[string][]byte{}
	for _, list := range []map[string]string{base, more} {
		for path, text := range list {
			files[path] = []byte(text)
		}
	}
	writeAll(t, dir, files)
}

func writeAll(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for path, data := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(dir+"/"+path), 0o755), os.WriteFile(dir+"/"+path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// judge takes a directory through the layers up to vetting and returns the one that refused it, with the half of
// vetting that did, and every finding as a want line would say it.
func judge(t testing.TB, dir string) (layer, half string, found []string, err error) {
	t.Helper()
	tree, err := source.Open(t.Context(), dir)
	var refused source.Errors
	if errors.As(err, &refused) {
		for _, e := range refused {
			found = append(found, e.Path)
		}
		return refused[0].Layer, "", found, err
	}
	text, _ := tree.File("extension.toml")
	m, err := manifest.Decode(text, tree)
	if err != nil {
		return "manifest", "", nil, err
	}
	p, err := Syntax(t.Context(), tree, m)
	if err == nil && !testing.Short() {
		half = "typed"
		p, err = Typed(t.Context(), p, library(t), jail.Options{})
	}
	var findings Findings
	if errors.As(err, &findings) {
		for _, f := range findings {
			place, _, _ := strings.Cut(f.String(), ": ")
			found = append(found, place+": "+f.Lint)
		}
		return Layer, half, found, err
	}
	if err != nil {
		t.Fatal(err)
	}
	if !testing.Short() && !p.Typed() {
		t.Error("the package does not say that its types were checked")
	}
	return "none", "", nil, nil
}

func TestFixtures(t *testing.T) {
	var names []string
	for _, dir := range []string{"hostile", "accepted"} {
		some, err := filepath.Glob("../testdata/" + dir + "/*.txtar")
		if err != nil || len(some) == 0 {
			t.Fatal(dir, err)
		}
		names = append(names, some...)
	}
	lintsSeen := map[string]bool{}
	for _, name := range names {
		accepted := strings.Contains(name, "/accepted/")
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			f := readFixture(t, name)
			want := f.one("layer")
			switch {
			case accepted:
				want = "none"
			case want == "extract" || want == Layer && f.one("half") == "":
			case want == Layer && f.one("half") == "typed":
				if testing.Short() {
					t.Skip("skipped layer: compile: -short")
				}
			default:
				t.Fatalf("no layer before the build is called %q", want)
			}
			dir := t.TempDir() + "/fixture"
			f.write(t, dir)
			layer, half, found, err := judge(t, dir)
			if layer != want || half != f.one("half") {
				t.Fatalf("refused by %q, half %q, want %q, half %q: %v", layer, half, want, f.one("half"), err)
			}
			for _, line := range found {
				_, lint, _ := strings.Cut(line, ": ")
				lintsSeen[lint] = true
			}
			if *update {
				f.rewrite(t, name, found)
			} else if !slices.Equal(found, f.keys["want"]) {
				t.Errorf("found\n%s\nwant\n%s\n%v", strings.Join(found, "\n"), strings.Join(f.keys["want"], "\n"), err)
			}
			if err != nil {
				t.Log(err)
			}
		})
	}
	for _, l := range Lints() {
		if !lintsSeen[l.Name] && !testing.Short() {
			t.Errorf("no fixture is refused by %s", l.Name)
		}
	}
}

func (f fixture) rewrite(t *testing.T, name string, found []string) {
	var comment strings.Builder
	for line := range strings.Lines(string(f.archive.Comment)) {
		if !strings.HasPrefix(line, "want: ") {
			comment.WriteString(line)
		}
		if strings.HasPrefix(line, "layer: ") && f.one("half") == "" || strings.HasPrefix(line, "half: ") {
			for _, w := range found {
				comment.WriteString("want: " + w + "\n")
			}
		}
	}
	f.archive.Comment = []byte(comment.String())
	if err := os.WriteFile(name, txtar.Format(f.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
