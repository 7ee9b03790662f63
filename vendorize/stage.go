package vendorize

import (
	"crypto/rand"
	"os"
)

// StagePrefix begins the name of what is written beside an author's files before it takes their place. It begins with a
// dot, so that a source prunes what a crash leaves.
const StagePrefix = ".loomext-"

// stageIn makes a directory of its own inside root.
func stageIn(root *os.Root) (string, error) {
	name := StagePrefix + rand.Text()
	return name, root.Mkdir(name, 0o700)
}
