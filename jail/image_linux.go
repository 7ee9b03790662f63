//go:build amd64 || arm64

package jail

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

type sealed struct {
	mu     sync.Mutex
	memory *os.File
}

// imageName is what /proc shows as the program of a satellite.
const imageName = "satellite"

// imageSeals leave nothing of the file to change, the seals included.
const imageSeals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// Seal copies the program at path into sealed memory and holds it against its
// digest, "sha256:<64 hex>". Only a regular file of at most 64 MiB is taken.
func Seal(path, digest string) (*Image, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &Error{Place: layerSealed, What: path + " cannot be opened", Fix: "install the extension again", Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, &Error{Place: layerSealed, What: path + " cannot be examined", Err: err}
	case !info.Mode().IsRegular():
		return nil, &Error{Place: layerSealed, What: path + " is no regular file", Fix: "install the extension again"}
	case info.Size() > maxImage:
		return nil, &Error{Place: layerSealed, What: fmt.Sprintf("%s has %d bytes, more than the %d a program may have", path, info.Size(), maxImage)}
	}
	image, err := sealReader(f)
	if err != nil {
		return nil, err
	}
	if image.digest != digest {
		_ = image.Close()
		return nil, &Error{Place: layerSealed, What: path + " is not the program that was approved: its digest is " + image.digest + ", not " + digest, Fix: "install the extension again"}
	}
	return image, nil
}

// sealReader makes an image of all that r has.
func sealReader(r io.Reader) (*Image, error) {
	refused := func(what string, err error) error {
		return &Error{Place: layerSealed, What: what, Fix: sealedRemedy(err), Err: err}
	}
	program, err := io.ReadAll(io.LimitReader(r, maxImage+1))
	if err == nil && len(program) > maxImage {
		err = fmt.Errorf("more than %d bytes", maxImage)
	}
	if err != nil {
		return nil, refused("the program could not be read", err)
	}
	digest := sha256.Sum256(program)
	// A fork elsewhere in this process between making the writable descriptor and
	// closing it would keep the program from being executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(imageName, flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3 a memory file is always executable
		fd, err = unix.MemfdCreate(imageName, flags)
	}
	if err != nil {
		return nil, refused("no executable memory file", err)
	}
	writable := os.NewFile(uintptr(fd), imageName)
	defer writable.Close()
	if _, err := writable.Write(program); err != nil {
		return nil, refused("the program could not be copied", err)
	}
	if err := writable.Chmod(0o555); err != nil {
		return nil, refused("the copy could not be made executable", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, imageSeals); err != nil {
		return nil, refused("the copy could not be sealed", err)
	}
	readable, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, refused("the copy could not be opened again for reading", err)
	}
	image := &Image{digest: "sha256:" + hex.EncodeToString(digest[:]), size: int64(len(program))}
	image.memory = os.NewFile(uintptr(readable), imageName)
	return image, nil
}

// Close gives the memory back once no launched program uses it.
func (i *Image) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.memory == nil {
		return nil
	}
	err := i.memory.Close()
	i.memory = nil
	return err
}

var errImageClosed = errors.New("the image was closed")

// hold calls f with the image's descriptor, which stays open meanwhile.
func (i *Image) hold(f func(fd int) error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.memory == nil {
		return &Error{Place: layerSealed, What: "the program to run", Err: errImageClosed}
	}
	fd, err := descriptor(i.memory)
	if err != nil {
		return err
	}
	return f(int(fd))
}
