package manifest

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loomext/loomext/internal/tomlfile"
)

var update = flag.Bool("update", false, "rewrite the expected output under testdata")

// tree is an extension's tree in memory. Every directory with a .go file is a
// package.
type tree map[string]string

func (t tree) File(p string) ([]byte, bool) {
	text, ok := t[p]
	return []byte(text), ok
}

func (t tree) Packages() []string {
	dirs := map[string]bool{}
	for p := range t {
		if strings.HasSuffix(p, ".go") {
			dirs[path.Dir(p)] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// base is the tree that most tests decode against.
var base = tree{
	"tool/run.go":     "package tool",
	"gate/gate.go":    "package gate",
	"schema/any.json": `{"type":"object"}`,
	// Its one property can be bound to a prompt's argument and a URI's variable.
	"schema/word.json": `{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`,
}

// TestFaults decodes each archive under testdata/faults and compares the whole
// error text. A file named want holds it.
func TestFaults(t *testing.T) {
	archives, err := filepath.Glob("testdata/faults/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			files, want := maps.Clone(base), -1
			for i, f := range archive.Files {
				if f.Name == "want" {
					want = i
				} else {
					files[f.Name] = string(f.Data)
				}
			}
			got := "no faults\n"
			_, err = Decode([]byte(files[FileName]), files)
			if err != nil {
				got = err.Error() + "\n"
			}
			if *update {
				if want < 0 {
					archive.Files = append(archive.Files, txtar.File{Name: "want"})
					want = len(archive.Files) - 1
				}
				archive.Files[want].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want < 0 {
				t.Fatal("the archive has no file named want")
			}
			if string(archive.Files[want].Data) != got {
				t.Errorf("got:\n%s\nwant:\n%s", got, archive.Files[want].Data)
			}
		})
	}
}

func TestFaultsAreErrors(t *testing.T) {
	_, err := Decode([]byte("[extension]\nnmae = 1\n"), base)
	var faults Faults
	if !errors.As(err, &faults) || len(faults) < 2 {
		t.Fatalf("no Faults: %v", err)
	}
	var fault Fault
	if !errors.As(err, &fault) || fault.Line == 0 {
		t.Fatalf("no Fault: %v", err)
	}
}

func TestForeignTextIsEscaped(t *testing.T) {
	_, err := Decode([]byte("[extension]\nname = \"\\u001b[2J\"\n\"\\u001b]0;x\" = 1\n[\"\\u202e\"]\nx = 1\n"), base)
	if err == nil {
		t.Fatal("no faults")
	}
	if name, found := tomlfile.Hidden(err.Error(), "\n"); found {
		t.Fatalf("%s in %q", name, err.Error())
	}
}
