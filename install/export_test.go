package install

import (
	"context"
	"os"
	"path/filepath"
)

// Forge rewrites the record of an installed extension and makes everything that names it fit,
// as someone who can write the store could.
func Forge(s *Store, name string, edit func(*Record)) error {
	a := &audit{store: s, name: name}
	if _, err := a.checkLink(context.Background()); err != nil {
		return err
	}
	if _, err := a.checkRecord(context.Background()); err != nil {
		return err
	}
	edit(&a.record)
	text, digest, err := a.record.encode()
	if err != nil {
		return err
	}
	path := filepath.Join(a.dir(), recordName)
	if err := os.Remove(path); err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o444); err != nil {
		return err
	}
	forged := name + "-" + digest
	if err := os.Rename(a.dir(), s.generation(forged)); err != nil {
		return err
	}
	if err := os.Remove(s.link(name)); err != nil {
		return err
	}
	return os.Symlink("../"+generationsDir+"/"+forged, s.link(name))
}

// Unlinked is what a failed removal of a link is told as.
func Unlinked(s *Store, name string, err error) error { return s.unlinked(name, err) }
