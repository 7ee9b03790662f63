//go:build amd64 || arm64

package jail

// ReadAt reads the bytes that will run, for whoever looks into a program before
// launching it.
func (i *Image) ReadAt(p []byte, off int64) (n int, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.memory == nil {
		return 0, &Error{Place: layerSealed, What: "the program to read", Err: errImageClosed}
	}
	return i.memory.ReadAt(p, off)
}
