// Package source turns a source string into a [Tree]: the files of an extension that an install keeps, as bytes in
// memory, with their digest.
//
// The tree is read once. The digest, the vetting and the build all take their bytes from that one copy, so nothing
// that happens to the author's directory afterwards can make them disagree.
//
// # What is kept
//
//   - Go package directories: every directory that holds a .go file, with those files and nothing else. Another
//     regular file beside them is refused. Directories whose name begins with an underscore are importable in Go and
//     therefore kept like any other.
//   - At the root: extension.toml, README*, LICENSE*, and the .go files of a root package where there is one. Other
//     regular files at the root are pruned, except that source in another language that the go command would compile
//     into a root package is refused.
//   - schema/ and skills/, whole. Go source below them is refused: it would be neither a package nor a document.
//
// Of go.mod only the path in its module line is used; the file itself is not kept.
//
// # What is pruned
//
// Before anything else looks at them: every name that begins with a dot, *_test.go and go.sum; outside schema/ and
// skills/ also vendor, testdata and docs, at every depth; and every directory that has nothing to keep below it. A
// link, a device or an odd name inside a pruned directory is not looked at and is no fault.
//
// # What is refused
//
// Links of every kind, devices, pipes and sockets (none of them is ever opened), names that another file system, a
// shell or a terminal would read differently, names that differ only in case, a second go.mod, loom_satellite/, a
// module path that could shadow the project's own, and anything over the bounds below. All refusals are reported at
// once, as [Errors].
//
// The directory that the caller names may itself be reached through a link: the caller chose it. Inside it no link is
// followed, and a file that is exchanged while it is being read is refused.
//
// # What it is not
//
// It does not parse the manifest or the Go files, runs nothing, and never lets the go command near the author's
// directory. Only directories are a source today; another kind of source is refused with the list of what is
// supported.
package source

// Bounds of a tree. An extension is a few packages that people review; the bounds leave an order of magnitude above
// the largest such tree and keep a hostile one from costing memory or time.
const (
	// MaxFile is the most bytes of one kept file: the largest source a compile under the build's limits survives.
	MaxFile = 256 << 10
	// MaxTree is the most bytes of all kept files together.
	MaxTree = 4 << 20
	// MaxFiles is the most kept files.
	MaxFiles = 2000
	// MaxDepth is the most directories between the root and a file, and so the most descriptors a walk holds open.
	MaxDepth = 32
	// MaxPath is the most bytes of a kept path; it fits archive headers and the path limits of other systems.
	MaxPath = 200
	// MaxNames is the most names a walk looks at, pruned ones included.
	MaxNames = 100_000
	// MaxErrors is the most refusals that are reported; a tree with more is not repaired one by one.
	MaxErrors = 200
)

const (
	manifestName  = "extension.toml"
	modName       = "go.mod"
	satelliteName = "loom_satellite"
	vendorName    = "vendor"
)
