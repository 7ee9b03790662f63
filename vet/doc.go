// Package vet is the extension seam: what an extension's source may import and contain.
//
// Vetting makes reach visible. An extension that passed can do what it names: the capability packages it imports and
// calls, which the operator approves, and computing. It is not a sandbox. Code that races with itself can forge any
// type in Go, and only the jail around the running satellite stops what such code would do next; vetting is the first
// of three walls and the one that explains itself.
//
// # Two halves
//
// [Syntax] is the syntactic half: it parses every kept .go file, whatever its name, its build tags or its directory,
// and judges imports, directives, characters, names, sizes, entries and capability uses by their spelling. It needs no
// Go toolchain, runs nothing, and takes milliseconds. Where spelling and meaning can differ, it resolves names by the
// scopes of their file: a local variable that hides an import is not mistaken for it.
//
// [Typed] is the typed half. It takes the [Package] that Syntax returns and decides what spelling cannot: expressions
// whose type belongs to a package outside the seam although nothing names it (encoding/json's errors hand out reflect
// values), writes through a copied pointer to another package's variable, the exact type of an entry, denied symbols and
// capability uses by object and not by name, and sources whose types, constants or instances double beyond reason. It
// type-checks the extension's packages alone; what they import is read from a [Library], as compiled export data. So it
// needs no go command, and nothing foreign is listed or compiled before it passed. It runs in a jailed child, a stage of
// this very program: a program that vets calls jail.Main first.
//
// # Invariants
//
//   - A [Package] comes from Syntax or Typed alone, so whoever holds one holds a source that passed; which halves, it says.
//   - What the child of the typed half answers is foreign: it is bounded, and decoded to findings and uses that can be or to
//     an error.
//   - All findings are reported at once, sorted by place, each saying what to do instead.
//   - Nothing is parsed before its size and nesting are known to be small, so no source makes vetting slow or deep.
//   - Positions are those of the bytes in the file; a line directive is a finding and moves nothing.
package vet
