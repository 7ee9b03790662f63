package vet

import (
	"fmt"
	"strings"
)

// name judges what a file is called: the go command skips files by their names.
func (f *goFile) name() {
	base := f.path[strings.LastIndexByte(f.path, '/')+1:]
	if base[0] == '_' {
		f.whole(LintFile, "its name begins with an underscore, so Go never compiles it", "rename or remove it")
	}
	if tag := platform(base); tag != "" {
		f.whole(LintFile, fmt.Sprintf("its name ends in _%s, so it is compiled for that platform only", tag), "rename it; an extension is one source for every platform")
	}
}

// whole records a finding about the file.
func (f *goFile) whole(lint, what, instead string) {
	*f.found = append(*f.found, Finding{Path: f.path, Lint: lint, What: what, Fix: instead})
}

// platform is the operating system or architecture that a file's name binds it to. The go command looks at the last
// word, or the last two, after the first underscore and before the first dot.
func platform(base string) string {
	stem, _, _ := strings.Cut(base, ".")
	_, words, ok := strings.Cut(stem, "_")
	if !ok {
		return ""
	}
	last := words[strings.LastIndexByte(words, '_')+1:]
	if platforms[last] {
		return last
	}
	return ""
}

// platforms is every operating system and architecture the go command has known or reserved.
var platforms = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`
		aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 wasip2
		windows zos
		386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64
		ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm`) {
		all[w] = true
	}
	return all
}()

// packages judges the package clauses of the whole tree: one importable package in each directory. It returns each
// directory's package name.
func packages(files []*goFile) map[string]string {
	names := map[string]string{}
	first := map[string]string{}
	for _, f := range files {
		if f.syntax == nil {
			continue
		}
		clause := f.syntax.Name
		switch name := clause.Name; {
		case name == "main":
			f.at(clause.Pos(), LintPackage, "package main is a program, and the program is generated", "name the package after its directory and export the entry's function")
		case name == "documentation":
			f.at(clause.Pos(), LintPackage, "Go ignores files of package documentation", "name the package after its directory")
		case name == "_":
			f.at(clause.Pos(), LintPackage, "a package cannot be named _", "name the package after its directory")
		case names[f.dir] == "":
			names[f.dir], first[f.dir] = name, f.path
		case names[f.dir] != name:
			f.at(clause.Pos(), LintPackage, fmt.Sprintf("it is package %s, and %s beside it is package %s", name, first[f.dir], names[f.dir]), "give the files of one directory one package name")
		}
	}
	return names
}
