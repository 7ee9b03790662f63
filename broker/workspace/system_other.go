//go:build !unix

package workspace

import "io/fs"

const patience = 0

// device is the same for all: what leads to another disk is a link here, and os.Root judges those.
func device(fs.FileInfo) uint64 { return 0 }

// groupOf is none: permission bits have no group here.
func groupOf(fs.FileInfo) int { return -1 }
