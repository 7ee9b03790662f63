package vet

import "slices"

// The rules, by the names findings carry. They are stable: scripts and records may name them.
const (
	LintBound       = "bound"
	LintCapability  = "capability"
	LintCharacter   = "character"
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
	LintVariable    = "variable"
)

// Lint explains one rule.
type Lint struct {
	Name    string
	Why     string // why the rule is there
	Example string // a source it finds something in; "" where a line cannot show it
}

var lints = []Lint{
	{LintBound, "Small sources can cost a compiler minutes or gigabytes. What nests or repeats beyond what people write is refused " +
		"before anything tries.", "var x = ((((((((…1))))))))"},
	{LintCapability, "The operator approves what the manifest requests, so the requests must be exactly what the source uses: nothing " +
		"undeclared, nothing declared in reserve.", `net.Fetch(ctx, url) // without "net" in requests`},
	{LintCharacter, "What a reviewer sees must be what the compiler reads. Characters that are invisible, reorder text or control a " +
		"terminal are refused everywhere, in strings and comments too; an escape in a string says the same thing visibly.",
		"// a right-to-left override in a comment"},
	{LintDeclaration, "A function without a body is supplied by assembly or the linker, and neither is read here.", "func now() int64"},
	{LintDirective, "Comments can command the toolchain: link against other symbols, load native code before main, embed files, " +
		"choose files by platform, forge the positions of errors. Some work inside function bodies.",
		"//go:linkname now time.now"},
	{LintEntry, "The build calls each tool's Run and each hook's function by name and type. A wrong one would fail inside a " +
		"generated file that the author never wrote.", "func OnToolCall(ctx context.Context, u hook.Usage) error"},
	{LintFile, "A file that the compiler skips is read by reviewers and not by it, and a file for one platform is reviewed on " +
		"another.", "tool/run_windows.go"},
	{LintImport, "An extension reaches only what it imports. The seam is a closed list: the prelude's packages and the part of " +
		"the standard library that computes and has no effects.", `import "os"`},
	{LintMore, "A file with very many findings is reported in part.", ""},
	{LintName, "Letters of other alphabets can look exactly like ASCII and name something else.", "an identifier with a Cyrillic a"},
	{LintPackage, "Every directory is one importable package, and none of them is a program: the program is generated.", "package main"},
	{LintSymbol, "Some functions of allowed packages have effects: they write to the process's own streams, read files, or take " +
		"pointers past the type system.", `fmt.Println("hello")`},
	{LintSyntax, "A file must be Go before anything else can be said about it.", "func ("},
	{LintVariable, "A variable of the standard library or the prelude is shared with code that trusts it. Writing to it, or taking " +
		"its address to write later, changes that code.", "io.EOF = nil"},
}

// Lints explains every rule, sorted by name.
func Lints() []Lint { return slices.Clone(lints) }
