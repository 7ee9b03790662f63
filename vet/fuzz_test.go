package vet

import (
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/source"
)

// mutable are good sources of one file for the fuzzer to start from.
func mutable(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("../testdata/accepted/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	texts := []string{
		"package lib\n\nimport \"encoding/base64\"\n\nvar std = base64.StdEncoding\n\nfunc E(b []byte) string { return std.EncodeToString(b) }\n",
		"package lib\n\ntype list[T any] struct {\n\thead T\n\ttail *list[T]\n}\n\nfunc (l *list[T]) push(x T) *list[T] { return &list[T]{x, l} }\n\nvar L = (*list[int])(nil).push(1)\n",
		"package lib\n\nconst (\n\ta = \"x\" + \"y\"\n\tb\n\tc = a + b\n)\n\nvar A [len(c)]int\n",
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".go") && !strings.Contains(string(f.Data), "extension.invalid/") {
				texts = append(texts, string(f.Data))
			}
		}
	}
	return texts
}

// FuzzTyped changes good sources: what both halves accept compiles, and what they refuse has a place.
func FuzzTyped(f *testing.F) {
	for _, text := range mutable(f) {
		for _, change := range []string{"", "struct", "[1<<20]", "append", "unsafe", "*", "len"} {
			f.Add(text, uint16(len(text)/2), uint16(3), change)
		}
	}
	lib := library(f) // what is slow comes before the clock of one input
	f.Fuzz(func(t *testing.T, text string, at, length uint16, change string) {
		from := min(int(at), len(text))
		text = text[:from] + change + text[min(from+int(length), len(text)):]
		acceptedCompiles(t, lib, text)
	})
}

// FuzzTypedTokens puts tokens of good sources in place of others, so that what comes out is Go more often. Each pair of
// bytes of swaps says which token goes, by its share of the file, and which comes.
func FuzzTypedTokens(f *testing.F) {
	texts := mutable(f)
	var pool []string
	for _, text := range texts {
		for _, piece := range pieces(text) {
			if strings.TrimSpace(piece) != "" && !slices.Contains(pool, piece) {
				pool = append(pool, piece)
			}
		}
	}
	for i := range texts {
		f.Add(uint8(i), []byte{100, 3, 200, 40})
	}
	lib := library(f)
	f.Fuzz(func(t *testing.T, which uint8, swaps []byte) {
		parts := pieces(texts[int(which)%len(texts)])
		for i := 0; i+1 < len(swaps) && i < 16; i += 2 {
			parts[int(swaps[i])*len(parts)/256] = pool[int(swaps[i+1])*len(pool)/256]
		}
		acceptedCompiles(t, lib, strings.Join(parts, ""))
	})
}

// pieces are the tokens of a text and the spaces between them.
func pieces(text string) []string {
	var out []string
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, 0)
	last := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return append(out, text[last:])
		}
		if lit == "" {
			lit = tok.String()
		}
		if at := file.Offset(pos); lit != "\n" {
			out = append(out, text[last:at], text[at:min(at+len(lit), len(text))])
			last = min(at+len(lit), len(text))
		}
	}
}

// acceptedCompiles vets a file by both halves and gives to the compiler what passes.
func acceptedCompiles(t *testing.T, lib Library, text string) {
	t.Helper()
	if len(text) > source.MaxFile {
		return
	}
	tree, m := open(t, map[string]string{"lib/lib.go": text})
	p, err := Syntax(t.Context(), tree, m)
	if err == nil {
		_, err = typed(t.Context(), p, lib, jail.Options{}, limits{3 * time.Second, 20 * time.Second})
	}
	var found Findings
	switch {
	case errors.As(err, &found):
		for _, one := range found {
			if one.Line < 1 && one.Lint != LintBound && one.Lint != LintFile {
				t.Errorf("no place: %v", one)
			}
		}
	case err != nil:
		t.Fatal(err)
	default:
		compilesAlone(t, lib, text)
	}
}

// compilesAlone gives one file to the compiler, with the packages that extensions may import.
func compilesAlone(t *testing.T, lib Library, text string) {
	t.Helper()
	var config strings.Builder
	for path, file := range lib.Exports {
		fmt.Fprintf(&config, "packagefile %s=%s\n", path, filepath.Join(lib.Dir, file))
	}
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(dir+"/importcfg", []byte(config.String()), 0o644), os.WriteFile(dir+"/lib.go", []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(goroot(t), "pkg", "tool", runtime.GOOS+"_"+runtime.GOARCH, "compile"),
		"-p", "extension.invalid/fixture/lib", "-lang", goVersion, "-complete", "-importcfg", "importcfg", "-o", "lib.a", "lib.go")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("accepted, and does not compile: %v\n%s\n%s", err, out, text)
	}
}
