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
// Go toolchain, runs nothing, and takes milliseconds.
//
// The typed half is not here yet. It type-checks the build root in a jailed child and decides what spelling cannot:
// expressions whose type belongs to a package outside the seam although nothing names it (encoding/json's errors hand
// out reflect values), writes through a copied pointer to another package's variable, the exact type of an entry,
// denied symbols and capability uses by object and not by name, and sources whose types or constants grow beyond
// reason (structs, interfaces, aliases, generics and string constants that double). It will take the [Package] that
// Syntax returns and add to what the Package says; until then those sources are held by the limits of the build and
// the jail alone.
//
// Where spelling and meaning can differ, the syntactic half resolves names by the scopes of their file. A local
// variable that hides an import is not mistaken for it.
//
// # Invariants
//
//   - A [Package] comes from Syntax alone, so whoever holds one holds a source that passed.
//   - All findings are reported at once, sorted by place, each saying what to do instead.
//   - Nothing is parsed before its size and nesting are known to be small, so no source makes vetting slow or deep.
//   - Positions are those of the bytes in the file; a line directive is a finding and moves nothing.
package vet
