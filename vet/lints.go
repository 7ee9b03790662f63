package vet

import (
	"fmt"
	"slices"
	"strings"
)

// The rules, by the names findings carry. They are stable: scripts and records may name them.
const (
	LintBound       = "bound"
	LintCapability  = "capability"
	LintCharacter   = "character"
	LintCompile     = "compile"
	LintDeclaration = "declaration"
	LintDirective   = "directive"
	LintEntry       = "entry"
	LintFile        = "file"
	LintImport      = "import"
	LintMore        = "more"
	LintName        = "name"
	LintPackage     = "package"
	LintSymbol      = "symbol"
	LintSyntax      = "syntax"
	LintType        = "type"
	LintVariable    = "variable"
)

// Lint explains one rule.
type Lint struct {
	Name string
	Why  string // why the rule is there
	// Instead is what to do about a finding of it.
	Instead string
	// Path and Example are a file that the rule finds something in, in an extension that is otherwise right. A rule about
	// reports has none.
	Path, Example string
}

var lints = []Lint{
	{
		Name: LintBound,
		Why: "Small sources can cost a compiler minutes or gigabytes, and a program its memory. What nests, repeats, doubles or grows beyond " +
			"what people write is refused before anything tries.",
		Instead: "Split what is large into parts with names. Where many small types hold each other, hold pointers or slices. Make large values when they are needed.",
		Path:    "lib/lib.go",
		Example: `package lib

var page [1 << 30]byte

func At(i int) byte { return page[i] }
`,
	},
	{
		Name: LintCapability,
		Why: "The operator approves what the manifest requests, so the requests must be exactly what the source uses: nothing " +
			"undeclared, nothing declared in reserve.",
		Instead: "Make requests in extension.toml name the capabilities that the source uses, and no other. A type of a capability's package is a use of it as well.",
		Path:    "lib/lib.go",
		Example: `package lib

import (
	"context"

	"github.com/loomext/loomext/prelude/cap/net"
)

// The manifest says: requests = []
func Page(ctx context.Context) (net.Response, error) {
	return net.Fetch(ctx, "https://example.com/")
}
`,
	},
	{
		Name: LintCharacter,
		Why: "What a reviewer sees must be what the compiler reads. Characters that are invisible, reorder text or control a " +
			"terminal are refused everywhere, in strings and comments too.",
		Instead: "Write the character as an escape in a string, where it says the same thing visibly, or remove it.",
		Path:    "lib/lib.go",
		Example: "package lib\n\n// Admin reports whether a role is an administrator's.\nfunc Admin(role string) bool { return role == \"ad\u200bmin\" }\n",
	},
	{
		Name:    LintCompile,
		Why:     "The compiler would refuse it. Vetting says so first: all faults at once, in the author's file, and nothing is built.",
		Instead: "Correct it. Beside a vendored prelude, gopls and go vet show the same.",
		Path:    "lib/lib.go",
		Example: `package lib

func Days() int { return "seven" }
`,
	},
	{
		Name:    LintDeclaration,
		Why:     "A function without a body is supplied by assembly or the linker, and neither is read here.",
		Instead: "Write the body in Go.",
		Path:    "lib/lib.go",
		Example: `package lib

func now() int64
`,
	},
	{
		Name: LintDirective,
		Why: "Comments can command the toolchain: link against other symbols, load native code before main, embed files, " +
			"choose files by platform, forge the positions of errors. Some work inside function bodies.",
		Instead: "Remove it. If it is prose, put a space after the slashes.",
		Path:    "lib/lib.go",
		Example: `package lib

//go:noinline
func Zero() int { return 0 }
`,
	},
	{
		Name: LintEntry,
		Why: "The generated program names each tool's Run and each hook's function, and gives it arguments of its type. A wrong one would " +
			"fail to compile inside a file that the author never wrote.",
		Instead: "Export what the finding says, under that name and with that type, from the package that the manifest names.",
		Path:    "tool/run.go",
		Example: `package tool

import "github.com/loomext/loomext/prelude/ext"

type args struct{ City string }

func Run(ctx ext.Ctx, a args) (ext.Outcome, error) { return ext.Text(a.City), nil }
`,
	},
	{
		Name:    LintFile,
		Why:     "A file that the compiler skips is read by reviewers and not by it, and a file for one platform is reviewed on another.",
		Instead: "Rename the file, or remove it. An extension is one source for every platform.",
		Path:    "lib/lib_windows.go",
		Example: `package lib

const Separator = '\\'
`,
	},
	{
		Name: LintImport,
		Why: "An extension reaches only what it imports. The seam is a closed list: the prelude's packages and the part of " +
			"the standard library that computes and has no effects.",
		Instead: "Use what the finding names. For effects that is a package under prelude/cap, and a request in the manifest.",
		Path:    "lib/lib.go",
		Example: `package lib

import "os"

func Home() string { return os.Getenv("HOME") }
`,
	},
	{
		Name:    LintMore,
		Why:     fmt.Sprintf("A file with more than %d findings is reported in part.", MaxFindings),
		Instead: "Repair those that are shown first.",
	},
	{
		Name:    LintName,
		Why:     "Letters of other alphabets can look exactly like ASCII and name something else.",
		Instead: "Name it in ASCII.",
		Path:    "lib/lib.go",
		Example: "package lib\n\nfunc \u0430dmin() bool { return true } // the first letter is Cyrillic\n\nvar Open = \u0430dmin()\n",
	},
	{
		Name:    LintPackage,
		Why:     "Every directory is one importable package, and none of them is a program: the program is generated.",
		Instead: "Name the package after its directory and export the entry's function.",
		Path:    "lib/lib.go",
		Example: `package main

func main() {}
`,
	},
	{
		Name: LintSymbol,
		Why: "Some functions of allowed packages have effects: they write to the process's own streams, read files, or take " +
			"pointers past the type system.",
		Instead: "Use what the finding names. Text for the model is the outcome; text on the way there is ctx.Report. What loomext logs " +
			"shows is for crashes and what the host notes: no caller reads it while a call runs.",
		Path: "lib/lib.go",
		Example: `package lib

import "fmt"

func Greet(name string) { fmt.Println("hello", name) }
`,
	},
	{
		Name:    LintSyntax,
		Why:     "A file must be Go before anything else can be said about it.",
		Instead: "Correct it; gofmt -e shows what the parser expects.",
		Path:    "lib/lib.go",
		Example: `package lib

func (
`,
	},
	{
		Name: LintType,
		Why: "Values carry reach that nothing in the source names: an error of encoding/json holds a reflect.Value, and with " +
			"that any memory can be read and written. So no expression may have a type of a package outside the seam, written or inferred, " +
			"and nothing that belongs to such a package may be used.",
		Instead: "Leave the value alone: use the other fields, the error's text, or a type switch over types of your own.",
		Path:    "lib/lib.go",
		Example: `package lib

import "encoding/json"

func Poke(err *json.UnsupportedValueError) {
	v := err.Value
	v.SetInt(1)
}
`,
	},
	{
		Name: LintVariable,
		Why: "A variable of the standard library or the prelude is shared with code that trusts it. Writing to it, or to what it refers to, " +
			"changes that code; so does whoever has its address. Copies of such a variable are followed through the extension's own " +
			"variables, fields, functions and methods, and through what the standard library keeps and gives back.",
		Instead: "Make a value of your own and change that: slices.Clone and maps.Clone copy, and base64.NewEncoding makes a new one. A " +
			"variable that is given such a copy in the same block, before the write, is the extension's own. Two values of one type have the " +
			"same fields here, and a helper that reads for one caller and writes for another does both for both. So clone first, change the " +
			"clone through a variable of its own, and then put it into the field; a map that is cloned before its first write is better cloned at once.",
		Path: "lib/lib.go",
		Example: `package lib

import "encoding/base64"

func Swap() {
	standard := base64.StdEncoding
	*standard = *base64.URLEncoding
}
`,
	},
}

// Lints explains every rule, sorted by name.
func Lints() []Lint { return slices.Clone(lints) }

// Text is the explanation for a terminal. The example is printed as it would have to be written to be seen: what does not
// print is escaped.
func (l Lint) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n\n%s\n", l.Name, wrapped(l.Why), wrapped(l.Instead))
	if l.Example != "" {
		fmt.Fprintf(&b, "\nRefused, as %s:\n\n", l.Path)
		for line := range strings.Lines(l.Example) {
			line = strings.TrimSuffix(line, "\n")
			if line = strings.ReplaceAll(line, "\t", "    "); line != "" {
				line = "    " + visible(line)
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// visible escapes what is not ASCII.
func visible(line string) string {
	var b strings.Builder
	for _, r := range line {
		if r > 0x7e {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// textWidth is where explanations break.
const textWidth = 96

func wrapped(text string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > textWidth:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
