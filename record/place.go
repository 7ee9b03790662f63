package record

import (
	"io/fs"
	"os"
	"path/filepath"
)

// LiesIn says whether a record of that name, or the directory of its bodies, lies in a directory, at any depth; none of them
// has to be there yet. Links are followed, and a directory is known by what it is and not by its name, so that another mount
// or another spelling of it is the same.
func LiesIn(path string, dir fs.FileInfo) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return false // nor can it be opened
	}
	return beneath(path, dir, maxLinks) || beneath(path+BlobsSuffix, dir, maxLinks)
}

// maxLinks is how many links are followed to a file that is not there. A system follows no more.
const maxLinks = 40

func beneath(path string, dir fs.FileInfo, links int) bool {
	real, err := filepath.EvalSymlinks(path)
	if target, dangling := os.Readlink(path); err != nil && dangling == nil && links > 0 { // where a file would be made
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		return beneath(target, dir, links-1)
	}
	if err != nil {
		if real, err = filepath.EvalSymlinks(filepath.Dir(path)); err != nil {
			real = filepath.Dir(path) // which lies nowhere, so that no file can be made in it
		}
	}
	for {
		if info, err := os.Stat(real); err == nil && os.SameFile(info, dir) {
			return true
		}
		up := filepath.Dir(real)
		if up == real {
			return false
		}
		real = up
	}
}
