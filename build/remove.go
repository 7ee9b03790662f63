package build

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// removeAll removes a tree of ours whatever is in it: directories without a mode, as a hostile compiler may leave them and
// as a trusted Go cache has them, and ones nested deeper than there are descriptors to hold on the way down. Nothing
// outside the tree is changed.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	return removeLayers(dir)
}

// removeLimit ends the removal of a tree that something still adds to, which is possible where no namespace ended all that
// a compiler run had started.
const removeLimit = time.Minute

// removeLayers lifts every directory in the second layer into the first and removes what the first held, until nothing
// is left. Names are resolved below dir alone, so that a mode is never changed through a link that leads out.
func removeLayers(dir string) error {
	if err := os.Chmod(dir, privateDir); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	// A prefix that nobody could foresee keeps a lifted directory from meeting one of its name.
	prefix := "lifted-" + rand.Text() + "-"
	for lifted, end := 0, time.Now().Add(removeLimit); ; {
		if time.Now().After(end) {
			return fmt.Errorf("remove %s: it did not become empty within %s", dir, removeLimit)
		}
		first, err := list(root, ".")
		if err != nil {
			return err
		}
		if len(first) == 0 {
			return os.Remove(dir)
		}
		for _, e := range first {
			if e.IsDir() {
				if err := root.Chmod(e.Name(), privateDir); err != nil {
					return err
				}
				second, err := list(root, e.Name())
				if err != nil {
					return err
				}
				for _, below := range second {
					if !below.IsDir() {
						continue
					}
					lifted++
					name := e.Name() + "/" + below.Name()
					if err := errors.Join(root.Chmod(name, privateDir), root.Rename(name, prefix+strconv.Itoa(lifted))); err != nil {
						return fmt.Errorf("remove: %w", err)
					}
				}
			}
			if err := root.RemoveAll(e.Name()); err != nil {
				return err
			}
		}
	}
}

func list(root *os.Root, name string) ([]fs.DirEntry, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}
