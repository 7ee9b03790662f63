package vet

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	gopackages "golang.org/x/tools/go/packages"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/source"
)

// copied are real files, of the standard library, that import what extensions may.
var copied = []string{"encoding/csv/reader.go", "encoding/csv/writer.go", "encoding/pem/pem.go", "container/list/list.go", "encoding/hex/hex.go"}

// twentyFiles is an extension of twenty files, about 5,000 lines, beside its entry.
func twentyFiles(t testing.TB) map[string]string {
	t.Helper()
	files := map[string]string{}
	for i := range 4 {
		for _, name := range copied {
			text, err := os.ReadFile(filepath.Join(goroot(t), "src", name))
			if err != nil {
				t.Fatal(err)
			}
			files[fmt.Sprintf("p%d/%s", i, name)] = string(text)
		}
	}
	return files
}

// BenchmarkTyped is the typed half over twenty files, jailed child and all.
func BenchmarkTyped(b *testing.B) {
	lib := library(b)
	p := passed(b, twentyFiles(b))
	for b.Loop() {
		if _, err := Typed(b.Context(), p, lib, jail.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTypedInProcess is what of it is no child.
func BenchmarkTypedInProcess(b *testing.B) {
	q := passed(b, twentyFiles(b)).question(library(b))
	for b.Loop() {
		if r := check(q, func(string) {}); len(r.Findings) > 0 || r.Fault != "" {
			b.Fatal(r)
		}
	}
}

// BenchmarkPackagesLoad is what the typed half is measured against: go/packages over the same files, with types and what
// is known of every expression.
func BenchmarkPackagesLoad(b *testing.B) {
	library(b)
	p := passed(b, twentyFiles(b))
	root, err := p.Root(p.Manifest().Config())
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir() + "/root"
	if err := root.WriteTo(dir); err != nil {
		b.Fatal(err)
	}
	config := &gopackages.Config{
		Mode: gopackages.NeedName | gopackages.NeedFiles | gopackages.NeedCompiledGoFiles | gopackages.NeedImports | gopackages.NeedTypes |
			gopackages.NeedTypesSizes | gopackages.NeedSyntax | gopackages.NeedTypesInfo,
		Context: b.Context(), Dir: dir,
		Env: append(os.Environ(), "GOFLAGS=-mod=vendor", "GOWORK=off", "GOENV=off", "GOPROXY=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOPACKAGESDRIVER=off"),
	}
	for b.Loop() {
		loaded, err := gopackages.Load(config, "./p0/...", "./p1/...", "./p2/...", "./p3/...", "./tool")
		if err != nil || gopackages.PrintErrors(loaded) > 0 {
			b.Fatal(err)
		}
	}
}

// BenchmarkTypedLargest is the largest tree that can be read, of plain code.
func BenchmarkTypedLargest(b *testing.B) {
	lib := library(b)
	files := map[string]string{}
	twenty, one := twentyFiles(b), 0
	for _, text := range twenty {
		one += len(text)
	}
	for i := range (source.MaxTree - source.MaxFile) / one {
		for name, text := range twenty {
			files[fmt.Sprintf("q%d/%s", i, name)] = text
		}
	}
	p := passed(b, files)
	for b.Loop() {
		if _, err := Typed(b.Context(), p, lib, jail.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// passed is a source that passed the syntactic half.
func passed(t testing.TB, more map[string]string) Package {
	t.Helper()
	tree, m := open(t, more)
	p, err := Syntax(t.Context(), tree, m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
