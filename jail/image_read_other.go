//go:build !linux || !(amd64 || arm64)

package jail

import "io"

// ReadAt reads nothing: there are no images on this system.
func (*Image) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
