package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
)

// Tree is the kept files of a source, in memory. It cannot be changed: every accessor returns a copy. The zero Tree
// holds nothing.
type Tree struct{ kept *kept }

type kept struct {
	origin   string
	module   string
	digest   string
	files    map[string][]byte
	paths    []string // sorted
	packages []string // sorted; "." is the root
	pruned   []string // sorted; a directory ends with a slash
}

func newTree(k kept) Tree {
	for p := range k.files {
		k.paths = append(k.paths, p)
		if isGo(p) {
			k.packages = append(k.packages, path.Dir(p))
		}
	}
	slices.Sort(k.paths)
	slices.Sort(k.packages)
	k.packages = slices.Compact(k.packages)
	slices.Sort(k.pruned)
	k.digest = digest(k.paths, k.files)
	return Tree{&k}
}

func (t Tree) in() *kept {
	if t.kept == nil {
		return &kept{digest: digest(nil, nil)}
	}
	return t.kept
}

// Origin says where the tree came from, for people: the absolute path of a directory.
func (t Tree) Origin() string { return t.in().origin }

// Module is the path of the source's go.mod, or "" where it has no module line.
func (t Tree) Module() string { return t.in().module }

// Digest is "sha256:" and 64 hexadecimal digits over the kept files. It depends on their paths and bytes and on
// nothing else: not on order, times, modes, the module path, or where the tree came from.
func (t Tree) Digest() string { return t.in().digest }

// Paths are the kept files' paths, with slashes, sorted.
func (t Tree) Paths() []string { return slices.Clone(t.in().paths) }

// File is a copy of the bytes of one kept file.
func (t Tree) File(path string) ([]byte, bool) {
	data, ok := t.in().files[path]
	if !ok {
		return nil, false
	}
	return append([]byte{}, data...), true
}

// Packages are the directories that hold a kept .go file, sorted; "." is the root.
func (t Tree) Packages() []string { return slices.Clone(t.in().packages) }

// Pruned are the paths that were dropped, sorted; a directory is named once, with a slash at its end.
func (t Tree) Pruned() []string { return slices.Clone(t.in().pruned) }

// digest is SHA-256 over the pairs of path and bytes in the order of the paths, each preceded by its length as
// 64 bits, big-endian.
func digest(sorted []string, files map[string][]byte) string {
	h := sha256.New()
	var length [8]byte
	write := func(data []byte) {
		binary.BigEndian.PutUint64(length[:], uint64(len(data)))
		h.Write(length[:])
		h.Write(data)
	}
	for _, p := range sorted {
		write([]byte(p))
		write(files[p])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// WriteTo writes the tree into dir, which must be an empty directory or not exist (its parent must). Files are
// created exclusively, with mode 0644 and directories with 0755 whatever the umask is, and no link is followed below
// dir. On an error what was written so far stays; the caller owns dir.
func (t Tree) WriteTo(dir string) error {
	if err := t.writeTo(dir); err != nil {
		return fmt.Errorf("%s: writing the tree to %s: %w", LayerExtract, shown(dir), err)
	}
	return nil
}

func (t Tree) writeTo(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := empty(root); err != nil {
		return err
	}
	if err := root.Chmod(".", 0o755); err != nil {
		return err
	}
	made := map[string]bool{".": true}
	for _, p := range t.in().paths {
		if err := makeDirs(root, path.Dir(p), made); err != nil {
			return err
		}
		if err := writeFile(root, p, t.kept.files[p]); err != nil {
			return err
		}
	}
	return nil
}

func empty(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	switch _, err := d.Readdirnames(1); {
	case err == nil:
		return errors.New("the directory is not empty; name a fresh one")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

func makeDirs(root *os.Root, dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if err := makeDirs(root, path.Dir(dir), made); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o755); err != nil {
		return err
	}
	made[dir] = true
	return root.Chmod(dir, 0o755)
}

func writeFile(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(data))
	if chmod := f.Chmod(0o644); err == nil && chmod != nil {
		err = chmod
	}
	return errors.Join(err, f.Close())
}
