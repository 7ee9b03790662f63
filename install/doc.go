// Package install is the pipeline from a source to an installed extension, and
// the store that keeps what it made.
//
// An install reads the source once, into memory, and everything after works on
// those bytes: the manifest is decoded, the source vetted, the operator asked,
// a satellite built, asked over its real channel what it serves, and a
// generation written. A generation holds the kept tree, the artifact and a
// [Record] of what was approved and how it was built.
//
//	<home>/extensions/<name> -> ../generations/<name>-<digest>
//	<home>/generations/<name>-<digest>/{tree/…, loom_satellite, install.json}
//
// It is not a host: it starts a satellite only to ask it for its names, and it
// serves no effect.
//
// Invariants:
//
//   - A generation takes shape in .staging, the record after all else, and moves
//     to its place by one rename; another rename then switches the link. Whenever
//     the process is killed, a link names a whole install or does not exist.
//   - The digest in a generation's name is the SHA-256 of its install.json, which
//     in turn holds the digests of the tree and of the artifact.
//   - Nothing of an extension is compiled or run before the operator approved it.
//   - What a session launches are the bytes that its load checked: [Store.LoadImage] reads the
//     artifact once, into sealed memory.
//   - [Store.Load], [Store.LoadImage], [Store.List] and [Store.Verify] write nothing below the home.
package install
