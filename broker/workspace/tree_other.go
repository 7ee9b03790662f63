//go:build !linux

package workspace

// openTree holds a directory by os.Root.
func openTree(dir string) (tree, error) { return openRooted(dir) }
