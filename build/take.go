package build

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// take copies the satellite out of the work directory, which the compiler run could fill as it liked, to a file that is
// ours alone, and names its digest. It is read once, through one descriptor: a name that is a link is not followed, one
// that is a pipe or a device is not waited for, and no more than limit bytes are taken.
func (s *stage) take(limit int64) (Artifact, error) {
	refuse := func(what string) (Artifact, error) {
		return Artifact{}, &Error{Place: outputName, What: what, Fix: "look at what the extension does to the compiler"}
	}
	from, err := os.OpenFile(s.path(workDir, outputName), os.O_RDONLY|openStranger, 0)
	if err != nil {
		return refuse("the build says that it succeeded, and what it made cannot be read: " + errors.Unwrap(err).Error())
	}
	defer from.Close()
	info, err := from.Stat()
	switch {
	case err != nil:
		return Artifact{}, storage(err)
	case !info.Mode().IsRegular():
		return refuse(fmt.Sprintf("what the build made is no regular file but %s", info.Mode()))
	case info.Size() > limit:
		return refuse(fmt.Sprintf("what the build made has %d bytes, more than the bound of %d MiB", info.Size(), limit>>20))
	}
	dir := s.path(artifactDir)
	if err := os.Mkdir(dir, privateDir); err != nil {
		return Artifact{}, storage(err)
	}
	path := filepath.Join(dir, outputName)
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Artifact{}, storage(err)
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, h), io.LimitReader(from, info.Size()))
	if err := errors.Join(err, to.Chmod(0o555), to.Close()); err != nil {
		return Artifact{}, storage(err)
	}
	return Artifact{Path: path, Digest: "sha256:" + hex.EncodeToString(h.Sum(nil)), Size: n}, nil
}
