package satlog

import (
	"errors"
	"io/fs"
	"os"
)

// rotate makes the file that is written to the first of the older ones. The caller holds its
// lock, and nobody appends to it after that. Its rename is the last step: whoever is killed
// before it leaves a gap in the numbers, which the next rotation closes and loses nothing for.
func (p place) rotate() error {
	gap := 1
	for gap < p.older && exists(p.path(gap)) {
		gap++
	}
	for age := gap; age > 0; age-- {
		if err := os.Rename(p.path(age-1), p.path(age)); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
