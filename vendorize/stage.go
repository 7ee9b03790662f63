package vendorize

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
)

// stagePrefix begins the name of what is written beside an author's files before it takes their place. It begins with a
// dot, so that a source prunes what a crash leaves.
const stagePrefix = ".loomext-"

// stageName is the whole of such a name: the prefix and what [rand.Text] gives. Nobody has a file of their own by it.
var stageName = regexp.MustCompile(`^\.loomext-[A-Z2-7]{26}$`)

// Stage is a directory or a file of that name. It is locked for as long as the process that made it lives, so that another
// can tell one in use from what a killed one left, on a system and a disk that have locks.
type Stage struct {
	// Name is the slash path in the root.
	Name string

	root *os.Root
	file *os.File
}

// NewStage makes a directory of its own in a directory of root, after [Sweep].
func NewStage(root *os.Root, dir string) (*Stage, error) {
	return newStage(root, dir, func(name string) (*os.File, error) {
		const private fs.FileMode = 0o700
		if err := root.Mkdir(name, private); err != nil {
			return nil, err
		}
		f, err := root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // swept
		}
		return f, err
	})
}

// NewStageFile makes a file of its own in a directory of root, after [Sweep], with these bytes and this mode.
func NewStageFile(root *os.Root, dir string, data []byte, mode fs.FileMode) (*Stage, error) {
	s, err := newStage(root, dir, func(name string) (*os.File, error) {
		return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	})
	if err != nil {
		return nil, err
	}
	if _, err := s.file.Write(data); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

func newStage(root *os.Root, dir string, create func(name string) (*os.File, error)) (*Stage, error) {
	Sweep(root, dir)
	const tries = 100 // somebody sweeps between the two steps of making one, and never so often
	for range tries {
		s := &Stage{Name: path.Join(dir, stagePrefix+rand.Text()), root: root}
		var err error
		if s.file, err = create(s.Name); err != nil {
			return nil, err
		}
		if s.file == nil {
			continue
		}
		// Where there are no locks, nothing is swept either.
		if held, err := tryLock(s.file); (held || err != nil) && s.there() {
			return s, nil
		}
		s.file.Close()
	}
	return nil, fmt.Errorf("what is made in %s is removed again and again", dir)
}

// there reports whether the name is still that of the open file.
func (s *Stage) there() bool {
	named, err := s.root.Lstat(s.Name)
	if err != nil {
		return false
	}
	open, err := s.file.Stat()
	return err == nil && os.SameFile(named, open)
}

// Remove leaves nothing of the stage. What was renamed out of it, or the file itself, stays.
func (s *Stage) Remove() error {
	return errors.Join(s.root.RemoveAll(s.Name), s.file.Close())
}

// Sweep removes the stages that killed processes left in a directory of root. It is best effort: what it leaves costs room
// alone, and a source prunes it.
func Sweep(root *os.Root, dir string) {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !stageName.MatchString(e.Name()) || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		s := &Stage{Name: path.Join(dir, e.Name()), root: root}
		if s.file, err = root.Open(s.Name); err != nil {
			continue
		}
		if held, err := tryLock(s.file); err == nil && held && s.there() {
			_ = root.RemoveAll(s.Name)
		}
		s.file.Close()
	}
}
