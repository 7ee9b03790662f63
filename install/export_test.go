package install

import (
	"context"
	"errors"
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

// Plant writes a generation that has a record and nothing behind it, and links it.
func Plant(s *Store, r Record) error {
	if err := s.prepare(); err != nil {
		return err
	}
	text, digest, err := r.encode()
	if err != nil {
		return err
	}
	base := r.Name + "-" + digest
	return errors.Join(
		os.MkdirAll(filepath.Join(s.generation(base), treeName), dirMode),
		os.WriteFile(filepath.Join(s.generation(base), artifactName), nil, 0o500),
		os.WriteFile(filepath.Join(s.generation(base), recordName), text, 0o444),
		os.Symlink("../"+generationsDir+"/"+base, s.link(r.Name)),
	)
}

// ScanRecord and DecodeRecord are the two ways in which a record is read, and Encode is how it
// is written.
var (
	ScanRecord   = scanRecord
	DecodeRecord = decodeRecord
)

func Encode(r Record) ([]byte, error) {
	text, _, err := r.encode()
	return text, err
}

// BothWays writes a record and reads it in either way.
func BothWays(r Record) (scanned, decoded Record, err error) {
	text, err := Encode(r)
	if err != nil {
		return Record{}, Record{}, err
	}
	scanned, ok := scanRecord(text)
	if !ok {
		return Record{}, Record{}, errors.New("it is not read in one pass")
	}
	decoded, err = decodeRecord(text)
	return scanned, decoded, err
}
