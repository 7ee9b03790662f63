package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/loomext/loomext/internal/wire"
)

// BlobsSuffix makes the name of the directory of bodies from that of the record.
const BlobsSuffix = ".blobs"

// blobs is the directory of the bodies that are too long for a line, each under the SHA-256 of its bytes.
type blobs struct{ dir string }

func blobsOf(path string) blobs { return blobs{path + BlobsSuffix} }

// path is where a body stands: 256 directories keep each of them small.
func (b blobs) path(digest string) string { return filepath.Join(b.dir, digest[:2], digest) }

// put keeps a body. One that is there already is not written again.
func (b blobs) put(body []byte) (digest string, err error) {
	sum := sha256.Sum256(body)
	digest = hex.EncodeToString(sum[:])
	path := b.path(digest)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(body)) {
		return digest, nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(dir, ".new-*") // with mode 0600
	if err != nil {
		return "", err
	}
	_, err = temp.Write(body)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return "", err
	}
	return digest, nil
}

// get reads a body and holds it against its name.
func (b blobs) get(digest string) ([]byte, error) {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return nil, fmt.Errorf("%q is no name of a body", digest)
	}
	f, err := open(b.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the body %s is missing from %s; keep the directory beside the record", digest, b.dir)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the body %s is no regular file", digest)
	}
	body, err := io.ReadAll(io.LimitReader(f, wire.MaxFrame+1)) // no body is longer than a frame
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != digest {
		return nil, fmt.Errorf("the body %s was changed after it was recorded", digest)
	}
	return body, nil
}

// open opens a file to be read, and waits for nobody where it is a pipe.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
