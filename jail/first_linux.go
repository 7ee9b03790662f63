//go:build amd64 || arm64

package jail

import (
	"bytes"
	"slices"
	"sync"
	"unsafe"
)

// A command is not process 1 of its namespace: the kernel keeps the signals that end
// other processes from that one, and hands it what loses its parent. Process 1 is a
// program of the jail's own, some thirty instructions that start the command, wait
// for whatever ends and end with the command. Its code is assembled with this package
// and put into a file in memory. It is executed, and no part of the host that goes on
// running, so that nothing of the host's memory is in the jail.
func first()
func firstEnd()

var _ = [...]func(){first, firstEnd}

// firstCode is where the code lies in this program.
func firstCode() (from, to uintptr)

// firstLimit is far above the size of the code, in bytes.
const firstLimit = 1 << 10

var firstSealed struct {
	sync.Mutex
	image *Image
}

// firstProcess is the program, sealed once for the life of the host's process.
func firstProcess() (*Image, error) {
	firstSealed.Lock()
	defer firstSealed.Unlock()
	if firstSealed.image != nil {
		return firstSealed.image, nil
	}
	from, to := firstCode()
	if to <= from || to-from > firstLimit {
		return nil, &Error{Place: layerSealed, What: "the first process of a command is not where it was put"}
	}
	code := unsafe.Slice((*byte)(unsafe.Add(nil, from)), to-from)
	image, err := sealReader(bytes.NewReader(staticProgram(arch, slices.Clone(code))))
	firstSealed.image = image
	return image, err
}
